"""A recorded run as the store has it. Nothing is copied: a record is a row of columns that are read when they are used.

The fields are those of tlsmem.schema.records.RecordLine, which describes them, with the same types where they are
small; the call stacks of a sites run are tuples, read from the store each time they are asked for."""

from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, overload

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic_core import from_json

from tlsmem.schema.harness_output import Env, Environment, Meter, Negotiated, Roles, Scenario, Window
from tlsmem.schema.roles import Owner, Process
from tlsmem.schema.run_origins import AllocatorRecord, CpuFeatures, Machine, Peer, SourceRecord
from tlsmem.schema.timed_record import Instructions, Noise, TimedPart, Timing
from tlsmem.store import tables
from tlsmem.store.columns import Columns, Convert, Pieces
from tlsmem.store.derive import Entry

Value = TypeVar("Value")
HEAP_COLUMNS = {owner: [f"{owner}_{count}" for count in tables.COUNTS] for owner in tables.OWNERS}


class Field(Generic[Value]):
    """An attribute that is a column of the view's table; its name there, where it has another."""

    def __init__(self, column: str = "") -> None:
        self.column = column

    def __set_name__(self, owner: type, name: str) -> None:
        self.column = self.column or name

    @overload
    def __get__(self, view: None, owner: type) -> "Field[Value]": ...
    @overload
    def __get__(self, view: "View", owner: type) -> Value: ...
    def __get__(self, view: "View | None", owner: type) -> "Value | Field[Value]":
        if view is None:
            return self
        value: Value = view.columns[self.column][view.row]
        return value


class View:
    """A row of columns."""

    __slots__ = ("columns", "row")

    def __init__(self, columns: Columns, row: int) -> None:
        self.columns, self.row = columns, row

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View) or type(other) is not type(self):
            return False
        return self.columns is other.columns and self.row == other.row

    def __hash__(self) -> int:
        return hash((id(self.columns), self.row))


class HeapCounts(NamedTuple):
    """As tlsmem.schema.harness_output.HeapCounts."""

    live_bytes: int
    live_blocks: int
    peak_bytes: int
    peak_blocks: int
    cumulative_bytes: int
    cumulative_blocks: int


class OfOwner:
    """The counts of an owner, as an attribute."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, heaps: "Heaps", owner: type) -> HeapCounts:
        return heaps.counts(self.name)


class Heaps(View):
    """The heap of a process at the end of a phase, by owner; `total` is all of them."""

    __slots__ = ("changed",)

    def __init__(self, columns: Columns, row: int, changed: Mapping[str, HeapCounts]) -> None:
        super().__init__(columns, row)
        self.changed = changed

    def counts(self, owner: str) -> HeapCounts:
        """Return the counts of an owner."""
        columns, row = self.columns, self.row
        return self.changed.get(owner) or HeapCounts._make([columns[name][row] for name in HEAP_COLUMNS[owner]])

    client, server, client_context, server_context, harness, total = (OfOwner() for _ in tables.OWNERS)


class LiveBlocks(NamedTuple):
    """As tlsmem.schema.harness_output.LiveBlocks."""

    role: Owner
    since: str
    stack: int
    blocks: int
    bytes: int


class TemporaryBlocks(NamedTuple):
    """As tlsmem.schema.harness_output.TemporaryBlocks."""

    role: Owner
    stack: int
    blocks: int
    bytes: int


class PairPeaks(NamedTuple):
    """The most bytes that were live of the pair's session of each role."""

    client: int
    server: int


class StackDepth(NamedTuple):
    """The most bytes of stack that a driver's call in the phase wrote, by role; None: no call."""

    client: int | None
    server: int | None


class RecordedFrame(NamedTuple):
    """As tlsmem.schema.records.RecordedFrame."""

    function: str | None
    file: str | None
    line: int | None
    module: str
    offset: int


class RecordedCallstacks(NamedTuple):
    """As tlsmem.schema.records.RecordedCallstacks."""

    frames: list[RecordedFrame]
    stacks: list[list[int]]


