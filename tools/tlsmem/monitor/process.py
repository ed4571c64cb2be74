"""Processes under the heap meter: started by us, or found running."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from tlsmem.base.errors import Usage, UserError
from tlsmem.base.paths import FETCH_CORE, HEAP_METER, ROOT
from tlsmem.monitor import rss_parts
from tlsmem.monitor.program_file import NO_PRELOAD, explain_failed_start, own_allocator, why_not_loadable, why_unmetered
from tlsmem.monitor.program_list import VARIABLE, ProgramList, UnmeteredPrograms, often
from tlsmem.monitor.tree import LOST, MeteredProgram, ProcessTree, anonymous_bytes, descendants, has_meter, list_pages
from tlsmem.run import heap_page

PR_SET_CHILD_SUBREAPER = 36
SI_KERNEL = 0x80  # a terminal's own signals: its foreground processes have got them already
PASSED = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
SIGNALS = PASSED | {signal.SIGCHLD}
ON_THE_WAY_S, SETTLE_S = 2.0, 0.01  # a program that is being loaded has this long to make its page; looked at so often
STRANGERS_S = 1.0  # between two looks at processes without a page
LOADING_S = 0.5  # the same of a process that others go on running
# What passes the meter by is a sentence from so many bytes on, and from such a share of what the meter counted.
UNCOUNTED_BYTES, UNCOUNTED_SHARE = 2 << 20, 0.1
FRAGMENTED, BLOCK_BYTES, BESIDES_HEAP_BYTES = 2, 32, 16 << 20  # at most, of malloc's pages; a block's own; stacks, data
TO_MALLOC = {  # by how the program's name begins
    "python": "with PYTHONMALLOC=malloc in its environment it takes all from malloc",
    "php": "with USE_ZEND_ALLOC=0 in its environment it takes all from malloc",
}
UNSEEN = 125  # exit status, as of other programs that run commands, where a part of the command was not counted


class MeteredCommand:
    """A command that was started under the meter, and its tree.

    Its orphans become our children, so that all of the tree can be told from other processes."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.status = words, 0
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        preload = preload_value()
        try:
            self.list = ProgramList()
        except OSError as error:
            raise UserError(f"{heap_page.PAGES_FOLDER}: {error.strerror}") from None
        before, mask = list_pages(), signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process = subprocess.Popen(
                words,
                env=os.environ | {"LD_PRELOAD": preload, VARIABLE: str(self.list.path)},
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
            )
        except OSError as error:
            self.list.remove()
            raise UserError(f"{words[0]}: {error.strerror}{explain_failed_start(words[0])}") from None
        self.pid, process.returncode = process.pid, 0  # it is we who wait for it
        self.tree = ProcessTree(process.pid, before, reaper=os.getpid())
        self.found, self.unseen = UnmeteredPrograms(), set[int]()

    def ended(self, info: signal.struct_siginfo | None) -> bool:
        """After a signal (None: after a while): passes it on, or buries those that have ended."""
        if info and info.si_signo in PASSED and info.si_code != SI_KERNEL:
            os.kill(self.pid, info.si_signo)
        ended = False
        with contextlib.suppress(ChildProcessError):
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                if dead[0] == self.pid:
                    code = os.waitstatus_to_exitcode(dead[1])
                    self.status, ended = (code if code >= 0 else 128 - code), True
        return ended

    def settle(self) -> None:
        """Waits until what the command leaves running is under the meter, or is known to run without."""
        until = time.monotonic() + ON_THE_WAY_S
        while True:
            self.tree.poll()
            self.found = self.list.read()
            self.unseen = self.find_unmetered()
            explained = {note.pid: why_unmetered(note.path, note.is_preloaded) for note in self.found.notes}
            loading = {pid for pid in self.unseen if explained.get(pid, NO_PRELOAD) == NO_PRELOAD}
            self.unseen -= explained.keys()
            if not loading or time.monotonic() >= until:
                for pid in self.found.execs:
                    self.tree.replace(pid)
                return
            time.sleep(SETTLE_S)

    def find_unmetered(self) -> set[int]:
        """What of the command runs, and not under the meter, whatever it was before."""
        return without_page(self.tree, descendants(os.getpid()))

    def omissions(self, strangers: "Strangers") -> list[str]:
        """Sentences that say what the figures are without, once it is settled."""
        started = any(program.page.pid == self.pid for program in self.tree.programs)
        command, why = heap_page.printable(self.words[0]), why_unmetered(self.words[0])
        said = [] if started else [f"{command} was never under the heap meter: {why}"]
        said += [*self.found.describe(), *own_allocators(self.tree, self.found.files)]
        said += describe_unmetered(self.unseen)
        said += strangers.describe({note.pid for note in self.found.notes})
        return said

    def close(self) -> None:
        """Removes what was there for the command alone; what still runs keeps its pages."""
        self.list.remove()
        self.tree.remove_pages(last=True)

    def remarks(self) -> Iterator[str]:
        """What else a reader of the summary must know."""
        if left := sorted(self.tree.current.keys() - self.unseen):
            numbers = " ".join(map(str, left))
            goes_on = f"tools/tls-memtest heap attach {left[0]} goes on watching"
            yield f"still running, and under the meter: {numbers} ({goes_on})"
        yield from loaded_otherwise(self.tree)
        yield from deep_forks(self.tree)


