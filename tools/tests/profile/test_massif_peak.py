"""Which snapshot is the peak: in files by hand, in massif's form, and in those that massif writes of a program here,
against what ms_print shows."""

import gzip
import shutil
import subprocess

import pytest

from tests.support import allocating_programs as programs
from tests.support import profile_printers as printers
from tlsmem.explore import profile_selection, profile_tables
from tlsmem.profile import massif_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import PEAK, LiveHeap, describe_unit, sum_live
from tlsmem.profile.open_profile import open_profile

HEAD = "desc: (none)\ncmd: ./app\ntime_unit: B\n"


def snapshot(
    number: int,
    heap: int,
    kind: str = "empty",
    extra: int = 0,
    stacks: int = 0,
    root: str = "heap allocation functions",
) -> str:
    """As massif writes one; its tree has all bytes in main."""
    numbers = f"time={number}\nmem_heap_B={heap}\nmem_heap_extra_B={extra}\nmem_stacks_B={stacks}\n"
    tree = f"n1: {heap} ({root}) malloc, etc.\n n0: {heap} 0x10: main (main.c:1)\n"
    return (
        f"#-----------\nsnapshot={number}\n#-----------\n{numbers}heap_tree={kind}\n{tree if kind != 'empty' else ''}"
    )


def read(tmp_path, *snapshots: str, head: str = HEAD):
    file = tmp_path / "massif"
    file.write_text(head + "".join(snapshots))
    return open_profile(file)


def summary(profile) -> dict[str, str]:
    return {what.text: value.text for what, value in profile_tables.summary(profile).rows}


UNTRACED = [snapshot(0, 1000, "peak"), snapshot(1, 1009), snapshot(2, 10, "detailed")]


def test_the_peak_may_have_no_call_stacks(tmp_path):
    found = read(tmp_path, *UNTRACED)
    assert list(found.moments) == ["snapshot 0", "snapshot 2"]
    assert summary(found)["peak"] == "1,009 B at snapshot 1; call stacks of 1,000 B at snapshot 0"
    assert profile_selection.select_moment(found).name == "snapshot 0"
    assert any("--peak-inaccuracy=0" in warning for warning in found.warnings)
    with pytest.raises(ValueError, match=r"massif: no call stacks at the peak: 1,009 B at snapshot 1; .*inaccuracy=0"):
        profile_selection.select_moment(found, PEAK)


def test_the_largest_snapshot_with_call_stacks_is_the_peak_whatever_massif_calls_it(tmp_path):
    found = read(tmp_path, snapshot(0, 1000, "peak"), snapshot(1, 1009, "detailed"))
    assert {name: moment.bytes for name, moment in found.moments.items()} == {
        "snapshot 0": 1000,
        "snapshot 1": 1009,
        PEAK: 1009,
    }
    assert found.untraced_peak is None


def test_massif_s_own_peak_is_taken_of_equals(tmp_path):
    found = read(tmp_path, snapshot(0, 1000, "detailed"), snapshot(1, 1000, "peak"), snapshot(2, 1000))
    assert list(found.moments) == ["snapshot 0", PEAK]
    assert found.untraced_peak is None


def test_without_a_peak_of_massif_s_a_snapshot_is_none(tmp_path):
    """As `detailed_snapshot FILE` writes it: nobody knows what was live before."""
    assert list(read(tmp_path, snapshot(0, 1000, "detailed")).moments) == ["snapshot 0"]


@pytest.mark.parametrize(
    ("description", "accuracy"),
    [
        ("(none)", "the true peak may be 1 % higher; --peak-inaccuracy=0 records it"),
        ("--peak-inaccuracy=0.5", "the true peak may be 0.5 % higher; --peak-inaccuracy=0 records it"),
        ("--peak-inaccuracy=0 --threshold=0", None),
        ("--peak-inaccuracy=0.0", None),
    ],
)
def test_how_far_the_peak_may_be_off_is_said(tmp_path, description, accuracy):
    found = read(tmp_path, snapshot(0, 9, "peak"), head=HEAD.replace("(none)", description))
    assert summary(found).get("accuracy of the peak") == accuracy


