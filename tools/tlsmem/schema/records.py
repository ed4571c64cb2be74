"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/reference/records.md."""

import hashlib
import json
from typing import Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import to_jsonable_python

from tlsmem.schema import timed_record
from tlsmem.schema.checksum import add_checksum
from tlsmem.schema.harness_output import (
    TIMED_SCENARIOS,
    Env,
    Environment,
    Meter,
    Model,
    Negotiated,
    NonNegativeInt,
    PositiveInt,
    Roles,
    Scenario,
    Sessions,
    Window,
)
from tlsmem.schema.harness_output import Phase as Phase  # for those who read records
from tlsmem.schema.machine_path import THP_OFF, path_digest
from tlsmem.schema.roles import Process
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
    """The call stacks of a sites run. A stack is a list of indices into `frames`, innermost first; an inlined function
    is a frame of its own."""

    frames: list[RecordedFrame]
    stacks: list[list[NonNegativeInt]]

    @model_validator(mode="after")
    def check_frame_numbers(self) -> Self:
        if max((max(stack) for stack in self.stacks if stack), default=-1) >= len(self.frames):
            raise ValueError("a call stack has a frame that is not among its frames")
        return self


SCHEMA = 9
CHECKSUMS_SINCE = 5  # the schema from which on a line ends in its checksum
UNDECLARED_MACHINE_FIELDS = (
    "memory_bytes",
    "governor",
    "thp_host",
)  # of a machine without a path: may change without its being another machine

TIMED = ("threads", "rounds", "size_bytes", "sealed", "timings", "noise", "instructions")
ABSENT_WHEN_NONE = ("path", "sites", "cpu_features", *TIMED, "checksum")
SLOT_ARGUMENTS = ("cpu=", "cpus=", "wires=", "barrier=")


class RecordLine(Model):
    """One run as kept in data/: one process, or one pair of a client's and a server's, one line."""

    model_config = ConfigDict(title="Record")

    schema_: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9] = Field(alias="schema")
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
    path: str | None = Field(default=None, pattern="^[0-9a-f]{8}$")  # None: not recorded, of schemas before 6
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
    # From schema 5 on, and always last:
    checksum: str | None = Field(default=None, pattern="^[0-9a-f]{16}$")  # of the line without it

    @model_validator(mode="after")
    def check_consistency(self) -> Self:
        if self.status == "measured":
            if None in (self.negotiated, self.environment, self.reported) or self.reason:
                raise ValueError("a measured run has what was negotiated, its environment and no reason")
            if bool(self.phases) == (self.scenario in TIMED_SCENARIOS):
                raise ValueError("a measured run has phases in the scenarios of memory, and in no other")
            if self.scenario in TIMED_SCENARIOS:
                timed_record.check(self)
            if any((phase.heap is None) != (self.meter == "rss") for phase in self.phases):
                raise ValueError("every phase has its heap under the heap meter, and none under the RSS meter")
            if any((phase.sites is None) != (self.meter != "sites") for phase in self.phases):
                raise ValueError("every phase has its sites in a sites run, and none in others")
            if len({(phase.process, phase.phase, phase.wave) for phase in self.phases}) < len(self.phases):
                raise ValueError("a process goes through each phase once, and once a wave")
            stacks = len(self.sites.stacks) if self.sites else 0
            used = (one.stack for phase in self.phases if phase.sites for one in phase.sites.blocks)
            if any(stack >= stacks for stack in used):
                raise ValueError("a phase has blocks from a call stack that is not among the run's")
        elif not self.reason:
            raise ValueError(f"a run that is {self.status} says why")
        return self

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the fields that the line did not have, so that a line is written as it was read."""
        fields: dict[str, Any] = serialize(self)
        if self.schema_ == 1:
            fields.pop("env", None)
        for name in ABSENT_WHEN_NONE:
            if getattr(self, name) is None:
                fields.pop(name, None)
        return fields

    def select_process(self, process: Process) -> "RecordLine":
        """Return the run with the phases of one of its processes.

        Raises ValueError with a sentence when the run had no such process."""
        if self.roles != "split" and process == "both":
            return self
        there = dict.fromkeys(phase.process for phase in self.phases)
        if there and process not in there:
            raise ValueError(f"{self.describe()} had no process `{process}`, but {' and '.join(there)}")
        return self.model_copy(update={"phases": [one for one in self.phases if one.process == process]})

    @property
    def phase_names(self) -> list[str]:
        """The names of the phases, in their order."""
        return [phase.phase for phase in self.phases]

    @property
    def has_phases_apart(self) -> bool:
        """Return whether client and server had a process each, and the record has the phases of both."""
        return self.roles == "split" and len({phase.process for phase in self.phases}) > 1

    @property
    def has_sites(self) -> bool:
        """Return whether the record has the call stacks of its live blocks."""
        return self.sites is not None

    @property
    def digest(self) -> str:
        """What stands for the line."""
        return digest_line(self.to_json_line().rstrip(b"\n"))

    def describe(self) -> str:
        """Name the run in a sentence: stack, suite and number of sessions."""
        return f"the run of {self.stack}, {self.suite}, N = {self.sessions:,}"

    def to_json_line(self) -> bytes:
        """Return the line of a recording: JSON with its checksum, from schema 5 on, and a newline."""
        text = self.model_dump_json(by_alias=True, exclude={"checksum"}).encode()
        return (add_checksum(text) if self.schema_ >= CHECKSUMS_SINCE else text) + b"\n"


def digest_line(line: bytes) -> str:
    """Return what stands for a line without its newline: 32 digits."""
    return hashlib.blake2b(line, digest_size=16).hexdigest()


KEY_FIELDS = (
    "stack",
    "binary_sha256",
    "meter_sha256",
    "allocator",
    "suite",
    "scenario",
    "sessions",
    "window",
    "meter",
    "roles",
    "repeat",
)
ALL_KEY_FIELDS = {*KEY_FIELDS, "env", "cpu_features", "peer", "argv", "machine"}


def run_path(fields: dict[str, Any]) -> str | None:
    """Return the name of the path that a run took, from its fields as a record has them.

    That is the machine's path without the CPU features that the library was kept from, and with the huge pages that
    the process got. None where the machine's is not recorded."""
    machine, features = fields["machine"], fields.get("cpu_features") or {}
    if not machine.get("path"):
        return None
    thp = {"lab": THP_OFF, "deployed-thp": "always"}.get(fields["env"], machine["thp_host"])
    return path_digest(machine["path"], machine["cpus"], features.get("hides") or (), thp)