class PhaseBlocks(NamedTuple):
    """The blocks of the chosen pair in one phase, by when they were live."""

    live: list[LiveBlocks]
    temporary: list[TemporaryBlocks] | None
    peak: list[LiveBlocks] | None


class PhaseSites(View):
    """The chosen pair at the end of a phase, as tlsmem.schema.harness_output.PhaseSites."""

    __slots__ = ("phase",)
    pair = Field[int]()
    pairs = Field[int]()
    alike = Field[int]("alike_pairs")
    identical = Field[int]("identical_pairs")

    def __init__(self, phase: "Phase") -> None:
        super().__init__(phase.columns, phase.row)
        self.phase = phase

    @property
    def stack_bytes(self) -> StackDepth:
        """The stack that the roles' calls used in the phase."""
        return StackDepth(*(self.columns[f"{role}_stack_bytes"][self.row] for role in StackDepth._fields))

    @property
    def peak_bytes(self) -> PairPeaks | None:
        """The peaks of the pair's sessions in the phase; None: not recorded."""
        client, server = (self.columns[f"{role}_pair_peak_bytes"][self.row] for role in PairPeaks._fields)
        return None if client is None else PairPeaks(client, server)

    @property
    def all_blocks(self) -> PhaseBlocks:
        """The blocks, as they are in the store."""
        record = self.phase.record
        return read_blocks(record.frame.folder, record.row)[self.row - record.frame.first_phases[record.row]]

    @property
    def live(self) -> list[LiveBlocks]:
        """Live at the end of the phase."""
        return self.all_blocks.live

    @property
    def temporary(self) -> list[TemporaryBlocks] | None:
        """Allocated and freed in the phase; None: not recorded."""
        return self.all_blocks.temporary

    @property
    def peak(self) -> list[LiveBlocks] | None:
        """Live at the peak of their session; None: not recorded."""
        return self.all_blocks.peak


class Phase(View):
    """The meters at the end of one phase of one process, as tlsmem.schema.harness_output.Phase."""

    __slots__ = ("changed", "record")
    phase = Field[str]()
    process = Field[Process]()
    rss_bytes = Field[int]()
    rss_anon_bytes = Field[int]()
    rss_file_bytes = Field[int]()
    rss_shmem_bytes = Field[int]()
    peak_rss_bytes = Field[int]()
    minor_faults = Field[int]()
    major_faults = Field[int]()
    wire_bytes = Field[int]()
    phase_minor_faults = Field[int | None]()
    phase_major_faults = Field[int | None]()
    vm_data_bytes = Field[int | None]()
    rollup_rss_bytes = Field[int | None]()
    rollup_anon_bytes = Field[int | None]()
    huge_bytes = Field[int | None]()
    client_sent_bytes = Field[int | None]()
    server_sent_bytes = Field[int | None]()
    tickets = Field[int | None]()
    received_bytes = Field[int | None]()
    wave = Field[int | None]()

    def __init__(self, record: "Record", row: int, changed: Mapping[str, HeapCounts] | None = None) -> None:
        super().__init__(record.frame.phases, row)
        self.record, self.changed = record, changed or {}

    @property
    def allocator(self) -> dict[str, dict[str, int]] | None:
        """The statistics of each allocator."""
        text: str | None = self.columns["allocator"][self.row]
        return None if text is None else read_allocators(text)

    @property
    def heap(self) -> Heaps | None:
        """The heap by owner; None under the RSS meter."""
        return (
            None if self.columns["total_live_bytes"][self.row] is None else Heaps(self.columns, self.row, self.changed)
        )

    @property
    def sites(self) -> PhaseSites | None:
        """The chosen pair by call stack; None in other runs than sites runs."""
        return None if self.columns["pair"][self.row] is None else PhaseSites(self)

    def with_heap(self, changed: Mapping[str, HeapCounts]) -> "Phase":
        """Return the phase with other counts of these owners."""
        return Phase(self.record, self.row, {**self.changed, **changed})


