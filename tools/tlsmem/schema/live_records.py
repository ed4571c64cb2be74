"""Records of live runs: what the processes of a real server, and the kernel for both ends, hold phase by phase.

They are kept in RECORDING/live/SERVER.jsonl, one run a line, sealed or not. Sizes are bytes. See
docs/reference/records.md."""

import fcntl
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from tlsmem.schema import append_records
from tlsmem.schema.harness_output import Model, describe_error
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.recording_files import PLAIN, SEALED, read_lines
from tlsmem.schema.run_origins import Machine, Sha256

FOLDER = "live"
SCHEMA = 1
LiveMeter = Literal["rss", "heap"]
Transport = Literal["plain", "tls"]


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
    live_bytes: NonNegativeInt | None = None
    live_blocks: NonNegativeInt | None = None


class LivePhase(Model):
    """The end of a phase, once the server is at rest."""

    phase: str
    connections: NonNegativeInt  # that are open
    server: ServerMemory
    server_kernel: KernelBytes
    client_kernel: KernelBytes


class LiveRecord(Model):
    """One run of one server: so many connections, at most `window` of them in the handshake at a time."""

    schema_: Literal[1] = Field(alias="schema")
    key: str = Field(pattern="^[0-9a-f]{16}$")
    server: str
    reported: str  # the server's own version
    program_sha256: Sha256
    configuration_sha256: Sha256
    tls_library: str | None  # that the server's process has loaded, in its own words
    transport: Transport
    meter: LiveMeter
    meter_sha256: Sha256 | None
    connections: PositiveInt
    window: PositiveInt
    full_bytes: PositiveInt  # of a body each way
    hollow: bool  # clients dropped their state of TLS once connected, and asked for nothing
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


def live_key(fields: dict[str, Any]) -> str:
    """Return what identifies a run: the first 16 digits of a SHA-256 of what is declared before it."""
    declared = {name: fields[name] for name in KEY_FIELDS} | {"cpus": fields["machine"]["cpus"]}
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:16]


def append_live(recording: Path, record: LiveRecord) -> None:
    """Append one run and wait until it is on the disk. Exits with a sentence when the line cannot be written."""
    folder = recording / FOLDER
    file = folder / f"{record.server}{PLAIN}"
    line = record.model_dump_json(by_alias=True).encode() + b"\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        append_records.refuse_sealed(folder, file)
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            append_records.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        sys.exit(f"{file}: cannot record a run: {error.strerror}; what was recorded before is unchanged")


def load_live(recording: Path) -> list[LiveRecord]:
    """Return the live runs of a recording, in the order of their files; none where it has none.

    Raises BadRecording with file and line where a line is no such record."""
    found = []
    for file in sorted([*(recording / FOLDER).glob(f"*{PLAIN}"), *(recording / FOLDER).glob(f"*{SEALED}")]):
        for number, line in read_lines(file):
            try:
                found.append(LiveRecord.model_validate_json(line))
            except ValidationError as error:
                raise BadRecording(f"{file}: line {number}: {describe_error(error)}") from None
    return found
