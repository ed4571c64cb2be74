"""A process and its descendants as the heap meter's pages show them: who belongs, who runs, who has ended.

One process is several programs when it execs: each has a page of its own, which takes the place of the one before.
Under `heap run` that one is set aside under another name, so that none is missed, however short it was."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tlsmem.monitor.rss_parts import RssParts
from tlsmem.run import heap_page
from tlsmem.run.heap_page import NotHeapPage, Page

PageKey = tuple[int, int]  # process id and inode: of one page for as long as it is there
RUNNING, ENDED, REPLACED = "running", "ended", "replaced"  # replaced: by exec, in the same process
LOST = "lost"  # its page was no page any more when it was last read


@dataclass(eq=False)
class MeteredProgram:
    """One program of one process; `page` is the last reading, the final one when it has ended or was replaced."""

    open: heap_page.OpenPage
    page: Page
    state: str = RUNNING
    threads: int = 0
    anon_peak: int = 0  # the most anonymous memory, in bytes, that was resident when it was read
    rss: RssParts | str | None = None  # as it was last read, or why it was not
    forked_from: "MeteredProgram | None" = None  # where that is known

    def update(self, state: str) -> None:
        """A page whose process has ended is read once more, and closed."""
        try:
            self.page, self.state = self.open.read(), state
        except (NotHeapPage, OSError):
            self.state = LOST
        self.threads = threads(self.page.pid) if self.state == RUNNING else 0
        if self.state == RUNNING:
            self.anon_peak = max(self.anon_peak, anonymous_bytes(self.page.pid))
        if self.state != RUNNING:
            self.open.close()

    @property
    def forked(self) -> bool:
        return self.page.inherited.cumulative_blocks > 0

    @property
    def was_stepping_stone(self) -> bool:
        """What a process is between its fork and its exec: a copy of its parent."""
        return self.forked and self.state == REPLACED


@dataclass
class ProcessTree:
    """`root` and its descendants, as far as their pages are not among those that are settled from the start."""

    root: int
    settled: set[PageKey] = field(default_factory=set)  # known, or not of this tree
    programs: list[MeteredProgram] = field(default_factory=list)  # in the order of being seen
    current: dict[int, MeteredProgram] = field(default_factory=dict)  # by process, those that run
    by_process: dict[int, list[MeteredProgram]] = field(default_factory=dict)
    unlinked: list[MeteredProgram] = field(default_factory=list)  # forked from what is not known yet
    suspects: set[int] = field(default_factory=set)  # processes that had no page when they were last looked at
    reaper: int | None = None  # the parent that orphans of the tree get, if no other processes have it

    def poll(self) -> None:
        """Reads all pages of the tree, new ones too."""
        pages = find_pages()
        new = dict(opened({key: path for key, path in pages.items() if key not in self.settled}))
        while joining := [key for key, page in new.items() if self.descends(page)]:
            self.settled.update(joining)
            for key in sorted(joining, key=lambda key: new[key].first.made):
                self.join(new.pop(key), is_aside(pages[key]))
            self.link()
        # The others are looked at again: while an exec sets a page aside, it may be missed and its children's found.
        for page in new.values():
            page.close()
        for pid, program in list(self.current.items()):
            program.update(RUNNING if heap_page.is_alive(pid) else ENDED)  # in this order: the final reading is final
            if program.state != RUNNING:
                del self.current[pid]

    def descends(self, page: heap_page.OpenPage) -> bool:
        """By what its page says, which outlives it; else by a living chain of parents, of which some have no page."""
        said = page.first
        if self.has(said.pid) or self.has(said.parent):
            return True
        ancestor = parent(said.pid)
        while ancestor > 1 and not self.has(ancestor):
            ancestor = parent(ancestor)
        return ancestor > 1

    def has(self, pid: int) -> bool:
        """Whether a process is known to belong, or adopts those that do."""
        return pid in self.by_process or pid in (self.root, self.reaper)

    def join(self, page: heap_page.OpenPage, aside: bool = False) -> None:
        """`aside`: another program has taken the place of this one already."""
        program, pid = MeteredProgram(page, page.first), page.pid
        of_process = self.by_process.setdefault(pid, [])
        for before in (one for one in of_process if one.page.made < program.page.made):
            if before.state == RUNNING:
                before.update(REPLACED)
            elif before.state == ENDED:  # as it seemed, while the other was not known yet
                before.state = REPLACED
        if aside or any(one.page.made > program.page.made for one in of_process):
            program.update(REPLACED)
        else:
            self.current[pid] = program
        of_process.append(program)
        self.programs.append(program)
        if program.forked:
            self.unlinked.append(program)

    def link(self) -> None:
        """Find what each was forked from, once that is known too."""
        for child in self.unlinked:
            parents = [one for one in self.by_process.get(child.page.parent, ()) if one.page.made < child.page.made]
            child.forked_from = max(parents, key=lambda one: one.page.made, default=None)
        self.unlinked = [child for child in self.unlinked if not child.forked_from]

    def replace(self, pid: int) -> None:
        """The process has become a program that has no page."""
        for program in self.by_process.get(pid, ())[-1:]:
            if program.state == RUNNING:
                del self.current[pid]
                program.update(REPLACED)
            elif program.state == ENDED:
                program.state = REPLACED

    def replace_unmetered(self) -> None:
        """Find processes that have become a program without the meter: they no longer hold what their pages say.

        One that is being loaded has no page for a moment. So only what has none the second time is replaced."""
        without = set(filter(is_without_page, list(self.current)))
        for pid in without & self.suspects:
            self.replace(pid)
        self.suspects = without

    def remove_pages(self, last: bool = False) -> None:
        """Of those that have ended; `last`: also those of programs that were replaced since the last reading."""
        ended = {(program.page.pid, program.open.inode) for program in self.programs if program.state != RUNNING}
        for key, path in find_pages().items():
            if key in ended or (last and is_aside(path) and key[0] in self.by_process):
                path.unlink(missing_ok=True)


def is_without_page(pid: int) -> bool:
    """Whether a process that runs has mapped no page; of one that we may not look into, we believe that it has."""
    try:
        return heap_page.mapped_page(pid) is None and heap_page.is_alive(pid)
    except OSError:
        return False


def find_pages() -> dict[PageKey, Path]:
    """Where each page lies."""
    with os.scandir(heap_page.PAGES_FOLDER) as entries:
        named = [(heap_page.process_of(entry.name), entry.inode(), Path(entry.path)) for entry in entries]
    return {(pid, inode): path for pid, inode, path in named if pid is not None}


def list_pages() -> set[PageKey]:
    return set(find_pages())


def is_aside(path: Path) -> bool:
    return path.name.count(".") > 1


def opened(pages: Mapping[PageKey, Path]) -> Iterator[tuple[PageKey, heap_page.OpenPage]]:
    """Those that can be read; the others are gone, another user's, or not written yet: perhaps the next time."""
    for (pid, inode), path in pages.items():
        with contextlib.suppress(OSError, NotHeapPage):
            page = heap_page.OpenPage(pid, path)
            if page.inode == inode:
                yield (pid, inode), page
            else:  # an exec has put another in its place meanwhile
                page.close()


def stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name: state, parent, ...; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return []


def parent(pid: int) -> int:
    return int((stat(pid) or "00")[1])


def descendants(ancestor: int) -> set[int]:
    """Those that live."""
    parents = {int(name): parent(int(name)) for name in os.listdir("/proc") if name.isdecimal()}
    found, newest = set[int](), {ancestor}
    while newest := {pid for pid, before in parents.items() if before in newest and heap_page.is_alive(pid)} - found:
        found |= newest
    return found


def has_meter(pid: int) -> bool:
    """Whether the meter is in its memory; of a process that we may not look into, or that is gone, we believe it."""
    try:
        return "libheapmeter.so" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return True


def anonymous_bytes(pid: int) -> int:
    """What is resident and of no file; 0 when it is gone."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def threads(pid: int) -> int:
    return int((stat(pid) or ["0"] * 18)[17])


class LiveSum(NamedTuple):
    """Live bytes and blocks."""

    bytes: int = 0
    blocks: int = 0


def sum_live(programs: Iterable[MeteredProgram]) -> LiveSum:
    """Return what the programs hold together, as they were last read.

    Blocks that a process inherited are a copy-on-write copy: they count with the process that requested them. What it
    freed while its children keep it counts once for all that were forked before, and so does all of it once that
    process is not among the programs. The meter knows how many bytes that are, not which blocks: where children freed
    some of theirs too, these may be the same, and the sum is the least that it can be."""
    counted = set(programs)
    parts = [sum_quantity(counted, quantity) for quantity in range(len(LiveSum._fields))]
    return LiveSum(*parts)


class Kept(NamedTuple):
    """What is live in a child, and below it, of what it inherited; what that was at its fork; and what its parent had
    freed of its own by then that other children may keep."""

    live: int
    at_fork: int
    freed_before: int


def sum_quantity(counted: set[MeteredProgram], quantity: int) -> int:
    """Return the sum of one quantity, by its position in LiveSum."""
    family = set(counted)
    for program in counted:
        while program.forked_from and program.forked_from not in family:
            program = program.forked_from
            family.add(program)
    total = 0
    kept: dict[MeteredProgram, list[Kept]] = {program: [] for program in family}  # by the children of each
    for program in sorted(family, key=lambda one: one.page.made, reverse=True):  # children first
        page, children = program.page, kept[program]
        at_fork = (page.inherited.live_bytes, page.inherited.live_blocks)[quantity]
        own, inherited = 0, 0
        if program in counted:
            own = page.private_live[quantity] + freed_but_kept(page.forked_out[quantity], children)
            inherited = page.inherited_live[quantity]
        total += max([own, *(child.live - at_fork for child in children)])
        inherited = max([inherited, *(min(child.live, at_fork) for child in children)])
        if program.forked_from:
            kept[program.forked_from].append(Kept(inherited, at_fork, page.parent_out[quantity]))
        else:
            total += inherited
    return total


def freed_but_kept(freed: int, children: list[Kept]) -> int:
    """Return what a process freed of its own, in all `freed`, and some child keeps: at least.

    What was freed between two forks, those have whose fork was before; each has no more than is live in it."""
    moments = sorted({child.freed_before for child in children})
    left = [child.live for child in children]
    total = 0
    for begin, end in itertools.pairwise([*moments, freed]):
        most = 0
        for number, child in enumerate(children):
            if child.freed_before <= begin:
                share = min(left[number], max(0, end - begin - (child.at_fork - child.live)))
                left[number] -= share
                most = max(most, share)
        total += most
    return total