class Frame:
    """The runs of an entry and their phases, as columns."""

    def __init__(self, entry: Entry) -> None:
        self.folder = entry.folder
        self.runs = Columns(entry.folder / "runs.columns", RUN_VALUES)
        self.phases = Columns(entry.folder / "phases.columns", {})

    @cached_property
    def first_phases(self) -> list[int]:
        """The row of each run's first phase, and one more: the number of all phases."""
        return [0, *accumulate(self.runs["phases"])]

    @cached_property
    def processes(self) -> list[list[Process]]:
        """The processes of each run whose phases it has, each once."""
        every = self.phases["process"]
        return [[*dict.fromkeys(every[first:end])] for first, end in pairwise(self.first_phases)]


class Record(View):
    """One run: one process, or one pair of a client's and a server's, as tlsmem.schema.records.RecordLine."""

    __slots__ = ("frame", "given", "names", "process", "selected")
    line_digest = Field[str]("digest")
    schema_ = Field[int]("schema")
    key = Field[str]()
    stack = Field[str]()
    reported = Field[str | None]()
    binary_sha256 = Field[str]()
    source = Field[SourceRecord | None]()
    meter_sha256 = Field[str | None]()
    compiler = Field[str]()
    flags = Field[str]()
    licence = Field[str]()
    allocator = Field[AllocatorRecord]()
    suite = Field[str]()
    negotiated = Field[Negotiated | None]()
    scenario = Field[Scenario]()
    sessions = Field[int]()
    window = Field[Window]()
    meter = Field[Meter]()
    roles = Field[Roles]()
    peer = Field[Peer | None]()
    env = Field[Env]()
    cpu_features = Field[CpuFeatures | None]()
    repeat = Field[int]()
    argv = Field[list[str]]()
    commit = Field[str]()
    dirty = Field[bool]()
    machine = Field[Machine]()
    path = Field[str | None]()
    started_at = Field[str]()
    elapsed_ns = Field[int]()
    status = Field[str]()
    reason = Field[str | None]()
    environment = Field[Environment | None]()
    threads = Field[int | None]()
    rounds = Field[int | None]()
    size_bytes = Field[int | None]()
    sealed = Field[str | None]()
    noise = Field[Noise | None]()
    instructions = Field[Instructions | None]()
    has_sites = Field[bool]("sites")

    def __init__(self, frame: Frame, row: int, process: Process | None = None) -> None:
        super().__init__(frame.runs, row)
        self.frame, self.process = frame, process
        self.given: list[Phase] | None = None
        self.names: list[str] | None = None
        self.selected: dict[Process, Record] = {}

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and isinstance(other, Record) and self.process == other.process

    __hash__ = View.__hash__

    @property
    def digest(self) -> str:
        """What stands for the line, and for the process whose phases were selected."""
        return f"{self.line_digest} {self.process}" if self.process else self.line_digest

    @property
    def phases(self) -> list[Phase]:
        """The phases of the run, or of its process that was selected, in their order."""
        if self.given is None:
            rows = enumerate(self.process_column, self.frame.first_phases[self.row])
            self.given = [Phase(self, row) for row, process in rows if self.process in (None, process)]
        return self.given

    @property
    def process_column(self) -> list[Process]:
        """The process of each phase of the run."""
        first, end = self.frame.first_phases[self.row : self.row + 2]
        return self.frame.phases["process"][first:end]

    @property
    def phase_names(self) -> list[str]:
        """The names of the phases, in their order."""
        if self.names is None:
            self.names = [phase.phase for phase in self.phases]
        return self.names

    @property
    def processes(self) -> list[Process]:
        """The processes whose phases it has, each once."""
        return [one for one in self.frame.processes[self.row] if self.process in (None, one)]

    @property
    def timings(self) -> list[Timing] | None:
        """The threads of a timed run."""
        text: str | None = self.columns["timings"][self.row]
        return None if text is None else read_timings(text)

    @property
    def sites(self) -> RecordedCallstacks | None:
        """The call stacks of a sites run."""
        return read_callstacks(self.frame.folder, self.row) if self.has_sites else None

    def with_phases(self, phases: list[Phase]) -> "Record":
        """Return the run with other phases."""
        made = Record(self.frame, self.row, self.process)
        made.given = phases
        return made

    def select_process(self, process: Process) -> "Record":
        """Return the run with the phases of one of its processes.

        Raises ValueError with a sentence when the run had no such process."""
        if process == self.process or (process == "both" and self.roles != "split"):
            return self
        there = self.processes
        if there and process not in there:
            raise ValueError(f"{self.describe()} had no process `{process}`, but {' and '.join(there)}")
        if process not in self.selected:
            made = self.selected[process] = Record(self.frame, self.row, process)
            made.given = [phase for phase in self.phases if phase.process == process]
        return self.selected[process]

    @property
    def has_phases_apart(self) -> bool:
        """Return whether client and server had a process each, and the record has the phases of both."""
        return self.roles == "split" and len(self.processes) > 1

    def describe(self) -> str:
        """Name the run in a sentence: stack, suite and number of sessions."""
        return f"the run of {self.stack}, {self.suite}, N = {self.sessions:,}"