def preload_value() -> str:
    """Return LD_PRELOAD for a program under the meter. Raises UserError where there is none, or none for this libc."""
    meter = ROOT / HEAP_METER
    if not has_glibc():
        raise Usage("the heap meter needs glibc, and the C library of this system is another one, such as musl")
    if not meter.exists():
        raise UserError(f"{HEAP_METER} is not there: {FETCH_CORE}")
    return " ".join(filter(None, (str(meter), os.environ.get("LD_PRELOAD"))))


def has_glibc() -> bool:
    """Return whether this Python's C library is glibc."""
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (OSError, ValueError):  # musl has no such name
        return False


def program_files(tree: ProcessTree) -> Iterator[str]:
    """Of those that run."""
    for pid in tree.current:
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/exe")


def own_allocators(tree: ProcessTree, files: Iterable[str]) -> Iterator[str]:
    """A sentence for each program whose allocations pass the meter by, all of them or some."""
    sizes = uncounted_sizes(tree)
    named = dict.fromkeys(program.page.program for program in tree.programs if program.page.own_malloc)
    for name in named:
        what = f"what it allocates is not counted{described(sizes.pop(name, None))}"
        yield f"{name} has a malloc of its own, which the heap meter does not see: {what}"
    for name, count in most_of_one(tree, "namespaces").items():
        loaded = f"{name} loaded {libraries(count)} by dlmopen"
        yield f"{loaded}, with a malloc of their own: what they allocate is not counted"
    for file in map(Path, files):
        own = None if file.name in named else own_allocator(file)
        if own:
            what = f"what it allocates with that is not counted{described(sizes.pop(file.name, None))}"
            yield f"{heap_page.printable(file.name)} has an allocator besides malloc ({own}): {what}"
    for name, (mapped, counted) in sizes.items():
        advice = next((f"; {way}" for start, way in TO_MALLOC.items() if name.startswith(start)), "")
        yield (
            f"{name} took {rss_parts.describe_size(mapped)} from the OS by itself (mmap or sbrk), which is not "
            f"counted; the meter counted {rss_parts.describe_size(counted)}{advice}"
        )


def uncounted_sizes(tree: ProcessTree) -> dict[str, tuple[int, int]]:
    """Return what passes the meter by, and what it counted at the peak, of each program in which that is much; in
    bytes, of the process in which it is most."""
    sizes: dict[str, tuple[int, int]] = {}
    for program in tree.programs:
        mapped, counted = uncounted_bytes(program), program.page.total.peak_bytes
        if mapped >= UNCOUNTED_BYTES and mapped >= UNCOUNTED_SHARE * counted:
            sizes[program.page.program] = max(sizes.get(program.page.program, (0, 0)), (mapped, counted))
    return sizes


def uncounted_bytes(program: MeteredProgram) -> int:
    """Return the most that the program had past malloc: what it mapped, as far as it used that, where it was seen;
    else what was resident and cannot be malloc's."""
    mapped, total = program.page.mapped.peak, program.page.total
    if not program.anon_peak:
        return mapped
    by_malloc = FRAGMENTED * (total.peak_bytes + BLOCK_BYTES * total.peak_blocks) + BESIDES_HEAP_BYTES
    return max(min(mapped, program.anon_peak), program.anon_peak - by_malloc)


def describe_unseen(pid: int) -> str:
    return f"{pid} ({rss_parts.describe_size(anonymous_bytes(pid))} of anonymous memory)"


def described(sizes: tuple[int, int] | None) -> str:
    return f", {rss_parts.describe_size(sizes[0])}" if sizes else ""


def loaded_otherwise(tree: ProcessTree) -> Iterator[str]:
    """A sentence for each program that would have had libraries that the meter does not see."""
    for name, count in most_of_one(tree, "deepbind").items():
        yield (
            f"{name} loaded {libraries(count)} with RTLD_DEEPBIND, which the heap meter left out: it would not have "
            "counted what they allocate"
        )


