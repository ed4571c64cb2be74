"""What a harness prints: one JSON object a line, a run, its phases and an end. See docs/reference/records.md."""

import re
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails

from tlsmem.schema.roles import Owner
from tlsmem.schema.roles import Process as Process  # for those who read what a harness prints
from tlsmem.schema.roles import Role as Role

MOST = (1 << 63) - 1  # that a number of a recording can be: what programs read it with has 64 bits
NonNegativeInt = Annotated[int, Field(ge=0, le=MOST)]
PositiveInt = Annotated[int, Field(gt=0, le=MOST)]
Sessions = Annotated[int, Field(ge=2, le=MOST, multiple_of=2)]
Window = PositiveInt | Literal["all"]
Scenario = Literal["memory", "stall", "churn", "contexts", "throughput", "handshake"]
TIMED_SCENARIOS = ("throughput", "handshake")  # the others are of memory, and have phases
Meter = Literal["rss", "heap", "sites", "time", "instructions"]
Roles = Literal["together", "split", "keep-client", "keep-server"]  # one process; one each; one, without the peers
Env = Literal["lab", "deployed", "deployed-thp"]
Data = Literal["short", "full"]  # payloads of 1 KiB, or full records too
Cpu = Literal["all", "no-avx512", "no-adx", "no-aes", "baseline"]
Book = Annotated[dict[Annotated[str, Field(pattern="_bytes$")], NonNegativeInt], Field(min_length=1)]


class Model(BaseModel):
    """A value of a recording: it cannot be changed, has no other keys than its own, and converts no types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)


class HeapCounts(Model):
    """The requested bytes and blocks of one owner: live at the end of the phase, live at the phase's peak, and
    allocated since the process began. `peak_blocks` counts the blocks at the peak of bytes."""

    live_bytes: NonNegativeInt
    live_blocks: NonNegativeInt
    peak_bytes: NonNegativeInt
    peak_blocks: NonNegativeInt
    cumulative_bytes: NonNegativeInt
    cumulative_blocks: NonNegativeInt


class Heaps(Model):
    """The heap of a process at the end of a phase, by owner. `total` is all of them; its peak is that of the sum."""

    client: HeapCounts
    server: HeapCounts
    client_context: HeapCounts
    server_context: HeapCounts
    harness: HeapCounts
    total: HeapCounts


class LiveBlocks(Model):
    """Blocks of the chosen pair that are live at the end of a phase, or at a session's peak in it: those of one owner,
    phase and call stack."""

    role: Owner
    since: str  # the phase that allocated them
    stack: NonNegativeInt  # the call stack: index into the run's stacks
    blocks: PositiveInt
    bytes: NonNegativeInt


class TemporaryBlocks(Model):
    """Blocks of the chosen pair that the phase allocated and freed: those of one owner and call stack."""

    role: Owner
    stack: NonNegativeInt  # index into the run's stacks
    blocks: PositiveInt
    bytes: NonNegativeInt


class StackDepth(Model):
    """The most bytes of stack that a driver's call in the phase wrote below its caller's frame; null: no call."""

    client: NonNegativeInt | None
    server: NonNegativeInt | None


class SessionPeaks(Model):
    """The most bytes that each session of the chosen pair had live in the phase; the two need not peak at one time."""

    client: NonNegativeInt
    server: NonNegativeInt


class PhaseSites(Model):
    """The chosen pair (its number from 0) at the end of a phase, and how many of all pairs are like it."""

    pair: NonNegativeInt
    pairs: PositiveInt
    alike: PositiveInt  # as many blocks from as many sites, and at most 16 bytes more or less
    identical: PositiveInt  # alike, to the byte
    live: list[LiveBlocks]
    stack_bytes: StackDepth
    temporary: list[TemporaryBlocks] | None = None  # None: not recorded, of schemas before 8
    peak: list[LiveBlocks] | None = None  # live at the peak of their session; None: not recorded, of schemas before 9
    peak_bytes: SessionPeaks | None = None  # as the meter counted them; None as of `peak`

    @property
    def blocks(self) -> "list[LiveBlocks | TemporaryBlocks]":
        """Return all entries that name a call stack."""
        return [*self.live, *(self.temporary or []), *(self.peak or [])]

    @model_validator(mode="after")
    def counted(self) -> Self:
        if not self.identical <= self.alike <= self.pairs:
            raise ValueError("of the pairs some are alike, and of these some are identical: no more than there are")
        if (self.peak is None) != (self.peak_bytes is None):
            raise ValueError("`peak` and `peak_bytes` are recorded together")
        return self

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what the line did not have."""
        return {name: value for name, value in serialize(self).items() if value is not None}


