"""The heap meter's page of a process in /dev/shm: layout, reading, removing stale ones.

docs/reference/records.md has the layout."""

import contextlib
import os
import re
import struct
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

PAGES_FOLDER = Path("/dev/shm")
NAME = re.compile(r"heapmeter\.([0-9]+)(?:-[0-9]+)?(?:\.[0-9]+)?")
PAGE_MAGIC, PAGE_BYTES, PARENT_AT, LIST_AT = 0x3152544D50414548, 4096, 3376, 3512  # as in docs/reference/records.md
LISTS = "heapmeter-programs-*"  # of commands that tls-memtest heap follows


def remove_stale_pages(folder: Path = PAGES_FOLDER) -> None:
    """Removes them; a page is a dead process's when it says so itself, and so does its name.

    As long as its parent lives it is the parent's to read and to remove. What `heap run` started is its own as long as
    its list of programs is there."""
    lists = {path.stat().st_ino for path in folder.glob(LISTS)}
    for page in folder.glob("heapmeter.*"):
        with contextlib.suppress(OSError):  # another's, or removed meanwhile
            if dead(page, lists):
                page.unlink()


def dead(page: Path, lists: Container[int] = ()) -> bool:
    """Whether it is the page of a dead process that nobody follows; `lists` are the inodes of lists of programs."""
    if not page.is_file() or page.stat().st_size != PAGE_BYTES:
        return False
    content = page.read_bytes()
    (magic, pid), (parent,) = struct.unpack_from("=QI", content), struct.unpack_from("=I", content, PARENT_AT)
    is_followed = struct.unpack_from("=Q", content, LIST_AT)[0] in lists
    is_its_own = magic == PAGE_MAGIC and process_of(page.name) == pid
    return is_its_own and not is_followed and not is_alive(pid) and not is_alive(parent)


def is_alive(pid: int) -> bool:
    """A zombie is dead: nothing counts in its page any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except OSError:
        return False


ROLES = ("untagged", "client", "server", "client_context", "server_context", "total")
HEAD = struct.Struct("=QII")  # magic, process id, index of the phase
COUNTS = struct.Struct("=6q")  # signed: a child that was forked while others counted may be a little below nought
NAMES_AT, NAME_BYTES = 304, 16
# Parent, program, inherited, own malloc, namespaces, made, deepbind, forks, inherited and still live, mapped; list;
# freed of what was forked, by the process and by its parent before.
TAIL = struct.Struct("=I20s4q8xIIQII2q3QI4x8x4q")
MOST_FORKS = 63  # beyond, the meter does not tell blocks of a process from those of its parent
TAIL_AT = 3376


class NotHeapPage(ValueError):
    """Not a page of the heap meter."""


@dataclass(frozen=True)
class PageCounts:
    """Requested bytes and blocks: live now, at the peak (since the phase began), and since the page was made."""

    live_bytes: int
    live_blocks: int
    peak_bytes: int
    peak_blocks: int
    cumulative_bytes: int
    cumulative_blocks: int


@dataclass(frozen=True)
class InheritedCounts:
    """What the total began with: the parent's after a fork, else nothing."""

    live_bytes: int
    live_blocks: int
    cumulative_bytes: int
    cumulative_blocks: int


@dataclass(frozen=True)
class MappedBytes:
    """Anonymous memory that the program mapped by itself, past malloc, in bytes: private now and at most, and shared.

    `unknown`: calls that could not be followed."""

    private: int = 0
    peak: int = 0
    shared: int = 0
    unknown: int = 0


@dataclass(frozen=True)
class Page:
    pid: int
    parent: int
    program: str
    phase: str
    roles: dict[str, PageCounts]
    inherited: InheritedCounts
    own_malloc: bool = False  # the program's allocations pass the meter by
    namespaces: int = 0  # libraries that it loaded into a namespace of their own: their malloc passes the meter by
    made: int = 0  # nanoseconds of the clock that counts from the start of the system
    deepbind: int = 0  # libraries that it loaded without RTLD_DEEPBIND, which it had asked for
    forks: int = 0  # between the first program and this process
    inherited_live: tuple[int, int] = (0, 0)  # bytes and blocks of the parent's that were not freed since the fork
    mapped: MappedBytes = MappedBytes()
    forked_out: tuple[int, int] = (0, 0)  # bytes and blocks that the process freed of its own, which a child may keep
    parent_out: tuple[int, int] = (0, 0)  # the same of its parent, at the fork

    @property
    def total(self) -> PageCounts:
        """Of the process itself: its parent's allocations before a fork are not among the cumulative ones."""
        counts = dict(vars(self.roles["total"]))
        for name in ("cumulative_bytes", "cumulative_blocks"):
            counts[name] -= getattr(self.inherited, name)
        return PageCounts(**counts)

    @property
    def private_live(self) -> tuple[int, int]:
        """Bytes and blocks that the process requested itself and has not freed."""
        total, (inherited_bytes, inherited_blocks) = self.roles["total"], self.inherited_live
        return total.live_bytes - inherited_bytes, total.live_blocks - inherited_blocks


