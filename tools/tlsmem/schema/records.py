"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/records.md."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError, model_serializer, model_validator

from tlsmem.schema import timed_record
from tlsmem.schema.harness_output import (
    Env,
    Environment,
    Meter,
    Model,
    Negotiated,
    Phase,
    Roles,
    Scenario,
    Sessions,
    Window,
    describe_error,
)
from tlsmem.schema.run_origins import AllocatorRecord, CpuFeatures, Machine, Peer, Sha256, SourceRecord
from tlsmem.schema.timed_record import Instructions, Noise, Timing


class RecordedFrame(Model):
    """One function of a call stack, as its module's debug information names it."""

    function: str | None
    file: str | None
    line: PositiveInt | None
    module: str
    offset: NonNegativeInt


class RecordedCallstacks(Model):
    """Call stacks of a sites run: frames are indices, innermost first; inlined functions are frames of their own."""

    frames: list[RecordedFrame]
    stacks: list[list[NonNegativeInt]]

    @model_validator(mode="after")
    def check_frame_numbers(self) -> Self:
        if any(frame >= len(self.frames) for stack in self.stacks for frame in stack):
            raise ValueError("a call stack has a frame that is not among its frames")
        return self


TORN_MARK = b'{"record":"torn"}'  # the line before this one was cut off while it was written


def find_torn_lines(lines: list[bytes]) -> set[int]:
    """Numbers of the torn lines that may be skipped: the last of the file, or marked as torn by the line after it.

    A mark may be cut off itself; it then is what is left of TORN, and marks nevertheless."""
    found = set()
    for number in range(len(lines), 0, -1):
        after = lines[number] if number < len(lines) else TORN_MARK
        marked = after == TORN_MARK or (number + 1 in found and TORN_MARK.startswith(after))
        if marked and is_torn(lines[number - 1]):
            found.add(number)
    return found


def is_torn(line: bytes) -> bool:
    """Whether this is the beginning of a record, cut off: no proper beginning of a JSON object is JSON itself."""
    try:
        json.loads(line)
    except RecursionError:  # no record is so deep, nor the beginning of one
        return False
    except ValueError:
        return line.startswith(b"{")
    return False


SCHEMA = 4
UNDECLARED_MACHINE_FIELDS = (
    "memory_bytes",
    "governor",
    "thp_host",
)  # of the machine: may change without its being another machine

TIMED = ("threads", "rounds", "size_bytes", "sealed", "timings", "noise", "instructions")
ABSENT_WHEN_NONE = ("sites", "cpu_features", *TIMED)
SLOT_ARGUMENTS = ("cpu=", "cpus=", "wires=", "barrier=")

skipped_lines: list[str] = []  # a sentence for each torn last line that was met; readers exit with 1 when there is one