class Phase(Model):
    """The meters at the end of one phase of one process; a peak is that of the phase."""

    phase: str
    process: Process
    rss_bytes: PositiveInt
    rss_anon_bytes: NonNegativeInt
    rss_file_bytes: NonNegativeInt
    rss_shmem_bytes: NonNegativeInt
    peak_rss_bytes: PositiveInt
    minor_faults: NonNegativeInt
    major_faults: NonNegativeInt
    wire_bytes: NonNegativeInt
    # From schema 2 on:
    phase_minor_faults: NonNegativeInt | None = None
    phase_major_faults: NonNegativeInt | None = None
    vm_data_bytes: NonNegativeInt | None = None  # address space of private writable memory, touched or not
    rollup_rss_bytes: NonNegativeInt | None = None  # by a walk of the page tables; None without smaps_rollup
    rollup_anon_bytes: NonNegativeInt | None = None
    huge_bytes: NonNegativeInt | None = None
    # By meter:
    allocator: dict[str, Book] | None = None  # its own books, by allocator: RSS runs
    heap: Heaps | None = None  # heap runs and sites runs
    sites: PhaseSites | None = None  # sites runs
    # Of what the sessions of a role have written to wires here so far; of schemas before 8 not recorded:
    client_sent_bytes: NonNegativeInt | None = None
    server_sent_bytes: NonNegativeInt | None = None
    tickets: NonNegativeInt | None = None  # that clients received since `contexts`; None where the driver cannot tell
    # By scenario:
    received_bytes: NonNegativeInt | None = None  # stall: that all sessions together were sent so far
    wave: PositiveInt | None = None  # churn: from schema 8 on; its phases `open` and `closed` come once a wave

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


PartName = Literal[
    "client_new", "client", "client_free", "server_new", "server", "server_free",  # of a handshake
    "send", "receive", "seal",  # of a transfer; seal: the library's AEAD by itself
    "wire_write", "wire_read", "clock",  # the harness's own
]  # fmt: skip


class Part(Model):
    """One kind of interval between two readings of the clock in a thread: how many, and their total time in ns."""

    part: PartName
    count: PositiveInt  # of these intervals
    total_ns: NonNegativeInt  # their sum
    bytes: NonNegativeInt | None = None  # of application data in all of them: transfers
    faults: NonNegativeInt | None = None  # minor page faults in `faults_count` further intervals, which were not timed
    faults_count: PositiveInt | None = None

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in serialize(self).items() if value is not None}


class CountedPart(Part):
    """A part as a harness prints it. The histogram has [ns, count] of the intervals; ns are rounded down to
    HdrHistogram's values at 3 digits."""

    histogram: list[tuple[NonNegativeInt, PositiveInt]] | None = None


class Thread(Model):
    """One thread of a timed run. It was ready when all were, and all stopped when the first had done its rounds."""

    thread: NonNegativeInt
    cpu: NonNegativeInt | None
    rounds: PositiveInt  # handshakes, or transfers
    resumed: NonNegativeInt  # of the handshakes
    elapsed_ns: NonNegativeInt  # from start to stop, with what is not timed
    preempted: NonNegativeInt  # involuntary context switches meanwhile


class ThreadLine(Thread):
    """One line a thread of a timed run."""

    record: Literal["thread"]
    parts: list[CountedPart]


