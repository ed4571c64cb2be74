"""One program under several tools: the same blocks of the same call sites, found by a diff of their files, and the
same temporary ones."""

import subprocess
from pathlib import Path

import pytest

from tests.support import allocating_programs
from tests.support.allocating_programs import LIVE, SITES
from tlsmem.explore import top_sites
from tlsmem.explore.diff.profile_diff import Diff, compare
from tlsmem.profile import open_profile
from tlsmem.profile.heap_profile import END, PEAK, Profile

INLINED = LIVE.replace("__attribute__((noinline)) static void *grown", "static inline void *grown")
TEMPORARY = """\
#include <stdlib.h>
static void *kept[500];
__attribute__((noinline)) static void *once(void) { return malloc(777); }
__attribute__((noinline)) static void *pair(int at) { return malloc(10 + at); }
__attribute__((noinline)) static void *keep(void) { return malloc(50); }
int main(void) {
    for (int at = 0; at < 500; at++)
        kept[at] = keep();
    for (int at = 0; at < 1000; at++)
        free(once());
    for (int at = 0; at < 200; at++) {
        void *first = pair(0), *second = pair(1);
        free(first);
        free(second);
    }
    return kept[1] == 0;
}
"""
MASSIF = ("--tool=massif", "--peak-inaccuracy=0", "--threshold=0", "--massif-out-file=massif")
DHAT = ("--tool=dhat", "--dhat-out-file=dhat")
POOL = 72_704  # bytes of libstdc++, which heaptrack loads
LAST = 1  # byte that is freed after the peak


@pytest.fixture(scope="module", params=[LIVE, INLINED], ids=["calls", "inlined"])
def program(request, tmp_path_factory) -> Path:
    return allocating_programs.compile_program(tmp_path_factory.mktemp("program"), request.param)


@pytest.fixture(scope="module")
def heaptrack(program) -> Profile:
    return take(program, "heaptrack", "heaptrack", "heaptrack.zst", "-o", "heaptrack")


def take(program: Path, tool: str, package: str, file: str, *options: str) -> Profile:
    allocating_programs.require_tool(tool, package)
    subprocess.run([tool, *options, program], cwd=program.parent, check=True, capture_output=True)
    return open_profile.open_profile(program.with_name(file))


def differing(diff: Diff) -> dict[str, int]:
    """What NEW holds more, by the innermost function of a site that differs."""
    found = {}
    for row in diff.rows:
        name = next((frame.function for frame in row.frames if frame.function in SITES), None)
        if row.new.bytes != row.old.bytes:
            found[name or "other"] = found.get(name or "other", 0) + row.new.bytes - row.old.bytes
        elif name:
            assert row.stage != "not joined" and row.new.bytes == SITES[name][0], row
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "file"), [(MASSIF, "massif"), (DHAT, "dhat")])
def test_valgrind_s_tools_hold_what_heaptrack_s_file_has_but_for_its_pool(program, heaptrack, options, file):
    diff = compare(heaptrack, take(program, "valgrind", "valgrind", file, *options), PEAK)
    assert differing(diff) == {"other": -POOL}
    assert sum(row.new.bytes for row in diff.rows) == sum(size for size, _ in SITES.values()) + LAST


def test_gperftools_dump_holds_what_is_live_at_the_end(program, heaptrack):
    diff = compare(heaptrack, open_profile.open_profile(allocating_programs.take_gperftools(program)), END)
    assert differing(diff) == {} and not diff.forced
    assert {row.stage for row in diff.rows} <= {"name, file and line", "name and file", "name"}
    assert sum(row.old.blocks for row in diff.rows) == sum(row.new.blocks for row in diff.rows) == 3000


def temporary(profile: Profile) -> dict[str, tuple[int, int]]:
    """Allocations, and how many of them are temporary, by the function that made them."""
    rows = top_sites.top_sites_table(profile, "", by="temporary").rows
    return {row[-1].text.partition(" (")[0]: (row[0].value, row[2].value) for row in rows if row[2].value}


@pytest.mark.thorough
def test_blocks_that_are_freed_at_once_are_temporary(tmp_path):
    """Counted by hand. The two blocks of a pair are short-lived, but neither is freed before anything else happens."""
    program = allocating_programs.compile_program(tmp_path, TEMPORARY)
    by_next = take(program, "heaptrack", "heaptrack", "heaptrack.zst", "-o", "heaptrack")
    by_lifetime = take(program, "valgrind", "valgrind", "dhat", *DHAT)
    assert temporary(by_next) == {"once": (1000, 1000)}
    assert temporary(by_lifetime) == {"once": (1000, 1000), "pair": (400, 400)}
    caption = top_sites.top_sites_table(by_next, "", by="temporary").caption
    assert "1,000 of them (" in caption and "are temporary: freed before anything else was allocated." in caption
    assert "500 instructions or less on average" in top_sites.top_sites_table(by_lifetime, "", by="temporary").caption