def run_key(fields: dict[str, Any]) -> str:
    """Return what identifies a run, from its fields as a record has them: the first 16 digits of a SHA-256.

    The key covers the declared fields, the binary and the path; of older schemas, which have no path, the machine. It
    does not cover the CPU that the run is pinned to and the descriptors that it inherits: the slot chooses them, not
    the campaign."""
    declared = declared_fields(fields)
    if path := run_path(fields):
        return digest_fields(declared | {"path": path})
    machine = {name: value for name, value in fields["machine"].items() if name not in UNDECLARED_MACHINE_FIELDS}
    return digest_fields(declared | {"machine": machine})


def cell_key(fields: dict[str, Any]) -> str:
    """Return what identifies a run on whatever machine it is made: what its key covers but for the machine."""
    return digest_fields(declared_fields(fields))


def record_cell_key(record: object) -> str:
    """Return the same of a record: a line, or a run of the store, whose fields have the same names."""
    names = [*KEY_FIELDS, "cpu_features", "peer", "argv"] + ["env"] * (getattr(record, "schema_", SCHEMA) > 1)
    return cell_key({name: to_jsonable_python(getattr(record, name)) for name in names})


def declared_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a key covers, but for the machine."""
    declared = {name: fields[name] for name in KEY_FIELDS}
    declared |= {"env": fields["env"]} if "env" in fields else {}  # schema 1 has none
    declared |= {"cpu_features": fields["cpu_features"]} if fields.get("cpu_features") else {}
    peer = fields["peer"]
    declared["peer"] = peer and {name: peer[name] for name in ("stack", "binary_sha256")}
    return declared | {"argv": [word for word in fields["argv"] if not word.startswith(SLOT_ARGUMENTS)]}


def digest_fields(declared: dict[str, Any]) -> str:
    """Return the start of the SHA-256 of these fields."""
    return hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()[:16]
