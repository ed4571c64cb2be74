"""Records of configurations: what the processes of a real server hold for its certificates, backends, caches, before
any connection and after reloads.

They are kept in RECORDING/configuration/SERVER.jsonl, one run a line, each with its checksum, sealed or not. Sizes are
bytes. See docs/reference/records.md."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, ValidationError

from tlsmem.schema.append_records import append_line
from tlsmem.schema.checksum import add_checksum, matches_checksum, remove_checksum
from tlsmem.schema.harness_output import Model, NonNegativeInt, PositiveInt, describe_error
from tlsmem.schema.live_records import MallocBytes
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.recording_files import PLAIN, RESTORE, list_files, read_lines
from tlsmem.schema.run_origins import Machine, Sha256

FOLDER = "configuration"
SCHEMA = 1
ConfigurationMeter = Literal["rss", "heap", "sites"]


class ProcessMemory(Model):
    """One process of the server. `pss_anon_bytes`: resident anonymous memory, pages that processes share counted in
    parts. Under the heap meter alone: `live_bytes`, with what was inherited at the fork and is not freed since, and
    `own_live_bytes`, without; `mapped_bytes` and `mapped_shared_bytes`, which it mapped past malloc, resident or not.
    `malloc`: without the meter, where heapwalk divides its heap."""

    process: Literal["master", "worker"]
    rss_anon_bytes: NonNegativeInt
    rss_shmem_bytes: NonNegativeInt
    pss_anon_bytes: NonNegativeInt
    page_table_bytes: NonNegativeInt
    live_bytes: NonNegativeInt | None = None
    live_blocks: NonNegativeInt | None = None
    own_live_bytes: NonNegativeInt | None = None
    mapped_bytes: NonNegativeInt | None = None
    mapped_shared_bytes: NonNegativeInt | None = None
    malloc: MallocBytes | None = None


class ConfigurationPhase(Model):
    """The end of a phase, once the server is at rest: master first."""

    phase: str
    ended_s: NonNegativeFloat
    processes: list[ProcessMemory] = Field(min_length=1)


class HeapSite(Model):
    """What a call site holds when the server holds most: who called the allocator, innermost first."""

    callers: list[str]
    bytes: NonNegativeInt
    blocks: NonNegativeInt


class ConfigurationRecord(Model):
    """One run of one server, whose configuration has so many (`size`) of something (`setting`). `kind`: of keys, where
    the setting has certificates. Runs of the meter `sites` are under heaptrack, in one process."""

    schema_: Literal[1] = Field(alias="schema")
    key: str = Field(pattern="^[0-9a-f]{16}$")
    server: str
    reported: str
    program_sha256: Sha256
    configuration_sha256: Sha256
    tls_library: str | None
    stack: str | None
    setting: str
    kind: str | None
    size: PositiveInt
    meter: ConfigurationMeter
    meter_version: str | None  # SHA-256 of the heap meter, or heaptrack's version
    commit: str
    dirty: bool
    machine: Machine
    started_at: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    elapsed_ns: NonNegativeInt
    status: Literal["measured", "failed"]
    reason: str | None
    certificates_seen: NonNegativeInt  # how many names the server was asked for, and answered with their certificate
    phases: list[ConfigurationPhase]
    sites: list[HeapSite]

    @property
    def scenario(self) -> str:
        """What a manifest counts the run as."""
        return FOLDER

    def to_json_line(self) -> bytes:
        """Return the line of a recording: JSON with its checksum, and a newline."""
        return add_checksum(self.model_dump_json(by_alias=True).encode()) + b"\n"


KEY_FIELDS = (
    "server",
    "reported",
    "program_sha256",
    "configuration_sha256",
    "tls_library",
    "stack",
    "setting",
    "kind",
    "size",
    "meter",
    "meter_version",
)


def configuration_key(fields: dict[str, Any]) -> str:
    """Return what identifies a run: the first 16 digits of a SHA-256 of what is declared before it."""
    declared = {name: fields[name] for name in KEY_FIELDS} | {"cpus": fields["machine"]["cpus"]}
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:16]


def append_configuration(recording: Path, record: ConfigurationRecord) -> None:
    """Append one run and wait until it is on the disk. Raises UserError when the line cannot be written."""
    append_line(recording / FOLDER, f"{record.server}{PLAIN}", record.to_json_line())


def load_configuration(recording: Path) -> list[ConfigurationRecord]:
    """Return the runs of a recording, in the order of their files; none where it has none.

    Raises BadRecording with file and line where a line is no such record."""
    folder = recording / FOLDER
    list_files(recording)  # raises where the recording itself cannot be read
    files = list_files(folder) if os.path.isdir(folder) else []
    return [run for file in files for run in load_configuration_file(file)]


def load_configuration_file(file: Path) -> list[ConfigurationRecord]:
    """Return the runs of one file. Raises BadRecording as `load_configuration` does."""
    return [parse_configuration(line, f"{file}: line {number}") for number, line in read_lines(file)]


def parse_configuration(line: bytes, where: str) -> ConfigurationRecord:
    """Return the run of a line without its newline. Raises BadRecording, with a sentence that begins with `where`."""
    if not matches_checksum(line):
        raise BadRecording(f"{where} was changed after it was recorded: its checksum does not match; {RESTORE}")
    try:
        run = ConfigurationRecord.model_validate_json(remove_checksum(line))
    except ValidationError as error:
        raise BadRecording(f"{where}: {describe_error(error)}") from None
    metered = {one.live_bytes is not None for phase in run.phases for one in phase.processes}
    if metered - {run.meter == "heap"}:
        raise BadRecording(f"{where}: a run under the {run.meter} meter has live heap or lacks it")
    if run.status == "measured" and (not (run.sites if run.meter == "sites" else run.phases) or run.reason):
        raise BadRecording(f"{where}: measured, but without figures or with a reason for failing")
    return run
