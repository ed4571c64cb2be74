"""Records of live runs: what the processes of a real server, and the kernel for both ends, hold phase by phase.

They are kept in RECORDING/live/SERVER.jsonl, one run a line, sealed or not. Sizes are bytes. See
docs/reference/records.md."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, NonNegativeFloat, ValidationError

from tlsmem.schema import append_records
from tlsmem.schema.checksum import add_checksum, matches_checksum, remove_checksum
from tlsmem.schema.harness_output import Model, NonNegativeInt, PositiveInt, describe_error
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.recording_files import PLAIN, RESTORE, list_files, read_lines
from tlsmem.schema.run_origins import Machine, Sha256

FOLDER = "live"
SCHEMA = 4
CHECKSUMS_SINCE = 3  # the schema from which on a line ends in its checksum
Protocol = Literal["TLSv1.2", "TLSv1.3"]
LiveMeter = Literal["rss", "heap", "sites"]
HeldBy = Literal["TLS", "cryptography", "server", "unknown"]
Transport = Literal["plain", "tls"]
Role = Literal["server", "client"]


class KernelBytes(Model):
    """What the kernel holds for one end: a memory cgroup's kernel memory, and the buffers of TCP."""

    kernel_bytes: NonNegativeInt
    tcp_bytes: NonNegativeInt


class ServerMemory(Model):
    """The server's processes, added up. `live_bytes` and `live_blocks` under the heap meter only."""

    processes: PositiveInt
    rss_bytes: NonNegativeInt
    rss_anon_bytes: NonNegativeInt
    page_table_bytes: NonNegativeInt
    peak_rss_bytes: NonNegativeInt  # the sum of each process's highest RSS so far
    live_bytes: NonNegativeInt | None = None
    live_blocks: NonNegativeInt | None = None


class MallocBytes(Model):
    """What glibc's malloc holds in the server's processes, chunk by chunk: those in use, with what malloc adds to each;
    how much of them, and of free and cached ones, is resident; and how many free chunks there are of the sizes that
    take most. In runs of before 26 November 2026 it is the main arena alone, without chunks that have a mapping of
    their own, and cached chunks count as in use."""

    chunks: NonNegativeInt
    chunk_bytes: NonNegativeInt
    chunk_resident_bytes: NonNegativeInt
    free_resident_bytes: NonNegativeInt
    free_sizes: dict[PositiveInt, PositiveInt]


class ManagedBytes(Model):
    """What a managed runtime says of its heap: bytes in use, garbage included that was not collected, and bytes that it
    took from the OS for it; `parts` are further figures of the runtime, which may lie outside the heap."""

    used_bytes: NonNegativeInt
    committed_bytes: NonNegativeInt
    parts: dict[str, NonNegativeInt] = Field(default={})


class LivePhase(Model):
    """The end of a phase, once the server is at rest. `malloc` since schema 2, of runs without the heap meter; None
    where a process has a heap that heapwalk does not divide. `managed`: of programs of a managed runtime."""

    phase: str
    ended_s: NonNegativeFloat  # since the run began
    connections: NonNegativeInt  # that are open
    server: ServerMemory
    server_kernel: KernelBytes
    client_kernel: KernelBytes
    malloc: MallocBytes | None = None
    managed: ManagedBytes | None = None


class Samples(Model):
    """What the server held over time: one list each, as long as the others. `user_bytes`: anonymous memory and page
    tables of its processes; `kernel_bytes`: of its memory cgroup, without the page tables."""

    elapsed_s: list[NonNegativeFloat]
    user_bytes: list[NonNegativeInt]
    kernel_bytes: list[NonNegativeInt]


class LiveVariant(NamedTuple):
    """How connections over TLS are made: which version, whether clients have certificates, whether sessions are
    resumed."""

    protocol: str = "TLSv1.3"
    mutual: bool = False
    resumed: bool = False

    def describe(self) -> str:
        """Return it in words: `TLSv1.2, mutual, resumed`."""
        return self.protocol + ", mutual" * self.mutual + ", resumed" * self.resumed


USUAL = LiveVariant()


class LiveSite(Model):
    """Bytes that all connections of a run have added at one call site, and what they are: of TLS, of cryptography that
    no TLS code called, or the server's own. `callers` of the allocator, innermost first, or none of many small call
    sites; `library` of TLS, where it is one."""

    bytes: int
    held_by: HeldBy
    library: str | None
    callers: list[str]


