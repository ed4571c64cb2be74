"""Processes under the heap meter: started by us, or found running."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tlsmem.run import heap_page, heap_tree
from tlsmem.run.preload import HEAP_METER, ROOT

PR_SET_CHILD_SUBREAPER = 36
SI_KERNEL = 0x80  # a terminal's own signals: its foreground processes have got them already
PASSED = {signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2}
SIGNALS = PASSED | {signal.SIGCHLD}
NO_PRELOAD = "a program that is statically linked, set-user-ID or of another architecture ignores LD_PRELOAD"


class MeteredCommand:
    """A command that was started under the meter, and its tree.

    Its orphans become our children, so that all of the tree can be told from other processes."""

    def __init__(self, words: list[str]) -> None:
        self.words, self.status = words, 0
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        before, mask = heap_tree.list_pages(), signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            process = subprocess.Popen(
                words,
                env=os.environ | {"LD_PRELOAD": preload_value()},
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
            )
        except OSError as error:
            sys.exit(f"memtest: {words[0]}: {error.strerror}")
        self.pid, process.returncode = process.pid, 0  # it is we who wait for it
        self.tree = heap_tree.ProcessTree(process.pid, before)

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

    def remarks(self) -> Iterator[str]:
        """What a reader of the summary must know."""
        if not any(program.page.pid == self.pid for program in self.tree.programs):
            yield f"{self.words[0]} was never under the heap meter: {reason(self.words[0])}"
        if left := sorted(self.tree.current):
            numbers = " ".join(map(str, left))
            yield f"still running, and under the meter: {numbers} (tools/heap.py {left[0]} goes on watching)"


def preload_value() -> str:
    meter = ROOT / HEAP_METER
    if not meter.exists():
        sys.exit(f"memtest: {HEAP_METER} is not there: run `make core` in the repository")
    return " ".join(filter(None, (str(meter), os.environ.get("LD_PRELOAD"))))


def reason(command: str) -> str:
    """Why the loader did not take the meter along, as far as the file tells."""
    try:
        file = Path(shutil.which(command) or command)
        mode, head = file.stat().st_mode, file.read_bytes()
    except OSError:
        return NO_PRELOAD
    if mode & 0o6000:
        return "it is set-user-ID or set-group-ID, and the loader then ignores LD_PRELOAD"
    if head[:5] == b"\x7fELF\x02" and b"ld-linux" not in head[:8192] and b"ld-musl" not in head[:8192]:
        return "it is statically linked, and LD_PRELOAD is the dynamic loader's"
    return NO_PRELOAD


def attach_tree(pid: int) -> heap_tree.ProcessTree:
    """The tree of a process that runs under the meter, without those that had ended before; exits with a sentence."""
    if not heap_page.is_alive(pid):
        sys.exit(f"memtest: {pid}: there is no such process")
    page = heap_page.page_path(pid)
    try:
        heap_page.OpenPage(pid).close()
        mapped = str(page) in Path(f"/proc/{pid}/maps").read_text(errors="replace").split()
    except FileNotFoundError:
        mapped = False
    except PermissionError:
        sys.exit(f"memtest: {pid}: it is another user's process; only that user and root may read its page {page}")
    except (heap_page.NotHeapPage, OSError) as error:
        sys.exit(f"memtest: {page}: not a page of the heap meter: {getattr(error, 'strerror', None) or error}")
    if not mapped:
        way_out = "start it with: tools/heap.py -- COMMAND"
        sys.exit(f"memtest: {pid} was not started under the heap meter, and cannot be attached to later; {way_out}")
    dead = {(number, inode) for number, inode in heap_tree.list_pages() if not heap_page.is_alive(number)}
    return heap_tree.ProcessTree(pid, dead)
