"""The heap meter on programs that fork, exec, name themselves and give up their user: exact bytes of each process, and
sums that were live at one moment."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support import forked_command
from tlsmem.monitor.program_file import METER_IS_CLOSED_BY

ROOT = Path(__file__).resolve().parents[2]
HEAP_RUN = sys.executable, ROOT / "tools/tls-memtest", "heap", "run"
PARENT = (1_000_000, 0)  # private and inherited bytes
IS_ROOT = os.geteuid() == 0


@pytest.fixture(scope="module")
def processes():
    """The program, where every user may run it."""
    with tempfile.TemporaryDirectory(prefix="memtest-processes-") as folder:
        Path(folder).chmod(0o755)
        source, program = ROOT / "memtest/tests/processes.c", Path(folder) / "processes"
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", source, "-o", program], check=True)
        yield program


def followed(program, way):
    """Exit status, objects of programs and of all, and sentences."""
    done = forked_command.run([*HEAP_RUN, "--once", "--json", "--", program, way], timeout=60)
    lines = done.stderr.splitlines()
    objects = [json.loads(line) for line in lines if line.startswith("{")]
    sentences = [line for line in lines if line.startswith("memtest: ")]
    return done.returncode, objects[:-1], objects[-1], sentences


def parts(programs):
    """Private and inherited bytes of those that ended, the parent first."""
    return [(one["private_bytes"], one["inherited_bytes"]) for one in programs if one["state"] == "ended"]


WAYS = [  # private and inherited bytes of each process at its end, those of all, and the largest that any held
    ("exec", [(10, 0)], 10, 1_000_000),
    ("exec-twice", [(10, 0)], 10, 1_000_000),
    ("exec-by-link", [(10, 0)], 10, 1_000_000),
    ("exec-by-descriptor", [(10, 0)], 10, 1_000_000),
    ("fork", [PARENT, *[(0, 1_000_000)] * 3], 1_000_000, 1_000_000),
    ("fork-keep", [PARENT, *[(5000, 1_000_000)] * 3], 1_015_000, 1_005_000),
    ("fork-free", [PARENT, (0, 0)], 1_000_000, 1_000_000),
    ("fork-enlarge", [PARENT, (2_000_000, 0)], 3_000_000, 2_000_000),
    ("fork-grandchild", [PARENT, (5000, 1_000_000), (70, 1_005_000)], 1_005_070, 1_005_070),
    ("fork-without-handlers", [PARENT, (5000, 1_000_000)], 1_005_000, 1_005_000),
    ("vfork", [PARENT, (10, 0)], 1_000_010, 1_000_000),
    ("reload", [PARENT, *[(5000, 1_000_000)] * 6], 3_030_000, 2_000_000),
    ("title", [PARENT, (5000, 1_000_000)], 1_005_000, 1_005_000),
    ("name", [PARENT, (5000, 1_000_000)], 1_005_000, 1_005_000),
    ("killed", [PARENT, (5000, 1_000_000)], 1_005_000, 1_005_000),
    ("workers", [PARENT, *[(1000, 1_000_000)] * 30], 1_030_000, 1_001_000),
]
AS_ANOTHER_USER = [
    ("user-exec", [(10, 0)], 10, 1_000_000),
    ("user-exec-twice", [(10, 0)], 10, 1_000_000),
    ("user-fork", [PARENT, *[(5000, 1_000_000)] * 3], 1_015_000, 1_005_000),
]
ROOT_ALONE = [
    pytest.mark.skipif(not IS_ROOT, reason="root alone can give up its user"),
    pytest.mark.skipif(
        METER_IS_CLOSED_BY is not None, reason=f"another user may not read the meter: {METER_IS_CLOSED_BY} is closed"
    ),
]


@pytest.mark.parametrize(
    ("way", "held", "at_end", "most"),
    [*WAYS, *(pytest.param(*way, marks=ROOT_ALONE) for way in AS_ANOTHER_USER)],
    ids=[way[0] for way in (*WAYS, *AS_ANOTHER_USER)],
)
def test_what_each_process_holds_and_all_together(processes, way, held, at_end, most):
    """Inherited blocks count once, and blocks that an exec discarded do not count. The peak of all is at least that of
    each, and no sum of peaks of different moments."""
    status, programs, everything, sentences = followed(processes, way)
    assert (status, sentences) == (0, [])
    assert sorted(parts(programs)) == sorted(held)
    assert all(one["private_bytes"] + one["inherited_bytes"] == one["live_bytes"] for one in programs)
    assert everything["at_end_bytes"] == at_end
    assert most <= everything["peak_seen_bytes"] <= max(at_end, most)
    assert (everything["running"], everything["live_bytes"]) == (0, 0)


@pytest.mark.parametrize("way", ["title", "name", "exec", "exec-by-descriptor", "user-fork"])
def test_a_program_keeps_the_name_that_it_was_started_by(processes, way):
    if way == "user-fork" and not IS_ROOT:
        pytest.skip("root alone can give up its user")
    _, programs, _, _ = followed(processes, way)
    assert {one["program"] for one in programs} == {"processes"}


def test_a_program_that_is_started_by_a_link_has_the_name_that_it_is_called_by(processes):
    _, programs, _, _ = followed(processes, "exec-by-link")
    assert [one["program"] for one in programs] == ["processes", "called-by-link"]


@pytest.mark.parametrize("way", ["exec", "unmetered"])
def test_no_name_of_a_program_reaches_the_terminal_as_an_escape_sequence(processes, way):
    program = processes.with_name("a\x1b[31mb\n")
    program.hardlink_to(processes)
    done = forked_command.run([*HEAP_RUN, "--once", "--", program, way], timeout=60)
    program.unlink()
    assert "a?[31mb?" in done.stderr and "\x1b" not in done.stderr


@pytest.mark.thorough
def test_forks_beyond_those_that_blocks_can_tell_are_a_sentence(processes):
    status, programs, everything, sentences = followed(processes, "fork-deep")
    assert status == 0 and len(programs) == 71 and everything["at_end_bytes"] == 1_000_000
    assert sentences == [
        "memtest: processes forked more than 63 times in a row: some inherited blocks count as its own"
    ]


@pytest.mark.slow
def test_a_child_of_a_raw_clone_is_a_sentence_once_it_was_seen(processes):
    """No function of the C library makes it, and so it goes on in its parent's page."""
    words = [*HEAP_RUN, "--interval", "0.2", "--", processes, "raw-clone"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("memtest: ")]
    assert done.returncode == 125 and len(said) == 1
    assert said[0].startswith("memtest: processes ran without a page of the meter, as after a raw system call: ")


@pytest.mark.parametrize("way", ["unmetered", pytest.param("user-unmetered", marks=ROOT_ALONE)])
def test_what_goes_on_without_the_meter_is_a_sentence_after_a_change_of_the_user_too(processes, way):
    status, _, everything, sentences = followed(processes, way)
    assert status == 125 and len(sentences) == 1
    assert sentences[0].startswith(f"memtest: {processes} was never under the heap meter: it was started without")
    assert everything["at_end_bytes"] == 0, "an exec discarded it"
    assert not list(Path("/dev/shm").glob("heapmeter-programs-*-65534"))