def without_page(tree: ProcessTree, living: Iterable[int]) -> set[int]:
    """Those that have no page, or one of a program that they no longer are. Of a damaged page others tell."""
    damaged = {program.page.pid for program in tree.programs if program.state == LOST}
    known = tree.current.keys() | damaged
    return {pid for pid in living if pid not in known or not has_meter(pid)}


def find_unmetered(tree: ProcessTree) -> set[int]:
    """The root and its descendants that run without the meter. Those that are being loaded have time to make a page."""
    until = time.monotonic() + LOADING_S
    while True:
        living = {*descendants(tree.root), *filter(heap_page.is_alive, [tree.root])}
        found = without_page(tree, living)
        if not found or time.monotonic() >= until:
            return found
        time.sleep(SETTLE_S)
        tree.poll()


class Strangers:
    """Descendants that were seen twice without a page: a raw system call made them, or started what they run."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}  # by process
        self.before, self.looked = set[int](), 0.0

    def look(self, tree: ProcessTree) -> None:
        """Look at the descendants of the root, once in a while."""
        if time.monotonic() - self.looked < STRANGERS_S:
            return
        self.looked = time.monotonic()
        found = without_page(tree, descendants(tree.root))
        for pid in found & self.before - self.names.keys():
            with contextlib.suppress(OSError):
                self.names[pid] = heap_page.printable(Path(f"/proc/{pid}/comm").read_text(errors="replace").strip())
        self.before = found

    def describe(self, known: Container[int]) -> Iterator[str]:
        """A sentence for each program whose processes have ended; what is known is said of them elsewhere."""
        ended = {pid: name for pid, name in self.names.items() if pid not in known and not heap_page.is_alive(pid)}
        for name, times in Counter(ended.values()).items():
            yield (
                f"{name}{often(times)} ran without a page of the meter, as after a raw system call: what it allocated "
                "is not counted, or counts as its parent's"
            )


def describe_unmetered(pids: Iterable[int]) -> Iterator[str]:
    """One sentence, if there are any."""
    if numbers := sorted(pids):
        yield f"still running, and not under the heap meter: {', '.join(map(describe_unseen, numbers))}"


def deep_forks(tree: ProcessTree) -> Iterator[str]:
    """A sentence for each program whose own blocks are not told from those that it inherited."""
    deep = {one.page.program: None for one in tree.programs if one.page.forks > heap_page.MOST_FORKS}
    for name in deep:
        yield f"{name} forked more than {heap_page.MOST_FORKS} times in a row: some inherited blocks count as its own"


def most_of_one(tree: ProcessTree, field: str) -> dict[str, int]:
    """Of each program, by name, how many libraries a process of it loaded in that way; those with none are left out."""
    most: dict[str, int] = {}
    for page in (program.page for program in tree.programs):
        most[page.program] = max(most.get(page.program, 0), getattr(page, field))
    return {name: count for name, count in most.items() if count}


def libraries(count: int) -> str:
    return f"{count:,} {'library' if count == 1 else 'libraries'}"


def why_not_attachable(pid: int) -> str:
    """Why a process has no page, as a predicate."""
    program = Path(f"/proc/{pid}/exe")
    reason = why_not_loadable(program)
    if own := own_allocator(program):
        return f"cannot be measured by the heap meter, which does not see its allocator ({own})"
    if reason:
        return f"cannot run under the heap meter: {reason}"
    way_out = "start it with: tools/tls-memtest heap run -- COMMAND"
    return f"was not started under the heap meter, and cannot be attached to later; {way_out}"


def attach_tree(pid: int) -> ProcessTree:
    """The tree of a process that runs under the meter, without those that had ended before; raises UserError."""
    if not heap_page.is_alive(pid):
        raise UserError(f"{pid}: there is no such process")
    page = None
    try:
        page = heap_page.mapped_page(pid)
        if not page:
            raise UserError(f"{pid} {why_not_attachable(pid)}")
        heap_page.OpenPage(pid, page).close()
    except PermissionError:
        raise UserError(f"{pid}: it is another user's process; only that user and root may read its memory") from None
    except (heap_page.NotHeapPage, OSError) as error:
        what = getattr(error, "strerror", None) or error
        raise UserError(f"{page or pid}: not a page of the heap meter: {what}") from None
    dead = {(number, inode) for number, inode in list_pages() if not heap_page.is_alive(number)}
    return ProcessTree(pid, dead)
