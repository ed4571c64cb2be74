"""One run of a configuration: a server is started, asked for each of its certificates, and reloaded, and what its
processes hold is read each time. Call sites are of another run, under heaptrack and in one process."""

import asyncio
import os
import shutil
import signal
import ssl
import tempfile
import time
from dataclasses import dataclass, field
from hashlib import sha256 as digest_sha256
from pathlib import Path
from typing import Any, NamedTuple

from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.live.cgroup import MemoryGroup
from tlsmem.live.clients import Clients
from tlsmem.live.network import Network
from tlsmem.live.running_server import LIMIT_S, RunningServer, moments, read_status, sum_malloc
from tlsmem.live.servers import Program, ServerError, Setup, configuration_sha256
from tlsmem.live.settings import Varied, list_names, read_certificate
from tlsmem.monitor import rss_parts
from tlsmem.profile.capture.heaptrack_interpreter import interpret
from tlsmem.profile.capture.profilers import PROFILERS
from tlsmem.profile.errors import CaptureFailed, Unreadable
from tlsmem.profile.heap_profile import PEAK
from tlsmem.profile.open_profile import open_profile
from tlsmem.run.provenance import describe_making, sha256
from tlsmem.schema.configuration_records import (
    SCHEMA,
    ConfigurationMeter,
    ConfigurationPhase,
    ConfigurationRecord,
    HeapSite,
    ProcessMemory,
    configuration_key,
)
from tlsmem.schema.machine import read_machine
from tlsmem.schema.run_origins import Machine

PROTOCOL = "TLSv1.3"
MOST_CONNECTIONS = 1_000  # that the server is configured for, whatever else it has
RELOADS = 2
RELOAD_SIGNAL = {"nginx": signal.SIGHUP, "haproxy": signal.SIGUSR2}
MOST_ASKED = 1_000  # names
MOST_SITES = 300
INTERPRET_S = 300.0
PRELOAD = "lib/heaptrack/libheaptrack_preload.so"  # beside the directory that heaptrack is in


class ConfigurationRun(NamedTuple):
    """What is asked for."""

    varied: Varied
    meter: ConfigurationMeter

    def __str__(self) -> str:
        one = self.varied
        on = f" on {one.server.stack}" if one.server.stack else ""
        kind = f" {one.kind}" if one.kind else ""
        return f"{one.server.name}{on} {one.setting.name}{kind} {one.size:,} {self.meter}"


class Findings:
    """What a run has found so far."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.phases: list[ConfigurationPhase] = []
        self.sites: list[HeapSite] = []
        self.certificates_seen = 0


def measure_configuration(run: ConfigurationRun, program: Program, findings: Findings) -> None:
    """Make the run. Raises ServerError with a sentence."""
    if run.meter == "sites":
        findings.sites += profile_sites(run.varied, program)
        return
    server = run.varied.server._replace(configure=run.varied.configure)
    with (
        Network() as network,
        MemoryGroup("server") as held,
        MemoryGroup("client") as own,
        RunningServer(server, program, run.meter, MOST_CONNECTIONS, PROTOCOL, network, held) as started,
    ):
        end_phase("started", started, findings)
        if run.varied.setting.name == "certificates":
            with Clients(network, own, 1) as clients:
                findings.certificates_seen = ask_for_names(run.varied, started, clients)
            end_phase("each name asked for", started, findings)
        for number in range(1, RELOADS + 1):
            reload(started)
            end_phase(f"reload {number}", started, findings)


def end_phase(name: str, server: RunningServer, findings: Findings) -> None:
    """Wait until the server is at rest, and read."""
    server.settle()
    processes = [read_process(server, pid) for pid in server.pids()]
    processes.sort(key=lambda one: one.process)
    ended_s = round(time.monotonic() - findings.begin, 2)
    findings.phases.append(ConfigurationPhase(phase=name, ended_s=ended_s, processes=processes))


def read_process(server: RunningServer, pid: int) -> ProcessMemory:
    """Return what one process holds. Raises ServerError where it has ended."""
    heap: dict[str, Any] = {}
    if server.tree:
        page = server.tree.current[pid].page
        total = page.roles["total"]
        heap = {
            "live_bytes": total.live_bytes,
            "live_blocks": total.live_blocks,
            "own_live_bytes": page.private_live[0],
            "mapped_bytes": page.mapped.private,
            "mapped_shared_bytes": page.mapped.shared,
        }
    else:
        heap = {"malloc": sum_malloc(rss_parts.walk_heaps([pid]))}
    try:
        status, shares = read_status(pid), read_shares(pid)
    except OSError:
        raise ServerError(f"{server.server.name}: a process of it ended while it was read") from None
    return ProcessMemory(
        process="master" if pid == server.process.pid else "worker",
        rss_anon_bytes=status["RssAnon"],
        rss_shmem_bytes=status["RssShmem"],
        pss_anon_bytes=shares["Pss_Anon"],
        page_table_bytes=status["VmPTE"],
        **heap,
    )


def read_shares(pid: int) -> dict[str, int]:
    """Return the sizes in /proc/PID/smaps_rollup, in bytes."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}