class Record(Model):
    """One run as kept in data/: one process, or one pair of a client's and a server's, one line."""

    schema_: Literal[1, 2, 3, 4] = Field(alias="schema")
    key: str = Field(pattern="^[0-9a-f]{16}$")
    stack: str
    reported: str | None
    binary_sha256: Sha256
    source: SourceRecord | None
    meter_sha256: Sha256 | None = None  # the heap meter's, in a heap run
    compiler: str
    flags: str
    licence: str
    allocator: AllocatorRecord
    suite: str
    negotiated: Negotiated | None
    scenario: Scenario
    sessions: Sessions  # of a timed run two a thread, again and again
    window: Window
    meter: Meter
    roles: Roles
    peer: Peer | None  # None: both roles are `stack`; else `stack` is the server
    env: Env = "lab"
    cpu_features: CpuFeatures | None = None  # None: all that the CPU has
    repeat: PositiveInt
    argv: list[str]
    commit: str
    dirty: bool
    machine: Machine
    started_at: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    elapsed_ns: NonNegativeInt
    status: Literal["measured", "unsupported", "failed"]
    reason: str | None
    environment: Environment | None
    phases: list[Phase]
    sites: RecordedCallstacks | None = None
    # Of timed runs, from schema 3 on:
    threads: PositiveInt | None = None
    rounds: PositiveInt | None = None
    size_bytes: PositiveInt | None = None  # of a write: throughput
    sealed: str | None = None
    timings: list[Timing] | None = None  # a thread each
    noise: Noise | None = None
    instructions: Instructions | None = None  # of runs under callgrind, which are not timed

    @model_validator(mode="after")
    def check_consistency(self) -> Self:
        if self.status == "measured":
            if None in (self.negotiated, self.environment, self.reported) or self.reason:
                raise ValueError("a measured run has what was negotiated, its environment and no reason")
            if bool(self.phases) != (self.scenario == "memory"):
                raise ValueError("a measured run has phases in the scenario memory, and in no other")
            if self.scenario != "memory":
                timed_record.check(self)
            if any((phase.heap is None) != (self.meter == "rss") for phase in self.phases):
                raise ValueError("every phase has its heap under the heap meter, and none under the RSS meter")
            if any((phase.sites is None) != (self.meter != "sites") for phase in self.phases):
                raise ValueError("every phase has its sites in a sites run, and none in others")
            if len({(phase.process, phase.phase) for phase in self.phases}) < len(self.phases):
                raise ValueError("a process goes through each phase once")
            stacks = len(self.sites.stacks) if self.sites else 0
            if any(live.stack >= stacks for phase in self.phases if phase.sites for live in phase.sites.live):
                raise ValueError("a phase has blocks from a call stack that is not among the run's")
        elif not self.reason:
            raise ValueError(f"a run that is {self.status} says why")
        return self

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize) -> dict[str, Any]:
        """What a line did not say is not written into it again."""
        fields = serialize(self)
        if self.schema_ == 1:
            fields.pop("env", None)
        for name in ABSENT_WHEN_NONE:
            if getattr(self, name) is None:
                fields.pop(name, None)
        return fields

    def to_json_line(self) -> bytes:
        return self.model_dump_json(by_alias=True).encode() + b"\n"


def run_key(fields: dict[str, Any]) -> str:
    """What makes a run this run: its declared fields, the binary and the machine; 16 hexadecimal digits.

    The CPU it is pinned to and the descriptors that it inherits are the slot's choice, not the campaign's."""
    names = ("stack", "binary_sha256", "meter_sha256", "allocator", "suite", "scenario", "sessions", "window", "meter")
    declared = {name: fields[name] for name in (*names, "roles", "repeat")}
    declared |= {"env": fields["env"]} if "env" in fields else {}  # schema 1 has none
    declared |= {"cpu_features": fields["cpu_features"]} if fields.get("cpu_features") else {}
    peer = fields["peer"]
    declared["peer"] = peer and {name: peer[name] for name in ("stack", "binary_sha256")}
    declared["argv"] = [word for word in fields["argv"] if not word.startswith(SLOT_ARGUMENTS)]
    declared["machine"] = {
        name: value for name, value in fields["machine"].items() if name not in UNDECLARED_MACHINE_FIELDS
    }
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:16]


def load(recording: Path | str) -> list[Record]:
    """All runs of a recording (a directory, or one of its files), in the order in which they were recorded.

    Exits with a sentence that names file and line when a line is not a record of this schema."""
    recording = Path(recording)
    files = sorted(recording.glob("*.jsonl")) if recording.is_dir() else [recording]
    if not files:
        sys.exit(f"{recording}: no recording here (no .jsonl file)")
    return [record for file in files for record in load_file(file)]


def load_file(file: Path) -> list[Record]:
    if file.exists() and not file.is_file():
        sys.exit(f"{file}: cannot read the recording: not a regular file")
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        sys.exit(f"{file}: cannot read the recording: {error.strerror}")
    if not lines[-1]:
        lines.pop()
    cut = find_torn_lines(lines)
    numbered = [(n, line) for n, line in enumerate(lines, start=1) if n not in cut and line != TORN_MARK]
    found = [parse(line, f"{file}: line {n}") for n, line in numbered]
    if len(lines) in cut:
        warn(f"{file}: line {len(lines)} was cut off while it was written; it is skipped")
    return found


def warn(torn_line: str) -> None:
    """Once, however often the file is read."""
    if torn_line not in skipped_lines:
        skipped_lines.append(torn_line)
        print(torn_line, file=sys.stderr)


def parse(line: bytes, place: str) -> Record:
    try:
        return Record.model_validate_json(line)
    except ValidationError as error:
        sys.exit(f"{place} is not a record of schema {SCHEMA}: {describe_error(error)}")
