"""Raw recordings of heaptrack: by hand, and of a program here, against what heaptrack_interpret makes of the same."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from backports import zstd

from tlsmem.profile import heaptrack_raw, heaptrack_reader
from tlsmem.profile.heap_profile import END, PEAK, LiveHeap, sum_live
from tlsmem.profile.open_profile import open_profile

RAW = """\
v 10400 3
x 8 /bin/app
X /bin/app
I am
I 1000 10
m 1 -
m b /lib/a b.so 7f0000 0 1000
m 1 x 400000 0 1000 2000 1000
t 400100 0
t 7f0200 1
+ 10 2 aaa0
+ 20 1 bbb0
- aaa0
+ 10 2 aaa0
- ccc0
t 7f9900 0
+ 1 3 ddd0
+ 40 2 eee0
- eee0
c 5dc
"""


def written(folder: Path, content: str) -> Path:
    file = folder / "raw"
    file.write_text(content)
    return file


def test_pointers_are_sites_and_addresses_are_in_modules(tmp_path):
    found = heaptrack_reader.read_profile(written(tmp_path, RAW))
    assert {name: sum_live(moment.live) for name, moment in found.moments.items()} == {
        PEAK: LiveHeap(0x10 + 0x20 + 1 + 0x40, 4),
        END: LiveHeap(0x10 + 0x20 + 1, 3),
    }
    assert {" < ".join(map(str, found.stacks.frames(stack))): held for stack, held in found.live(END).items()} == {
        "? (a b.so+0x7f0200) < ? (app+0x400100)": LiveHeap(16, 1),
        "? (app+0x400100)": LiveHeap(32, 1),
        "? (?+0x7f9900)": LiveHeap(1, 1),
    }
    assert (found.command, found.runtime_s, found.torn) == ("/bin/app\nI am", 1.5, None)
    assert [found.warnings[0]] == [heaptrack_raw.WITHOUT_NAMES] == found.warnings
    assert sum(one.temporary for one in found.allocated.values()) == 1


def test_names_of_format_2_have_no_length(tmp_path):
    content = RAW.replace("m b /lib/a b.so", "m /lib/ab.so").replace("v 10400 3", "v 10200 2")
    content = re.sub("(?m)^(x 8|m 1) ", lambda found: f"{found[0][0]} ", content)
    found = heaptrack_reader.read_profile(written(tmp_path, content))
    assert "? (ab.so+0x7f0200) < ? (app+0x400100)" in [
        " < ".join(map(str, found.stacks.frames(stack))) for stack in found.live(END)
    ]


def test_a_raw_recording_that_is_cut_off_says_how_much_was_read(tmp_path):
    file = tmp_path / "raw.zst"
    packer = zstd.ZstdCompressor()
    content = RAW.encode()
    file.write_bytes(packer.compress(content) + packer.flush(packer.FLUSH_BLOCK))
    found = heaptrack_reader.read_profile(file)
    assert found.torn == "cut off: only the first 20 lines are read, and `end` is what was live there"


PROGRAM = """
#include <stdlib.h>
void *kept[300];
__attribute__((noinline)) static void keep(int number, int depth)
{
    if (depth > 0)
        keep(number, depth - 1);
    else
        kept[number] = malloc(number % 7 * 1000 + 1);
    __asm__("");
}
int main(void)
{
    for (int number = 0; number < 300; number++)
        keep(number, number % 3 ? 5 : 90);
    for (int number = 0; number < 300; number += 2)
        free(kept[number]);
    free(malloc(50000));
    return 0;
}
"""
INTERPRETER = Path("/usr/lib/heaptrack/libexec/heaptrack_interpret")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> bytes:
    """The raw recording of the program, unpacked."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "deep.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "-g1", "deep.c", "-o", "deep"], cwd=folder, check=True)
    command = ["heaptrack", "--raw", "-o", folder / "recorded", folder / "deep"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (file,) = folder.glob("recorded.*")
    unpack = ["zcat" if file.suffix == ".gz" else "zstdcat", file]
    return subprocess.run(unpack, check=True, capture_output=True, timeout=60).stdout


needs_heaptrack = pytest.mark.skipif(
    not (shutil.which("heaptrack") and INTERPRETER.exists()), reason="heaptrack with its interpreter is not installed"
)


@needs_heaptrack
@pytest.mark.parametrize("version", [2, 3])
def test_the_totals_are_those_that_the_interpreter_finds(tmp_path, recorded, version):
    """Format 2 is made of what this heaptrack writes: no length stands before a name. The interpreter of heaptrack 1.4
    writes lengths nevertheless, and leaves the 2 at the beginning, so they are in the names then."""
    if version == 2:
        recorded = re.sub(rb"(?m)^([xm]) [0-9a-f]+ ", rb"\1 ", recorded.replace(b" 3\n", b" 2\n", 1))
    raw, interpreted = tmp_path / "raw", tmp_path / "interpreted"
    raw.write_bytes(recorded)
    interpreted.write_bytes(subprocess.run([INTERPRETER], input=recorded, capture_output=True, check=True).stdout)
    mine, theirs = map(open_profile, (raw, interpreted))
    for name in (PEAK, END):
        assert sorted(mine.live(name).items()) == sorted(theirs.live(name).items())
        assert mine.moments[name].bytes > 3000
    assert (mine.allocated, mine.sizes, mine.command) == (theirs.allocated, theirs.sizes, theirs.command)
    modules = [
        [profile.stacks.frames(stack)[0].module for stack in sorted(profile.live(PEAK))] for profile in (mine, theirs)
    ]
    assert modules[0] == [re.sub("^[0-9a-f]+ ", "", module) for module in modules[1]]


@needs_heaptrack
def test_call_stacks_that_heaptrack_ended_are_told(tmp_path, recorded):
    interpreted = tmp_path / "interpreted"
    interpreted.write_bytes(subprocess.run([INTERPRETER], input=recorded, capture_output=True, check=True).stdout)
    (warning,) = [one for one in open_profile(interpreted).warnings if "before main" in one]
    assert re.search("call stacks that end after 6[0-4] calls, before main: heaptrack records 64 frames", warning)