def test_a_peak_that_counts_stacks_is_said_beside_that_of_the_heap(tmp_path):
    found = read(tmp_path, snapshot(0, 900, "peak", 16, 500), snapshot(1, 1000, "detailed", 16, 100))
    assert summary(found)["peak"] == "1,000 B"
    assert summary(found)["most with thread stacks"] == (
        "1,416 B at snapshot 0: 900 B of heap, 500 B of thread stacks, 16 B of overhead that massif assumes "
        "for the allocator"
    )
    assert "most with thread stacks" not in summary(read(tmp_path, snapshot(0, 900, "peak", 16)))


def test_pages_are_said_to_be_no_requested_bytes(tmp_path):
    pages = HEAD.replace("(none)", "--pages-as-heap=yes")
    for found in (
        read(tmp_path, snapshot(0, 4096, "peak", root="page allocation syscalls")),
        read(tmp_path, snapshot(0, 4096), head=pages),
    ):
        assert describe_unit(found) == "Bytes are mapped pages, not requested bytes."
    assert read(tmp_path, snapshot(0, 4096), head=pages.replace("=yes", "=no")).unit == "requested"


def test_totals_are_shown_of_a_file_without_call_stacks(tmp_path):
    found = read(tmp_path, snapshot(0, 0), snapshot(1, 1000), snapshot(2, 30))
    assert {name: sum_live(moment.live) for name, moment in found.moments.items()} == {
        "snapshot 2": LiveHeap(30, None),
        "snapshot 1": LiveHeap(1000, None),
    }
    (warning,) = found.warnings
    assert warning.startswith("massif took no call stacks, so only totals are known; run massif with --detailed-freq=1")
    assert "1,000 B" in str(summary(found))


def test_a_file_of_very_many_snapshots_or_bytes_is_refused_before_its_end(tmp_path, monkeypatch):
    file = tmp_path / "massif.gz"
    file.write_bytes(gzip.compress((HEAD + snapshot(1, 9) * 100_000).encode()))
    with pytest.raises(Unreadable, match=f"^{file}: more than 10,000 snapshots; massif takes 1,000 at most$"):
        massif_reader.read_profile(file)
    monkeypatch.setattr(massif_reader, "LARGEST", 1 << 20)
    tree = snapshot(1, 9, "peak").replace("n1: 9", "n9999999: 9")
    file.write_bytes(gzip.compress((HEAD + tree + " n0: 0 0x10: main (main.c:1)\n" * (1 << 17)).encode()))
    with pytest.raises(Unreadable, match=f"^{file}: more than 1 MiB of text, too large .* --max-snapshots"):
        massif_reader.read_profile(file)


# With massif's default options the peak has no call stacks: 900 B more are less than 1 %.
PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) static void *take(size_t bytes)
{
    void *taken = malloc(bytes);
    __asm__("" :: "r"(taken) : "memory");
    return taken;
}
int main(void)
{
    void *kept = take(100000);
    free(take(1));
    void *more = take(900);
    free(take(16));
    free(more);
    free(kept);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peak")
    (folder / "peak.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O0", "-g1", "peak.c", "-o", "peak"], cwd=folder, check=True)
    return folder / "peak"


OPTIONS = [[], ["--stacks=yes"], ["--pages-as-heap=yes"], ["--peak-inaccuracy=0"], ["--detailed-freq=1000"]]


@pytest.mark.skipif(not shutil.which("ms_print"), reason="valgrind with ms_print is not installed")
@pytest.mark.thorough
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_largest_moment_is_that_of_ms_print(tmp_path, program, options):
    file, _ = programs.take_valgrind(shutil.copy(program, tmp_path / "peak"), "massif", *options)
    found, told = open_profile(file), printers.ms_print(file)
    peak = found.untraced_peak or found.moments[PEAK]
    assert peak.bytes == max(heap for _, heap, _, _ in told)
    assert (found.unit == "mapped") == ("--pages-as-heap=yes" in options)
    if not options:
        assert found.untraced_peak and peak.bytes == 100_916
    if options == ["--peak-inaccuracy=0"]:
        assert found.untraced_peak is None and peak.bytes == 100_916
    if "--stacks=yes" in options:
        assert found.notes["most with thread stacks"].startswith(f"{max(total for total, *_ in told):,} B at snapshot ")
