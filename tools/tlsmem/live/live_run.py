"""One live run: a server, so many connections, and what both ends hold at the end of each phase.

Its record says where the figures come from. With kernel TLS the kernel is asked for it first, with a real socket, and
afterwards whether every connection used it."""

import contextlib
import errno
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.live.backend import run_backend
from tlsmem.live.cgroup import FIRST, MemoryGroup
from tlsmem.live.clients import Clients, count_processes
from tlsmem.live.network import Network
from tlsmem.live.running_server import RunningServer
from tlsmem.live.servers import CERTS, Program, Server, ServerError, Setup, configuration_sha256
from tlsmem.run.provenance import describe_making, sha256
from tlsmem.schema.live_records import (
    SCHEMA,
    USUAL,
    KernelBytes,
    LiveMeter,
    LivePhase,
    LiveRecord,
    LiveSite,
    LiveVariant,
    Samples,
    Transport,
    live_key,
)
from tlsmem.schema.machine import read_machine
from tlsmem.schema.run_origins import Machine

TCP_ULP = 31  # of Linux: the option that puts a protocol above a TCP socket
COUNTERS = ("TlsTxSw", "TlsTxDevice")  # of /proc/net/tls_stat: connections that the kernel has encrypted for
WAY_OUT = "run it where `modprobe tls` succeeds and OpenSSL is built with enable-ktls"
LIMIT_S = 60.0  # for a server to answer
READY_S, AGAIN_S = 5.0, 0.1  # for a server that listens to take a connection, and between two tries
END_S = 1.0  # a server that ends closes its connections before it is gone
BASE = "started"  # the phase without connections, once the first have come and gone
SAMPLE_S = 0.5  # from one reading of memory over time to the next
WARM_UP = 20  # connections that come and go first: what a server allocates once
SPARE = 200  # descriptors of the clients beside connections
SMALL = "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANY = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
FULL = "GET /full HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n"


class LiveRun(NamedTuple):
    """What is asked for. `window`: how many connections are in the handshake at a time, at most."""

    server: str
    transport: Transport
    meter: LiveMeter
    connections: int
    window: int
    protocol: str = "TLSv1.3"
    waves: int = 3
    idle_s: float = 30.0
    settle_s: float = 15.0
    hollow: bool = False
    ktls: bool = False
    stack: str | None = None  # that the server was built on; None: as it is packaged
    mutual: bool = False  # clients have certificates
    resumed: bool = False  # clients offer the ticket of an earlier session

    def __str__(self) -> str:
        window = "" if self.transport == "plain" else f" window {self.window:,}"
        on = f" on {self.stack}" if self.stack else ""
        variant = LiveVariant(self.protocol, self.mutual, self.resumed)
        over = self.transport if variant == USUAL else variant.describe()
        return f"{self.server}{on} {over} {self.connections:,} connections{window} {self.meter}"


