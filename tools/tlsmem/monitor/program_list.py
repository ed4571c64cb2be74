"""The list in which programs under the heap meter note what they become and start, and what ran without the meter.

docs/reference/records.md has the layout. A program that the loader does not give the meter notes nothing: it is known
by the note of the exec or the spawn before it, which nobody followed up."""

import contextlib
import os
import stat
import struct
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tlsmem.monitor.program_file import why_unmetered
from tlsmem.run import heap_page, stale_files

VARIABLE = "HEAPMETER_PROGRAMS"
PREFIX = "heapmeter-programs-"  # in PAGES_FOLDER; `heapmeter-programs.` were without a lock
OTHERS = "-[0-9]*"  # behind the name of a list: the user id of programs that gave up the list's user
LIST_MAGIC, LIST_BYTES = 0x3152504D50414548, 4 << 20  # some 50,000 programs
HEAD, NOTE = struct.Struct("=QQ"), struct.Struct("=IIII")  # magic, bytes in use; size, kind, process id, flags
STARTED, EXEC, EXEC_FAILED, SPAWNED, NO_PAGE = range(1, 6)
PRELOADED = 1
KINDS = 5  # of programs, each of which has a sentence; the others share one


@dataclass(frozen=True)
class Note:
    kind: int
    pid: int
    flags: int
    path: str

    @property
    def is_preloaded(self) -> bool:
        """Whether the environment of what was started has the meter."""
        return bool(self.flags & PRELOADED)


@dataclass
class UnmeteredPrograms:
    """What the notes add up to."""

    execs: dict[int, Note] = field(default_factory=dict)  # by process, that no program with the meter followed
    started: Counter[int] = field(default_factory=Counter)  # programs that no exec announced, by process
    spawns: dict[int, Note] = field(default_factory=dict)
    pageless: list[Note] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)  # of the programs that started, each once
    overflowed: bool = False  # not all notes found room

    def add(self, note: Note) -> None:
        if note.kind == STARTED:
            self.files[note.path] = None
        if note.kind == EXEC:
            self.execs[note.pid] = note
        elif note.kind == EXEC_FAILED:
            self.execs.pop(note.pid, None)
        elif note.kind == NO_PAGE:
            self.pageless.append(note)
        elif note.kind == STARTED and not self.execs.pop(note.pid, None) and not self.spawns.pop(note.pid, None):
            self.started[note.pid] += 1
        elif note.kind == SPAWNED and self.started[note.pid]:  # the child may be faster than its parent's note
            self.started[note.pid] -= 1
        elif note.kind == SPAWNED:
            self.spawns[note.pid] = note

    @property
    def notes(self) -> list[Note]:
        """Execs and spawns that led to programs without the meter, or to such as are still being loaded."""
        return [*self.execs.values(), *self.spawns.values()]

    def describe(self) -> Iterator[str]:
        """A sentence for each program that ran without the meter, or whose page could not be made."""
        reasons = Counter((note.path, why_unmetered(note.path, note.is_preloaded)) for note in self.notes).items()
        for (path, why), times in list(reasons)[:KINDS]:
            name = heap_page.printable(path) + often(times)
            yield f"{name} was never under the heap meter: {why}; the figures are without it"
        if rest := sum(times for _, times in list(reasons)[KINDS:]):
            yield f"{rest:,} more programs were never under the heap meter; the figures are without them"
        for path, times in Counter(note.path for note in self.pageless).items():
            name = heap_page.printable(path) + often(times)
            yield f"{name}: no page could be made in {heap_page.PAGES_FOLDER}; the figures are without it"
        if self.overflowed:
            yield f"the list of programs has room for {LIST_BYTES:,} B, and more were started: some may be missing"


def make_file() -> Path:
    """Make the empty file of a list. Raises OSError when there is no room for it."""
    descriptor, name = tempfile.mkstemp(prefix=PREFIX, dir=heap_page.PAGES_FOLDER)
    os.close(descriptor)
    return Path(name)


class ProgramList:
    """The file that the programs of one command write to."""

    def __init__(self) -> None:
        """Raises OSError when there is no room for it."""
        stale_files.remove_stale(heap_page.PAGES_FOLDER, PREFIX)
        for path in heap_page.PAGES_FOLDER.glob(f"{PREFIX}*{OTHERS}"):
            if not path.with_name(path.name.rpartition("-")[0]).exists():
                remove_file(path)
        self.path, self.lock = stale_files.make_locked(make_file)
        try:
            with self.path.open("r+b") as file:
                os.posix_fallocate(
                    file.fileno(), 0, LIST_BYTES
                )  # else a program that writes there could be ended by it
                file.write(HEAD.pack(LIST_MAGIC, HEAD.size))
        except OSError:
            self.remove()
            raise

    def remove(self) -> None:
        """Programs that start from now on list nothing, and set no pages aside."""
        self.path.unlink(missing_ok=True)
        for path in self.others():
            remove_file(path)
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def others(self) -> list[Path]:
        """Return the lists of programs that gave up our user and then became another program."""
        return sorted(self.path.parent.glob(self.path.name + OTHERS))

    def read(self) -> UnmeteredPrograms:
        """Return what the notes add up to: our list first, since what a program becomes is noted before."""
        found = UnmeteredPrograms()
        for content in map(read_list, (self.path, *self.others())):
            used = HEAD.unpack_from(content)[1] if len(content) >= HEAD.size else 0
            found.overflowed |= used > len(content)
            for note in notes(content[:used]):
                found.add(note)
        return found


def read_list(path: Path) -> bytes:
    """Return the content of a list, empty if it cannot be read: another user may have put anything there."""
    try:
        descriptor = os.open(path, stale_files.LOOK)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LIST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def remove_file(path: Path) -> None:
    """Remove a file, unless it is another user's to remove."""
    with contextlib.suppress(OSError):
        path.unlink()


def often(times: int) -> str:
    return f" ({times:,} times)" if times > 1 else ""


def notes(content: bytes) -> Iterator[Note]:
    """Those that are there; one that was not finished is left out, and so is what comes after one without a size."""
    at = HEAD.size
    while at + NOTE.size <= len(content):
        size, kind, pid, flags = NOTE.unpack_from(content, at)
        if not size:
            return
        path = os.fsdecode(content[at + NOTE.size : at + size].partition(b"\0")[0])
        if kind:
            yield Note(kind, pid, flags, os.path.normpath(path) if "/" in path else path)
        at += size
