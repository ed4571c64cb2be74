"""Call stacks that valgrind ended before main: seen in what it writes of a program whose calls are deep."""

import shutil
import subprocess

import pytest

from tlsmem.profile import dhat_reader, massif_reader, unresolved_stacks
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import PEAK, CallstackTree, LiveHeap, Moment, Profile

PROGRAM = """
#include <stdlib.h>
#define CALLS(inner, outer) __attribute__((noinline)) void outer(void) { inner(); __asm__(""); }
void *volatile kept;
#define KEEPS(name, bytes) __attribute__((noinline)) void name(void) { kept = malloc(bytes); }
KEEPS(k1, 1001) KEEPS(k2, 1002) KEEPS(k3, 1003) KEEPS(k4, 1004)
__attribute__((noinline)) void all(void) { k1(); k2(); k3(); k4(); __asm__(""); }
CALLS(all, a) CALLS(a, b) CALLS(b, c) CALLS(c, d) CALLS(d, e)
int main(void) { e(); return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep")
    (folder / "deep.c").write_text(PROGRAM)
    command = ["gcc", "-O0", "-g1", "-fno-builtin", "deep.c", "-o", "deep"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "deep"


WAYS = {
    "massif": (massif_reader.read_profile, "--massif-out-file", "--depth", 5, "--depth=100"),
    "DHAT": (dhat_reader.read_profile, "--dhat-out-file", "--num-callers", 6, "--num-callers=128"),
}


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("tool", WAYS)
def test_stacks_that_were_ended_are_told_with_the_option(tmp_path, program, tool):
    read, to, option, callers, advice = WAYS[tool]
    more = ["--detailed-freq=1"] if tool == "massif" else []
    for ends, expected in ((callers, 1), (50, 0)):
        file = tmp_path / str(ends)
        argv = ["valgrind", "-q", f"--tool={tool.lower()}", f"{to}={file}", f"{option}={ends}", *more, str(program)]
        subprocess.run(argv, check=True, capture_output=True, timeout=120)
        found = unresolved_stacks.truncated_stack_warnings(read(file))
        assert len(found) == expected
    (wrong,) = unresolved_stacks.truncated_stack_warnings(read(tmp_path / str(callers)))
    assert wrong.endswith(f" have call stacks that end after {callers} calls, before main: run {tool} with {advice}")
    assert wrong.startswith("100% of the bytes at ")


def profile(ended: int, other: int, outermost: str = "f") -> Profile:
    """Four stacks of two calls that do not begin at main, and one of one call that does."""
    stacks = CallstackTree()
    main, outer, *inner = (stacks.place((Frame(name, None, None, None, 1),)) for name in ("main", outermost, *"abcd"))
    live = {stacks.add(place, stacks.add(outer, 0)): LiveHeap(ended, None) for place in inner}
    live[stacks.add(main, 0)] = LiveHeap(other, None)
    return Profile("massif", "file", "", stacks, {PEAK: Moment(PEAK, 4 * ended + other, live)})


def test_a_small_share_is_not_worth_a_word():
    assert unresolved_stacks.truncated_stack_warnings(
        profile(10, 300)
    ) and not unresolved_stacks.truncated_stack_warnings(profile(10, 400))


def test_stacks_that_begin_where_a_thread_does_are_whole():
    assert not unresolved_stacks.truncated_stack_warnings(profile(10, 0, "start_thread"))


def test_stacks_of_other_depths_were_not_ended_by_valgrind():
    made = profile(10, 0)
    live = made.moments[PEAK].live
    made.moments[PEAK].live = {**live, made.stacks.add(1, next(iter(live))): LiveHeap(1, None)}
    assert not unresolved_stacks.truncated_stack_warnings(made)


def test_an_empty_profile_has_no_shallow_stacks():
    assert not unresolved_stacks.truncated_stack_warnings(Profile("massif", "file", "", CallstackTree(), {}))