def ask_for_names(varied: Varied, server: RunningServer, clients: Clients) -> int:
    """Complete a handshake for each name; return how many there were. Raises ServerError where the server answers with
    another certificate than the name's: then it has not loaded as many as the run says."""
    names = list_names(min(varied.size, MOST_ASKED))
    clients.call(
        "configure", port=server.ports.tls, root=None, protocol=PROTOCOL, limit_s=LIMIT_S, descriptors=MOST_CONNECTIONS
    )
    (client,) = clients.processes
    found = client.call("fetch_certificates", names=names)
    for name, sent in zip(names, found, strict=True):
        if sent != digest_leaf(read_certificate(name, varied.kind)):
            raise ServerError(f"{varied.server.name} answered {name} with another certificate than that of the name")
    return len(names)


def digest_leaf(chain: str) -> str:
    """Return the SHA-256 of the first certificate of a PEM file."""
    end = "-----END CERTIFICATE-----"
    first = chain[: chain.index(end) + len(end)]
    return digest_sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()


def reload(server: RunningServer) -> None:
    """Have the server read its configuration again, and wait until new workers alone run. Raises ServerError."""
    before = set(server.pids()) - {server.process.pid}
    os.kill(server.process.pid, RELOAD_SIGNAL[server.server.name])
    for _ in moments(LIMIT_S):
        server.check_alive()
        workers = set(server.pids()) - {server.process.pid}
        if workers and not workers & before and server.network.listens(server.ports.tls):
            return
    raise ServerError(f"{server.server.name} was not reloaded within {LIMIT_S:.0f} s: {server.last_words()}")


def find_preload() -> Path:
    """Return the library by which heaptrack sees a program. Raises ServerError where it is not installed."""
    program = shutil.which("heaptrack")
    if not program:
        raise ServerError("heaptrack is not installed: apt install heaptrack")
    found = Path(program).resolve().parents[1] / PRELOAD
    if not found.is_file():
        raise ServerError(f"heaptrack: its library is not there, {found}: install heaptrack again, whole")
    return found


def profile_sites(varied: Varied, program: Program) -> list[HeapSite]:
    """Return the call sites of the server in one process when it holds most, which is once it has read its
    configuration. Raises ServerError."""
    with tempfile.TemporaryDirectory(prefix="memtest-sites.") as folder:
        raw, file = Path(folder) / "raw", Path(folder) / "heaptrack.zst"
        prefix = ("env", f"LD_PRELOAD={find_preload()}", f"DUMP_HEAPTRACK_OUTPUT={raw}")
        server = varied.server._replace(configure=varied.configure_alone, prefix=prefix)
        with (
            Network() as network,
            MemoryGroup("server") as held,
            RunningServer(server, program, "rss", MOST_CONNECTIONS, PROTOCOL, network, held) as started,
        ):
            started.settle()
        try:
            asyncio.run(interpret(varied.server.name, raw, file, INTERPRET_S))
            profile = open_profile(file)
        except (CaptureFailed, Unreadable, OSError) as error:
            raise ServerError(f"call sites: {error}") from None
        found = profile.call_sites(PEAK)[:MOST_SITES]
    return [  # without lines, which are of one version
        HeapSite(callers=[frame.function or "?" for frame in one.callers], bytes=one.bytes, blocks=one.blocks or 0)
        for one in found
    ]


def read_meter_version(meter: ConfigurationMeter) -> str | None:
    """Return the SHA-256 of the heap meter, or heaptrack's version. Raises ServerError where there is no heaptrack."""
    if meter == "sites":
        try:
            return PROFILERS["heaptrack"].version()
        except CaptureFailed as error:
            raise ServerError(str(error)) from None
    return sha256(ROOT / HEAP_METER) if meter == "heap" else None


@dataclass(frozen=True)
class ConfigurationProvenance:
    """What the runs of one server share."""

    program: Program
    machine: Machine = field(default_factory=read_machine)

    def declared(self, run: ConfigurationRun) -> dict[str, Any]:
        """Return the fields of the record that are known before the run."""
        varied, meter = run.varied, run.meter
        fields = {
            "schema": SCHEMA,
            "server": varied.server.name,
            "reported": self.program.reported,
            "program_sha256": self.program.sha256,
            "configuration_sha256": digest_varied(run),
            "tls_library": self.program.tls_library,
            "stack": varied.server.stack,
            "setting": varied.setting.name,
            "kind": varied.kind,
            "size": varied.size,
            "meter": meter,
            "meter_version": read_meter_version(meter),
            "machine": self.machine.model_dump(),
        }
        return fields | {"key": configuration_key(fields)}

    def record(
        self, run: ConfigurationRun, findings: Findings, started_at: str, elapsed_ns: int, reason: str | None
    ) -> ConfigurationRecord:
        """Return the record of a run that was made; `reason`: why it failed."""
        return ConfigurationRecord.model_validate(
            self.declared(run)
            | describe_making(started_at, elapsed_ns, reason)
            | {
                "certificates_seen": findings.certificates_seen,
                "phases": [phase.model_dump() for phase in findings.phases],
                "sites": [site.model_dump() for site in findings.sites],
            }
        )


def digest_varied(run: ConfigurationRun) -> str:
    """Return the SHA-256 of the configuration that a run's server gets."""
    configure = run.varied.configure_alone if run.meter == "sites" else run.varied.configure
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(Path(folder), run.varied.server.ports, MOST_CONNECTIONS, PROTOCOL)
        arguments = configure(setup)
        return configuration_sha256(Path(folder), arguments)