@lru_cache(maxsize=2)  # one run after the other; there may be thousands of blocks in a phase
def read_blocks(folder: Path, run: int) -> list[PhaseBlocks]:
    """Return the blocks of each phase of a run, by its place in the entry of this folder."""
    return [
        PhaseBlocks(
            make_all(LiveBlocks, one["live"]) or [],
            make_all(TemporaryBlocks, one["temporary"]),
            make_all(LiveBlocks, one["peak"]),
        )
        for one in Pieces(folder / "blocks.pieces").read(str(run))
    ]


def make_all(kind: Callable[..., Value], rows: list[dict[str, Any]] | None) -> list[Value] | None:
    """Return a tuple of this kind for each row; None where nothing is recorded."""
    return None if rows is None else [kind(**row) for row in rows]


def read_callstacks(folder: Path, run: int) -> RecordedCallstacks:
    """Return the call stacks of a run, by its place in the entry of this folder."""
    found = Pieces(folder / "callstacks.pieces").read(str(run))
    return RecordedCallstacks([RecordedFrame(**one) for one in found["frames"]], found["stacks"])


@cache  # a figure asks for a few of them, most tables for none
def read_allocators(text: str) -> dict[str, dict[str, int]]:
    """Return the statistics of a phase from their JSON; phases that have the same have one object."""
    found: dict[str, dict[str, int]] = from_json(text)
    return found


@lru_cache(maxsize=1024)  # several columns of a table ask for the parts of one run
def read_timings(text: str) -> list[Timing]:
    """Return the threads of a timed run from their JSON, which was checked when the store took it in."""

    def make(parts: list[dict[str, Any]], **thread: Any) -> Timing:
        return Timing.model_construct(**thread, parts=[TimedPart.model_construct(**part) for part in parts])

    return [make(**thread) for thread in from_json(text)]


def read_as(kind: type[BaseModel]) -> Callable[[str], BaseModel]:
    """Return what reads a model of this kind from its JSON; runs of one machine have most of them in common."""
    return lru_cache(maxsize=4096)(lambda text: kind.model_validate_json(text))


RUN_VALUES: dict[str, Convert] = {
    "source": lambda text: SOURCE.validate_json(text),
    "allocator": read_as(AllocatorRecord),
    "negotiated": read_as(Negotiated),
    "peer": read_as(Peer),
    "cpu_features": read_as(CpuFeatures),
    "machine": read_as(Machine),
    "environment": read_as(Environment),
    "noise": read_as(Noise),
    "instructions": read_as(Instructions),
}
SOURCE: TypeAdapter[SourceRecord] = TypeAdapter(SourceRecord, config=ConfigDict(defer_build=True))


def open_records(entry: Entry) -> list[Record]:
    """Return the runs of an entry, in their order."""
    frame = Frame(entry)
    return [Record(frame, row) for row in range(entry.runs)]
