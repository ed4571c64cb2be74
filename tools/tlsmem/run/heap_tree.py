"""A process and its descendants as the heap meter's pages show them: who belongs, who runs, who has ended.

One process is several programs when it execs: each has a page of its own, which takes the place of the one before. A
program that was replaced before anybody looked (the moment between fork and exec) is not seen."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tlsmem.run import heap_page
from tlsmem.run.heap_page import NotHeapPage, Page

RUNNING, ENDED, REPLACED = "running", "ended", "replaced"  # replaced: by exec, in the same process
LOST = "lost"  # its page was no page any more when it was last read


@dataclass(eq=False)
class MeteredProgram:
    """One program of one process; `page` is the last reading, the final one when it has ended or was replaced."""

    open: heap_page.OpenPage
    page: Page
    state: str = RUNNING
    threads: int = 0

    def update(self, state: str) -> None:
        """A page whose process has ended is read once more, and closed."""
        try:
            self.page, self.state = self.open.read(), state
        except (NotHeapPage, OSError):
            self.state = LOST
        self.threads = threads(self.page.pid) if self.state == RUNNING else 0
        if self.state != RUNNING:
            self.open.close()

    @property
    def forked(self) -> bool:
        return self.page.inherited.cumulative_blocks > 0


@dataclass
class ProcessTree:
    """`root` and its descendants, as far as their pages are not among those that are settled from the start."""

    root: int
    settled: set[tuple[int, int]] = field(default_factory=set)  # process id and inode: known, or not of this tree
    programs: list[MeteredProgram] = field(default_factory=list)  # in the order of being seen
    current: dict[int, MeteredProgram] = field(default_factory=dict)  # by process, those that run

    def poll(self) -> None:
        """Reads all pages of the tree, new ones too."""
        new = dict(opened(list_pages() - self.settled))
        self.settled |= new.keys()
        while joining := [key for key, page in new.items() if self.descends(page)]:
            for key in joining:
                self.join(new.pop(key))
        for page in new.values():
            page.close()
        for pid, program in list(self.current.items()):
            program.update(RUNNING if heap_page.is_alive(pid) else ENDED)  # in this order: the final reading is final
            if program.state != RUNNING:
                del self.current[pid]

    def descends(self, page: heap_page.OpenPage) -> bool:
        """By what its page says, which outlives it; else by a living chain of parents, of which some have no page."""
        said = page.first
        members = {self.root} | {program.page.pid for program in self.programs}
        if said.pid == self.root or said.parent in members:
            return True
        ancestor = parent(said.pid)
        while ancestor > 1 and ancestor not in members:
            ancestor = parent(ancestor)
        return ancestor > 1

    def join(self, page: heap_page.OpenPage) -> None:
        program = MeteredProgram(page, page.first)
        if before := self.current.get(program.page.pid):
            before.update(REPLACED)
        self.current[program.page.pid] = program
        self.programs.append(program)

    def remove_pages(self) -> None:
        """Of those that have ended."""
        for program in self.programs:
            if program.page.pid not in self.current:
                heap_page.page_path(program.page.pid).unlink(missing_ok=True)


def list_pages() -> set[tuple[int, int]]:
    """Process id and inode of every page there is."""
    with os.scandir(heap_page.PAGES_FOLDER) as entries:
        named = [(entry.name.partition("heapmeter.")[2], entry) for entry in entries]
        return {(int(pid), entry.inode()) for pid, entry in named if pid.isdecimal()}


def opened(keys: Iterable[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], heap_page.OpenPage]]:
    """Those that can be read; the others are gone, another user's, or not written yet: perhaps the next time."""
    for key in sorted(keys):
        with contextlib.suppress(OSError, NotHeapPage):
            yield key, heap_page.OpenPage(key[0])


def stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name: state, parent, ...; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return []


def parent(pid: int) -> int:
    return int((stat(pid) or "00")[1])


def threads(pid: int) -> int:
    return int((stat(pid) or ["0"] * 18)[17])