class Negotiated(Model):
    """What the sessions negotiated. A process with one role knows whether that role verified its peer, and no more."""

    protocol: str
    cipher: str
    group: str
    group_from: Literal["session", "offer"]
    retried: bool | None = None  # handshakes began with a HelloRetryRequest, as the wire has it; from schema 8 on
    resumed: bool
    client_verified: bool | None
    server_verified: bool | None

    @model_serializer(mode="wrap")
    def absent_when_none(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = serialize(self)
        if self.retried is None:
            values.pop("retried", None)
        return values


class Environment(Model):
    """What the harness set for its process: address randomisation, transparent huge pages and the CPU."""

    aslr: Literal["off", "on"]
    thp: Literal["off", "on", "always", "madvise", "never"]  # off: for this process; "on" in schema 1 only
    cpu: NonNegativeInt | None
    notes: list[str]


class RunLine(Environment):
    """The first line: what the harness is and what it was asked."""

    record: Literal["run"]
    schema_: Literal[4] = Field(alias="schema")
    stack: str
    reported: str
    scenario: Scenario
    sessions: Sessions
    role: Process
    keep: Process
    data: Data
    threads: PositiveInt
    window: Window
    meter: Meter
    rounds: PositiveInt | None = None  # of a timed run: those after which the first thread stops all
    warmup_rounds: NonNegativeInt | None = None  # of each thread before
    size_bytes: PositiveInt | None = None  # of a write: throughput
    settings: dict[str, str] | None = None  # the keys of this scenario alone
    cpus: list[NonNegativeInt] | None = None  # of the threads in turn, of a timed run that is pinned


class StackLine(Model):
    """A call stack, before the first phase that has blocks from it. Numbered from 0 in order of appearance."""

    record: Literal["stack"]
    stack: NonNegativeInt
    # Innermost first: MODULE+0xOFFSET, where MODULE is a path and OFFSET one of the ELF file.
    frames: list[Annotated[str, Field(pattern=r"\+0x[0-9a-f]{1,16}$")]]


class PhaseLine(Phase):
    """One line a phase and process of a run of a scenario of memory."""

    record: Literal["phase"]

    def phase_only(self) -> Phase:
        """Return the phase without the key that says which kind of line it is."""
        return Phase.model_construct(**{name: getattr(self, name) for name in Phase.model_fields})


class EndLine(Model):
    """The last line; without it there was no measurement."""

    record: Literal["end"]
    status: Literal["measured", "unsupported"]
    negotiated: Negotiated | None = None
    elapsed_ns: NonNegativeInt | None = None
    sealed: str | None = None  # the tag of the first record that `seal` made: alike of every stack
    reason: str | None = None


OutputLine = RunLine | StackLine | PhaseLine | ThreadLine | EndLine
OUTPUT_LINE: pydantic.TypeAdapter[OutputLine] = pydantic.TypeAdapter(
    Annotated[OutputLine, Field(discriminator="record")], config=ConfigDict(defer_build=True)
)


def describe_error(error: ValidationError) -> str:
    """Return the most telling error as `place: what`.

    A wrong schema comes first, because it explains the others; then an unknown key, which explains a missing one."""
    first = min(error.errors(), key=lambda one: (one["loc"][-1:] != ("schema",), one["type"] != "extra_forbidden"))
    place = ".".join(str(part) for part in first["loc"])
    what = (
        f"no such key{nearest(first['loc'], error)}"
        if first["type"] == "extra_forbidden"
        else newer(first) or first["msg"].removeprefix("Value error, ")
    )
    return f"{place}: {what}" if place else what


def newer(found: ErrorDetails) -> str | None:
    """Return a sentence with a way out when the error is a schema newer than these tools, else None."""
    if found["type"] != "literal_error" or found["loc"] != ("schema",) or type(found["input"]) is not int:
        return None
    known = found["ctx"]["expected"]
    if found["input"] <= max(map(int, re.findall("[0-9]+", known))):
        return None
    return f"{found['input']} is newer than these tools, which read {known}: update them (git pull)"


def nearest(wrong: tuple[int | str, ...], error: ValidationError) -> str:
    """Return "; did you mean KEY?" with the missing key beside the wrong one that is like it, or an empty string."""
    missing = [one["loc"] for one in error.errors() if one["type"] == "missing"]
    beside = [str(place[-1]) for place in missing if place[:-1] == wrong[:-1]]
    return "".join(f"; did you mean {key}?" for key in get_close_matches(str(wrong[-1]), beside, n=1))
