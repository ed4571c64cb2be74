"""What programs note of themselves and of each other, and which of them ran without the heap meter."""

import os

import pytest

from tlsmem.monitor import program_list
from tlsmem.monitor.program_file import CLEARED, NO_PRELOAD
from tlsmem.monitor.program_list import EXEC, EXEC_FAILED, HEAD, LIST_BYTES, NO_PAGE, NOTE, PRELOADED, SPAWNED, STARTED

PROGRAM = "/no/such/program"


@pytest.fixture
def programs(monkeypatch, tmp_path):
    monkeypatch.setattr(program_list.heap_page, "PAGES_FOLDER", tmp_path)
    made = program_list.ProgramList()
    yield made
    made.remove()
    assert not list(tmp_path.iterdir())


def note(kind, pid=7, flags=PRELOADED, path=PROGRAM):
    text = os.fsencode(path) + b"\0"
    size = NOTE.size + -(-len(text) // 16) * 16
    return NOTE.pack(size, kind, pid, flags) + text.ljust(size - NOTE.size, b"\0")


def read(programs, *notes, used=None):
    content = b"".join(notes)
    head = HEAD.pack(program_list.LIST_MAGIC, used or HEAD.size + len(content))
    programs.path.write_bytes((head + content).ljust(LIST_BYTES, b"\0"))
    return programs.read()


@pytest.mark.parametrize(
    ("kinds", "unmetered"),
    [
        ([STARTED], []),
        ([STARTED, EXEC], [EXEC]),
        ([STARTED, EXEC, STARTED], []),
        ([STARTED, EXEC, EXEC_FAILED, EXEC], [EXEC]),
        ([STARTED, EXEC, EXEC_FAILED], []),
        ([SPAWNED], [SPAWNED]),
        ([SPAWNED, STARTED], []),
        ([STARTED, SPAWNED], []),
        ([STARTED, EXEC, SPAWNED], [EXEC]),
        ([STARTED, SPAWNED, SPAWNED], [SPAWNED]),
    ],
)
def test_an_exec_or_a_spawn_that_nothing_followed_is_a_program_without_the_meter(programs, kinds, unmetered):
    """The last case is a process id that was used again."""
    found = read(programs, *map(note, kinds))
    assert [one.kind for one in found.notes] == unmetered


def test_notes_of_other_processes_do_not_count(programs):
    found = read(programs, note(EXEC, 7), note(STARTED, 8), note(EXEC, 9), note(EXEC_FAILED, 7))
    assert [one.pid for one in found.notes] == [9]


def test_sentences_are_of_programs_and_not_of_processes(programs):
    many = [note(EXEC, pid, path=f"/no/{pid}") for pid in range(7)]
    said = list(read(programs, note(EXEC, 100, 0), note(EXEC, 101, 0), note(NO_PAGE, 102, path="sh"), *many).describe())
    assert said[0] == f"{PROGRAM} (2 times) was never under the heap meter: {CLEARED}; the figures are without it"
    assert said[1] == f"/no/0 was never under the heap meter: {NO_PRELOAD}; the figures are without it"
    assert said[5] == "3 more programs were never under the heap meter; the figures are without them"
    assert said[6].startswith("sh: no page could be made in ") and len(said) == 7


def test_a_list_that_was_too_short_says_so(programs):
    assert not list(read(programs, note(STARTED)).describe())
    said = list(read(programs, note(STARTED), used=LIST_BYTES + 1).describe())
    assert said == [f"the list of programs has room for {LIST_BYTES:,} B, and more were started: some may be missing"]


def test_a_note_that_was_not_finished_is_left_out(programs):
    unfinished = NOTE.pack(32, 0, 7, 0).ljust(32, b"\0")
    assert [one.pid for one in read(programs, unfinished, note(EXEC, 8)).notes] == [8]
    assert not read(programs, bytes(32), note(EXEC, 8)).notes
