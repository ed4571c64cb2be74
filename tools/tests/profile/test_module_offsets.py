"""Frames without a name: from addresses of a run to offsets in the module's file, where that is still there."""

import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tlsmem.explore import folded_stacks
from tlsmem.profile import module_offsets, open_profile
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, CallstackTree

BASE = 0x7F12_3456_7000
SOURCE = """
#include <stdlib.h>
static void *volatile kept[100];
#define DEEPER(n, m) __attribute__((noinline)) static int f##n(int at) \\
    { int more = m; kept[at] = malloc(n); return more + 1; }
DEEPER(1, 1) DEEPER(2, f1(at + 1)) DEEPER(3, f2(at + 1)) DEEPER(4, f3(at + 1)) DEEPER(5, f4(at + 1))
int main(void) { return !f5(0); }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The program with its symbols, one without, and one that is always loaded at the same place."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "deep.c").write_text(SOURCE)
    for name, options in {"whole": ["-g"], "bare": ["-s"], "fixed": ["-s", "-no-pie"]}.items():
        subprocess.run(["gcc", "-O1", *options, folder / "deep.c", "-o", folder / name], check=True)
    return folder


def calls(file):
    """Offsets within the calls of a program's own functions, as the tools write them."""
    codes, _ = module_offsets.read_code(Path(file))
    places = np.arange(codes[0].start, codes[0].end + 1)
    return (places[module_offsets.behind_calls(codes, places)] - 1).tolist()


def test_what_is_behind_a_call_is_what_the_disassembler_says(compiled):
    listed = subprocess.run(["objdump", "-d", compiled / "bare"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in listed.splitlines() if line.startswith(" ")]
    behind = [int(after.split(":")[0], 16) - 1 for line, after in pairwise(lines) if "call" in line]
    assert len(behind) > 10 and set(behind) <= set(calls(compiled / "bare"))


def test_the_file_says_where_it_was_loaded(compiled):
    file = str(compiled / "bare")
    addresses = [BASE + offset for offset in calls(file)]
    assert module_offsets.find_base(file, addresses) == BASE
    elsewhere = [BASE + 0x1001, BASE + 0x1003]
    assert 16 <= len(addresses) < 30
    assert module_offsets.find_base(file, [*addresses, *elsewhere[:1]]) == BASE
    assert module_offsets.find_base(file, [*addresses, *elsewhere]) is None, "more than one in 16"


def test_few_addresses_say_nothing(compiled):
    file = str(compiled / "bare")
    assert module_offsets.find_base(file, [BASE + calls(file)[0]]) is None


def test_another_file_says_nothing(compiled, tmp_path):
    addresses = [BASE + offset for offset in calls(compiled / "bare")]
    for file in (
        shutil.which("ls"),
        str(tmp_path / "none"),
        str(tmp_path),
        str(compiled / "deep.c"),
        "linux-vdso.so.1",
    ):
        assert module_offsets.find_base(file, addresses) is None


def test_a_program_that_is_never_moved_has_its_addresses(compiled):
    file = str(compiled / "fixed")
    assert module_offsets.find_base(file, calls(file)) == 0
    assert module_offsets.find_base(file, [BASE + offset for offset in calls(file)]) is None


def test_addresses_are_offsets_or_are_said_to_be_of_that_run(compiled):
    file = str(compiled / "bare")
    stacks = CallstackTree()
    for offset in calls(file):
        stacks.place((Frame(None, None, None, file, BASE + offset),))
    stacks.place((Frame(None, None, None, "/no/such", BASE),))
    stacks.place((Frame("known", None, None, "/no/such", BASE),))
    stacks.place((Frame("known", "a.c", 1, "/no/other", BASE),))
    module_offsets.relate_to_modules(stacks)
    texts = [str(frame) for place in stacks.places for frame in place]
    assert texts[:-3] == [f"? (bare+{offset:#x})" for offset in calls(file)]
    assert texts[-3:] == [f"? (such at {BASE:#x} of that run)", "known (such)", "known (a.c:1)"]


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("heaptrack"), reason="needs heaptrack")
def test_runs_join_and_addr2line_finds_the_functions(compiled, tmp_path):
    found = []
    for number in range(2):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
        subprocess.run(["heaptrack", "-o", tmp_path / str(number), compiled / "bare"], **quiet)
        profile = open_profile.open_profile(next(tmp_path.glob(f"{number}.*")))
        found.append({stack for stack in folded_stacks.folded(profile, END) if "bare+" in stack})
    assert found[0] == found[1] and len(found[0]) == 5
    innermost = [stack.rpartition(";")[2].removeprefix("bare+") for stack in found[0]]
    named = ["addr2line", "-f", "-e", compiled / "whole", *innermost]
    functions = subprocess.run(named, capture_output=True, text=True, check=True).stdout.split("\n")[0:-1:2]
    assert sorted(functions) == ["f1", "f2", "f3", "f4", "f5"]


@pytest.mark.skipif(not shutil.which("heaptrack"), reason="needs heaptrack")
def test_the_pool_that_heaptrack_brings_has_its_name(compiled, tmp_path):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    subprocess.run(["heaptrack", "-o", tmp_path / "run", compiled / "bare"], **quiet)
    profile = open_profile.open_profile(next(tmp_path.glob("run.*")))
    stacks = folded_stacks.folded(profile, PEAK)
    assert [size for stack, size in stacks.items() if "emergency pool of libstdc++" in stack] == [72_704]
