"""A real server while it runs: in a network and a memory cgroup of its own, under the heap meter or without it."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tlsmem.live import call_sites
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.child import start_child
from tlsmem.live.network import Network
from tlsmem.live.servers import Program, Server, ServerError, Setup, library_version
from tlsmem.monitor import rss_parts
from tlsmem.monitor.process import preload_value
from tlsmem.monitor.tree import ProcessTree, descendants, list_pages
from tlsmem.run import stale_files
from tlsmem.schema.live_records import LiveMeter, LiveSite, MallocBytes, ManagedBytes, ServerMemory

FOLDER_PREFIX = "memtest-live."  # in /tmp; `memtest-live-` were without a lock
LIMIT_S = 20.0  # to stop, and to come to rest
START_S = 60.0  # under the heap meter a runtime takes its time
MASSIF_START_S, MASSIF_STILL_S = 120.0, 2.0  # under massif, where a process takes a second to end
SIZES = ("VmRSS", "RssAnon", "VmPTE", "VmHWM")  # of /proc/PID/status
COLLECTED = "collected\n"  # what harness-go/server says
FREE_SIZES = 8  # that take most bytes


class ProcessesChanged(ServerError):
    """A process has ended or begun while all were read, so there is no sum."""


class RunningServer:
    """`with RunningServer(server, meter, most, protocol, network, group) as running`."""

    def __init__(
        self,
        server: Server,
        program: Program,
        meter: LiveMeter,
        most: int,
        protocol: str,
        network: Network,
        group: MemoryGroup,
        ktls: bool = False,
        mutual: bool = False,
    ) -> None:
        self.ktls, self.mutual = ktls, mutual
        self.server, self.meter, self.network, self.group = server, meter, network, group
        self.most, self.protocol, self.program = most, protocol, program
        self.tree: ProcessTree | None = None
        self.snapshots: dict[str, dict[int, Path]] = {}

    def __enter__(self) -> "RunningServer":
        folder, self.lock = stale_files.make_locked(lambda: Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX)))
        self.folder = folder
        folder.chmod(0o755)  # a worker that gave its rights up reads its files
        self.ports = self.server.ports
        setup = Setup(folder, self.ports, self.most, self.protocol, self.ktls, self.mutual)
        words, before = self.server.configure(setup), list_pages()
        # The server alone loads the meter, not the words before it, which may change the user.
        metered = ["env", f"LD_PRELOAD={preload_value()}"] if self.meter == "heap" else []
        try:
            metered += call_sites.make_words(folder) if self.meter == "sites" else []
            if self.server.prepare:
                self.server.prepare(setup)
        except BaseException:
            self.remove_folder()
            raise
        self.log = open(folder / "log", "wb")
        self.process = start_child(
            [*self.network.prefix, *self.server.prefix, *metered, self.program.path, *words],
            signal.SIGTERM,  # by which nginx ends its workers too
            join=self.group.add,
            stdin=subprocess.PIPE if self.server.answers else None,
            stdout=self.log,
            stderr=self.log,
        )
        if self.meter == "heap":
            self.tree = ProcessTree(self.process.pid, before)
        try:
            self.wait_until_it_answers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        pids = self.pids()
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            for pid in pids:  # its own processes, found below the one that we started
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        if self.tree:
            self.tree.poll()
            self.tree.remove_pages(last=True)
        self.log.close()
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove what the run has written."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)

    def wait_until_it_answers(self) -> None:
        """Raises ServerError with the server's own words where it ends, or does not listen in time."""
        if self.server.role == "client":
            self.ask("heap", START_S)
            self.check_library()
            return
        limit_s = MASSIF_START_S if self.meter == "sites" else START_S
        for _ in moments(limit_s):
            self.check_alive()
            if self.network.listens(self.ports.plain) and self.network.listens(self.ports.tls):
                self.check_library()
                return
        raise ServerError(f"{self.server.name} does not listen after {limit_s:.0f} s: {self.last_words()}")

    def check_alive(self) -> None:
        """Raises ServerError with its last words where it has ended."""
        if self.process.poll() is not None:
            raise ServerError(f"{self.server.name} ended with {self.process.returncode}: {self.last_words()}")

    def wait_for_end(self, limit_s: float) -> None:
        """Raises ServerError with its last words where it ends within the time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(limit_s)
        self.check_alive()

    def last_words(self) -> str:
        lines = Path(self.log.name).read_text(errors="replace").split("\n")
        said = [line for line in lines if line.strip()]
        return said[-1].strip() if said else "it said nothing"

    def pids(self) -> list[int]:
        """Return the processes of the server that run."""
        return sorted({self.process.pid, *descendants(self.process.pid)})

    def read_memory(self) -> ServerMemory:
        """Return what its processes hold now. Raises ProcessesChanged where one ends or begins meanwhile."""
        self.check_alive()
        pids = self.pids()
        try:
            status = [read_status(pid) for pid in pids]
            totals = {name: sum(one[name] for one in status) for name in SIZES}
        except (OSError, KeyError):  # what has ended has no sizes
            raise ProcessesChanged(f"{self.server.name}: processes of it end and begin") from None
        live_bytes = live_blocks = None
        if self.tree:
            self.tree.poll()
            if {program.page.pid for program in self.tree.current.values()} != set(pids):
                raise ProcessesChanged(f"{self.server.name}: a process of it is not under the heap meter")
            private = [program.page.private_live for program in self.tree.current.values()]  # inherited: once
            live_bytes, live_blocks = (sum(parts) for parts in zip(*private, strict=True))
        return ServerMemory(
            processes=len(pids),
            rss_bytes=totals["VmRSS"],
            rss_anon_bytes=totals["RssAnon"],
            page_table_bytes=totals["VmPTE"],
            peak_rss_bytes=totals["VmHWM"],
            live_bytes=live_bytes,
            live_blocks=live_blocks,
        )

    def read_malloc(self) -> MallocBytes | None:
        """Return what glibc's malloc holds in its processes; None under the heap meter, which has bytes of its own, and
        where a process allocates in another way."""
        return None if self.meter != "rss" else sum_malloc(rss_parts.walk_heaps(self.pids()))

    def read_resident(self) -> tuple[int, int]:
        """Return the anonymous memory of its processes, and their page tables. Raises OSError where one ends."""
        status = [read_status(pid) for pid in self.pids()]
        return sum(one["RssAnon"] for one in status), sum(one["VmPTE"] for one in status)

    def ask(self, command: str, limit_s: float = LIMIT_S) -> Any:
        """Send a line to a program that answers, and return what it says to that, from JSON. Raises ServerError with
        its last words where it ends, answers in another way, or does not within the time."""
        assert self.process.stdin
        log, name = Path(self.log.name), command.split()[0]
        begin = log.stat().st_size
        with contextlib.suppress(BrokenPipeError):  # it has ended, as `check_alive` says
            print(command, file=self.process.stdin, flush=True)
        limit_s = MASSIF_START_S if self.meter == "sites" else limit_s
        for _ in moments(limit_s):
            said = log.read_bytes()[begin:].decode(errors="replace")
            found = re.search(rf"^(failed|{name}) (.*)\n", said, re.MULTILINE)
            if found:
                try:
                    answer = json.loads(found[2])
                except ValueError:
                    raise ServerError(f"{self.server.name} answered {found[2]!r} to `{command}`") from None
                if found[1] == "failed":
                    raise ServerError(f"{self.server.name} failed at `{command}`: {answer}")
                return answer
            self.check_alive()
        raise ServerError(f"{self.server.name} did not answer `{command}` within {limit_s:.0f} s: {self.last_words()}")

    def read_managed(self) -> ManagedBytes | None:
        """Return what a program of a managed runtime says of its heap; None for other servers. Raises ServerError where
        it says something else."""
        if not self.server.answers:
            return None
        answer = self.ask("heap")
        try:
            return ManagedBytes.model_validate(answer)
        except ValidationError:
            raise ServerError(f"{self.server.name} answered {answer!r} to `heap`") from None

    def take_snapshot(self, name: str) -> None:
        """Have massif write what is live in each process. Raises ServerError."""
        self.snapshots[name] = call_sites.take_snapshots(self.folder, self.pids(), name)

    def find_sites(self, before: str, after: str) -> list[LiveSite]:
        """Return which call sites hold what was added from one snapshot to the other. Raises ServerError."""
        return call_sites.find_sites(self.snapshots[before], self.snapshots[after], self.process.pid)

    def collect(self) -> None:
        """Have it collect its garbage and return free pages to the OS, and wait until it has. Raises ServerError."""
        if self.server.answers:
            self.ask("collect")
            return
        before = Path(self.log.name).read_text(errors="replace").count(COLLECTED)
        self.process.send_signal(signal.SIGUSR1)
        for _ in moments(LIMIT_S):
            self.check_alive()
            if Path(self.log.name).read_text(errors="replace").count(COLLECTED) > before:
                return
        raise ServerError(f"{self.server.name} did not collect its garbage within {LIMIT_S:.0f} s")

    def settle(self) -> ServerMemory:
        """Return what it holds once that has not changed for a while. Raises ServerError where it goes on changing."""
        last, since = None, time.monotonic()
        still_s = max(self.server.still_s, MASSIF_STILL_S if self.meter == "sites" else 0)
        why = f"{self.server.name} did not come to rest within {LIMIT_S:.0f} s"
        for _ in moments(LIMIT_S + still_s):
            try:
                now = self.read_memory()
            except ProcessesChanged as error:
                last, why = None, str(error)
                continue
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > still_s:
                return now
        raise ServerError(why)

    def check_library(self) -> None:
        """Raise ServerError where the process has loaded another libcrypto than its program was to load: none, where it
        was built on a stack's library, which is in the program."""
        maps = []
        for pid in self.pids():
            with contextlib.suppress(OSError):  # it has ended
                maps += Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/libcrypto.so" in line}
        loaded = {library_version(Path(file)) for file in files}
        is_static = self.server.stack or self.server.library
        expected = None if is_static else self.program.tls_library
        if loaded != {expected} - {None}:
            raise ServerError(
                f"{self.server.name} runs with {' and '.join(sorted(loaded)) or 'no libcrypto'}, not with "
                f"{expected or 'the library that it was built on'}"
            )


def sum_malloc(heaps: Iterable[Mapping[str, Any]]) -> MallocBytes | None:
    """Return what heapwalk says of several processes, added up; None where one was not divided."""
    heaps, free_sizes = list(heaps), Counter[int]()
    if not all("used" in heap for heap in heaps):
        return None
    for heap in heaps:
        free_sizes.update({int(size): chunks for size, chunks in heap["free_sizes"].items()})
    largest = sorted(free_sizes.items(), key=lambda one: (-one[0] * one[1], one[0]))[:FREE_SIZES]

    def total(unit: str, *parts: str) -> int:
        return sum(heap[part][unit] for heap in heaps for part in parts)

    return MallocBytes(
        chunks=total("chunks", "used", "mmapped"),
        chunk_bytes=total("bytes", "used", "mmapped"),
        chunk_resident_bytes=total("resident_bytes", "used", "mmapped"),
        free_resident_bytes=total("resident_bytes", "free", "cached"),
        free_sizes=dict(largest),
    )


def moments(limit_s: float) -> Iterator[None]:
    """Yield until the time is up."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        yield
        time.sleep(0.02)


def read_status(pid: int) -> dict[str, int]:
    """Return the sizes in /proc/PID/status, in bytes."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}