class LiveRecord(Model):
    """One run of one server: so many connections, at most `window` of them in the handshake at a time.

    In a run whose `role` is client, a program of memtest/runtimes.toml connects to the Go server of this repository:
    what is said of the server is of the program, `client_kernel` is of the Go server."""

    schema_: Literal[1, 2, 3, 4] = Field(alias="schema")
    key: str = Field(pattern="^[0-9a-f]{16}$")
    server: str
    reported: str  # the server's own version
    program_sha256: Sha256
    configuration_sha256: Sha256
    tls_library: str | None  # that the server's process has loaded, or was built on, in its own words
    stack: str | None = None  # whose library it was built on, from source; since schema 4. None: as it is packaged
    role: Role = "server"
    transport: Transport
    meter: LiveMeter
    meter_sha256: Sha256 | None
    connections: PositiveInt
    window: PositiveInt
    full_bytes: PositiveInt | None  # of a body each way; None: the server's own configuration answered GET / alone
    hollow: bool  # clients dropped their state of TLS once connected, and asked for nothing
    ktls: bool = False  # the kernel encrypts for the server
    protocol: Protocol | None = None  # that was asked for; None: TLS 1.3, or what a configuration of its own says
    mutual: bool = False  # the server asked each client for a certificate, and got one
    resumed: bool = False  # each connection resumed a session by its ticket
    client_processes: PositiveInt
    idle_s: NonNegativeFloat
    settle_s: NonNegativeFloat
    negotiated: dict[str, str] | None  # protocol and cipher
    cgroup_version: Literal[1, 2]
    commit: str
    dirty: bool
    machine: Machine
    started_at: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    elapsed_ns: NonNegativeInt
    status: Literal["measured", "failed"]
    reason: str | None
    phases: list[LivePhase]
    samples: Samples
    sites: list[LiveSite] | None = None  # of meter sites, at `idle`: it ran under massif, whose RSS is no server's

    @property
    def scenario(self) -> str:
        """What a manifest counts the run as."""
        return FOLDER

    @property
    def variant(self) -> LiveVariant:
        """How its connections were made."""
        return LiveVariant(self.protocol or USUAL.protocol, self.mutual, self.resumed)

    def to_json_line(self) -> bytes:
        """Return the line of a recording: JSON with its checksum, from schema 3 on, and a newline."""
        text = self.model_dump_json(by_alias=True).encode()
        return (add_checksum(text) if self.schema_ >= CHECKSUMS_SINCE else text) + b"\n"


KEY_FIELDS = (
    "server",
    "reported",
    "program_sha256",
    "configuration_sha256",
    "tls_library",
    "transport",
    "meter",
    "meter_sha256",
    "connections",
    "window",
    "hollow",
    "cgroup_version",
)
LATER_KEY_FIELDS = ("ktls", "stack", "protocol", "mutual", "resumed")


def live_key(fields: dict[str, Any]) -> str:
    """Return what identifies a run: the first 16 digits of a SHA-256 of what is declared before it."""
    declared = {name: fields[name] for name in KEY_FIELDS} | {"cpus": fields["machine"]["cpus"]}
    declared |= {name: fields[name] for name in LATER_KEY_FIELDS if fields.get(name)}  # old runs keep their keys
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:16]


def append_live(recording: Path, record: LiveRecord) -> None:
    """Append one run and wait until it is on the disk. Raises UserError when the line cannot be written."""
    append_records.append_line(recording / FOLDER, f"{record.server}{PLAIN}", record.to_json_line())


def load_live(recording: Path) -> list[LiveRecord]:
    """Return the live runs of a recording, in the order of their files; none where it has none.

    Raises BadRecording with file and line where a line is no such record."""
    folder = recording / FOLDER
    list_files(recording)  # raises where the recording itself cannot be read
    return [run for file in list_files(folder) for run in load_live_file(file)] if os.path.isdir(folder) else []


def load_live_file(file: Path) -> list[LiveRecord]:
    """Return the runs of one file. Raises BadRecording as `load_live` does."""
    return [parse_live(line, f"{file}: line {number}") for number, line in read_lines(file)]


def parse_live(line: bytes, where: str) -> LiveRecord:
    """Return the run of a line without its newline. Raises BadRecording, with a sentence that begins with `where`."""
    unchanged = matches_checksum(line)
    if unchanged is False:
        raise BadRecording(f"{where} was changed after it was recorded: its checksum does not match; {RESTORE}")
    try:
        run = LiveRecord.model_validate_json(remove_checksum(line) if unchanged else line)
    except ValidationError as error:
        raise BadRecording(f"{where}: {describe_error(error)}") from None
    if unchanged is None and run.schema_ >= CHECKSUMS_SINCE:
        raise BadRecording(f"{where} was changed after it was recorded: it does not end in its checksum; {RESTORE}")
    if unchanged and run.schema_ < CHECKSUMS_SINCE:
        raise BadRecording(f"{where} was changed after it was recorded: its schema has no checksum; {RESTORE}")
    check_phases(run, where)
    return run


def check_phases(run: LiveRecord, where: str) -> None:
    """Raise BadRecording where a run's figures cannot be: live heap without a meter, or phases out of order."""
    metered = {phase.server.live_bytes is not None for phase in run.phases}
    if metered - {run.meter == "heap"}:
        raise BadRecording(f"{where}: a run under the {run.meter} meter has live heap or lacks it")
    ends = [phase.ended_s for phase in run.phases]
    if ends != sorted(ends):
        raise BadRecording(f"{where}: its phases do not end one after the other")
    if len({len(times) for times in (run.samples.elapsed_s, run.samples.user_bytes, run.samples.kernel_bytes)}) != 1:
        raise BadRecording(f"{where}: its samples are not as many of each kind")
    if run.status == "measured" and (not run.phases or run.reason):
        raise BadRecording(f"{where}: measured, but without phases or with a reason for failing")