def page_path(pid: int) -> Path:
    return PAGES_FOLDER / f"heapmeter.{pid}"


def mapped_page(pid: int) -> Path | None:
    """The page that a process counts in; None if it has none. Raises OSError where its memory map cannot be read."""
    maps = Path(f"/proc/{pid}/maps").read_text(errors="replace").split()
    named = (Path(word) for word in maps if word.startswith(f"{PAGES_FOLDER}/"))
    return next((path for path in named if process_of(path.name) == pid), None)


def process_of(name: str) -> int | None:
    """The process whose page has this name: `heapmeter.PID`, `heapmeter.PID-UID` of a program that cannot replace the
    page of the one before it, or one of these with a moment behind it where an exec replaced the program.

    None: it is no page's name."""
    named = NAME.fullmatch(name)
    return int(named[1]) if named else None


def parse(content: bytes) -> Page:
    """Raises NotHeapPage when it is something else."""
    if len(content) != PAGE_BYTES:
        raise NotHeapPage(f"{len(content)} bytes, a page has {PAGE_BYTES}")
    magic, pid, phase = HEAD.unpack_from(content)
    if magic != PAGE_MAGIC:
        raise NotHeapPage("it begins with another magic number")
    counts = (PageCounts(*COUNTS.unpack_from(content, HEAD.size + at * COUNTS.size)) for at in range(len(ROLES)))
    parent, program, *counted = TAIL.unpack_from(content, TAIL_AT)
    inherited, (own_malloc, namespaces, made, deepbind, forks) = counted[:4], counted[4:9]
    inherited_live, mapped, forked_out, parent_out = counted[9:11], counted[11:15], counted[15:17], counted[17:]
    name = content[NAMES_AT + phase * NAME_BYTES :][:NAME_BYTES]
    roles = dict(zip(ROLES, counts, strict=True))
    names = text(program), text(name)
    return Page(
        pid,
        parent,
        *names,
        roles,
        InheritedCounts(*inherited),
        own_malloc=bool(own_malloc),
        namespaces=namespaces,
        made=made,
        deepbind=deepbind,
        forks=forks,
        inherited_live=(inherited_live[0], inherited_live[1]),
        mapped=MappedBytes(*mapped),
        forked_out=(forked_out[0], forked_out[1]),
        parent_out=(parent_out[0], parent_out[1]),
    )


def text(field: bytes) -> str:
    return printable(field.partition(b"\0")[0].decode(errors="replace"))


def printable(name: str) -> str:
    """Return a name as it may go to a terminal: a program may have any, escape sequences among them."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)


class OpenPage:
    """A page held open: it can be read to the end of its process, and after, though it was removed or another
    program of the same process has made its own in its place.

    The counters change while they are read, each by itself: a reading is within what the threads did meanwhile, and
    exact when the process is at rest or has ended."""

    def __init__(self, pid: int, path: Path | None = None) -> None:
        """Raises OSError when it is not there or not ours to read, NotHeapPage when it is something else."""
        self.pid = pid
        self.descriptor = os.open(path or page_path(pid), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            self.inode = os.fstat(self.descriptor).st_ino
            self.first = self.read()
        except (OSError, NotHeapPage):
            self.close()
            raise

    def read(self) -> Page:
        """Raises OSError or NotHeapPage too: others may write there."""
        page = parse(os.pread(self.descriptor, PAGE_BYTES + 1, 0))
        if page.pid != self.pid:
            raise NotHeapPage("it says to be another process's")
        return page

    def close(self) -> None:
        os.close(self.descriptor)