class Timeline:
    """When a run began, what each phase ended with, and what the server held meanwhile."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.phases: list[LivePhase] = []
        self.samples = Samples(elapsed_s=[], user_bytes=[], kernel_bytes=[])
        self.sites: list[LiveSite] | None = None

    def elapsed_s(self) -> float:
        return round(time.monotonic() - self.begin, 2)

    def end_phase(
        self, name: str, measured: RunningServer, groups: tuple[MemoryGroup, MemoryGroup], connections: int
    ) -> None:
        """Wait until what is measured is at rest, and read it and the kernel, for its end and for the other."""
        memory = measured.settle()
        kernels = (KernelBytes(**group.read()._asdict()) for group in groups)
        own, peer = kernels
        malloc, managed = measured.read_malloc(), measured.read_managed()
        self.phases.append(
            LivePhase(
                phase=name,
                ended_s=self.elapsed_s(),
                connections=connections,
                server=memory,
                server_kernel=own,
                client_kernel=peer,
                malloc=malloc,
                managed=managed,
            )
        )

    @contextlib.contextmanager
    def watch(self, server: RunningServer, group: MemoryGroup) -> Iterator[None]:
        """Read the server's memory all the while, without the heap meter: a meter's own memory is none of a server."""
        stop = threading.Event()

        def sample() -> None:
            while not stop.wait(SAMPLE_S):
                with contextlib.suppress(OSError, ValueError, KeyError):  # a process has ended while it was read
                    user, tables = server.read_resident()
                    kernel = group.read()
                    self.samples.elapsed_s.append(self.elapsed_s())
                    self.samples.user_bytes.append(user + tables)
                    self.samples.kernel_bytes.append(max(0, kernel.kernel_bytes + kernel.tcp_bytes - tables))

        thread = threading.Thread(target=sample, daemon=True)  # a signal while it starts must not leave it behind
        try:
            if server.meter == "rss":
                thread.start()
            yield
        finally:
            stop.set()
            if thread.is_alive():
                thread.join()


class Measuring:
    """A server and its clients, taken from phase to phase."""

    def __init__(
        self,
        run: LiveRun,
        server: RunningServer,
        clients: Clients,
        groups: tuple[MemoryGroup, MemoryGroup],
        timeline: Timeline,
    ) -> None:
        self.run, self.server, self.clients = run, server, clients
        self.server_group, self.client_group = groups
        self.timeline = timeline
        self.open = 0
        self.negotiated: dict[str, str] | None = None

    def end_phase(self, name: str) -> None:
        """Wait until the server is at rest, and read."""
        self.timeline.end_phase(name, self.server, (self.server_group, self.client_group), self.open)

    def name_call_sites(self, name: str) -> None:
        """Under massif, keep what is live at this moment; and, once connections have added to it, who holds that."""
        if self.run.meter == "sites":
            self.server.take_snapshot(name)
            if name != BASE:
                self.timeline.sites = self.server.find_sites(BASE, name)

    def configure(self) -> None:
        """Tell the clients whom to connect to."""
        over_tls = self.run.transport == "tls"
        is_own = self.server.server.has_own_certificate
        self.clients.call(
            "configure",
            pinned=over_tls and is_own,
            port=self.server.ports.tls if over_tls else self.server.ports.plain,
            root=str(CERTS / "root.pem") if over_tls and not is_own else None,
            protocol=self.run.protocol,
            limit_s=LIMIT_S,
            descriptors=self.clients.share + SPARE,
            client=self.server.server.client,
            certificate=str(CERTS) if over_tls and self.run.mutual else None,
            resumes=over_tls and self.run.resumed,
        )

    def connect(self, count: int, named: bool = False) -> None:
        """Open so many connections and take them through the handshake, a window at a time: a server may allocate for
        a handshake when it accepts. `named`: with the phases that all connections are in together."""
        window = count if self.run.transport == "plain" else self.run.window
        window = min(window, self.server.server.at_once or window)
        for begin in range(0, count, window):
            end = min(begin + window, count)
            self.clients.connect(begin, end)
            self.open = end
            together = named and end - begin == count
            if together:
                self.end_phase("connected")
            if self.run.transport == "tls":
                self.clients.begin_handshakes(begin, end)
                if together:
                    self.end_phase("half-open")
                self.negotiated = self.clients.finish_handshakes(begin, end)
            if self.server.server.client:
                self.clients.greet(begin, end)

    def await_ready(self) -> None:
        """Open and close one connection as soon as it can be: PostgreSQL listens before it lets anybody in."""
        until = time.monotonic() + (LIMIT_S if self.run.meter == "sites" else READY_S)
        while True:
            try:
                self.connect(1)
                return
            except ServerError:
                if time.monotonic() > until:
                    raise
            finally:
                self.close()
            self.server.check_alive()
            time.sleep(AGAIN_S)

    def exchange(self, full: bool) -> None:
        """Let each connection ask and be answered: one byte, or a full body each way."""
        size = self.server.server.full_bytes
        if size is None and self.server.server.client:
            self.clients.call("ask")
            return
        if size is None:
            self.clients.call("exchange", request=ANY, body_bytes=0, reply_bytes=None)
            return
        text, body, reply = (FULL.format(size), size, size) if full else (SMALL, 0, 1)
        self.clients.call("exchange", request=text, body_bytes=body, reply_bytes=reply)

    def close(self) -> None:
        self.clients.call("close")
        self.open = 0

    def measure(self) -> None:
        """All phases, in order."""
        self.configure()
        self.await_ready()
        self.connect(min(WARM_UP, self.run.connections))
        self.exchange(full=False)
        self.exchange(full=True)
        if self.run.ktls:
            check_use(self.server.network.statistics, min(WARM_UP, self.run.connections))
        self.close()
        if self.server.server.starts_collected:
            self.server.collect()
        self.end_phase(BASE)
        self.name_call_sites(BASE)
        self.connect(self.run.connections, named=True)
        if self.run.hollow:
            self.clients.call("drop_tls")
        self.end_phase("established")
        if not self.run.hollow:
            self.exchange(full=False)
            self.end_phase("one request")
            if self.server.server.full_bytes is not None:
                self.exchange(full=True)
                self.end_phase("full records")
        time.sleep(self.run.idle_s)
        self.end_phase("idle")
        self.name_call_sites("idle")
        if self.server.server.collects:
            self.server.collect()
            self.end_phase("collected")
        self.clients.call("shut_down")
        self.end_phase("half closed")
        close_and_repeat(self)


class Measured(Protocol):
    """What is taken from phase to phase: a server and its clients, or a client."""

    run: LiveRun

    def connect(self, count: int, /) -> None:
        """Open so many connections."""

    def close(self) -> None:
        """Close all."""

    def end_phase(self, name: str, /) -> None:
        """Read, once it is at rest."""


def close_and_repeat(measured: Measured) -> None:
    """Close all connections, and open and close as many again, as often as the run asks for it."""
    measured.close()
    measured.end_phase("closed")
    time.sleep(measured.run.settle_s)
    measured.end_phase("settled")
    for wave in range(1, measured.run.waves + 1):
        measured.connect(measured.run.connections)
        measured.end_phase(f"wave {wave} open")
        measured.close()
        measured.end_phase(f"wave {wave} closed")


def measure(run: LiveRun, server: Server, program: Program, timeline: Timeline) -> dict[str, str] | None:
    """Make a run: a server and its clients, each in a memory cgroup of its own. The timeline grows as phases end.

    Return what was negotiated; None without TLS. Raises ServerError with a sentence."""
    with (
        Network() as network,
        MemoryGroup("server") as held,
        MemoryGroup("client") as own,
        run_backend(server, network),
        RunningServer(
            server, program, run.meter, run.connections, run.protocol, network, held, run.ktls, run.mutual
        ) as started,
        Clients(network, own, run.connections) as clients,
        timeline.watch(started, held),
    ):
        measuring = Measuring(run, started, clients, (held, own), timeline)
        try:
            measuring.measure()
        except ServerError:
            started.wait_for_end(END_S)  # what clients say of a server that has ended is not why
            raise
        return measuring.negotiated


@dataclass(frozen=True)
class LiveProvenance:
    """What the runs of one server share."""

    server: Server
    program: Program
    machine: Machine = field(default_factory=read_machine)

    def declared(self, run: LiveRun) -> dict[str, Any]:
        """Return the fields of the record that are known before the run."""
        fields = {
            "schema": SCHEMA,
            "server": run.server,
            "reported": self.program.reported,
            "program_sha256": self.program.sha256,
            "configuration_sha256": digest_configuration(self.server, run),
            "tls_library": self.program.tls_library,
            "stack": run.stack,
            "role": self.server.role,
            "transport": run.transport,
            "meter": run.meter,
            "meter_sha256": sha256(ROOT / HEAP_METER) if run.meter == "heap" else None,
            "connections": run.connections,
            "window": run.window,
            "full_bytes": self.server.full_bytes,
            "hollow": run.hollow,
            "ktls": run.ktls,
            "protocol": run.protocol if run.protocol != USUAL.protocol else None,
            "mutual": run.mutual,
            "resumed": run.resumed,
            "client_processes": count_processes(run.connections),
            "idle_s": run.idle_s,
            "settle_s": run.settle_s,
            "cgroup_version": 1 if (FIRST / "memory.kmem.usage_in_bytes").exists() else 2,
            "machine": self.machine.model_dump(),
        }
        return fields | {"key": live_key(fields)}

    def record(
        self,
        run: LiveRun,
        timeline: Timeline,
        negotiated: dict[str, str] | None,
        started_at: str,
        elapsed_ns: int,
        reason: str | None,
    ) -> LiveRecord:
        """Return the record of a run that was made; `reason`: why it failed."""
        return LiveRecord.model_validate(
            self.declared(run)
            | describe_making(started_at, elapsed_ns, reason)
            | {
                "negotiated": negotiated,
                "phases": [phase.model_dump() for phase in timeline.phases],
                "samples": timeline.samples.model_dump(),
                "sites": timeline.sites,
            }
        )


def digest_configuration(server: Server, run: LiveRun) -> str:
    """Return the SHA-256 of the configuration that a run's server gets."""
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(Path(folder), server.ports, run.connections, run.protocol, run.ktls, run.mutual)
        arguments = server.configure(setup)
        return configuration_sha256(Path(folder), arguments)


def require_ktls() -> None:
    """Raise ServerError with a sentence where the kernel takes no socket over: it is asked with a connected one."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(listener.getsockname()))
        stack.enter_context(listener.accept()[0])
        try:
            client.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError as error:
            number = error.errno or 0
            said = f"{errno.errorcode.get(number, number)}, {os.strerror(number)}"
            raise ServerError(f"this kernel has no kTLS: setting TCP_ULP to tls gives {said}; {WAY_OUT}") from None


def check_use(statistics: Path, connections: int) -> None:
    """Raise ServerError where the network's connections were not handed to the kernel."""
    counts = dict(line.split() for line in statistics.read_text().splitlines())
    used = sum(int(counts.get(name, 0)) for name in COUNTERS)
    if used < connections:
        raise ServerError(
            f"only {used:,} of {connections:,} connections use kTLS: the server's OpenSSL lacks it; {WAY_OUT}"
        )
