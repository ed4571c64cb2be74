"""Closed accounts: what one more pair adds to RSS, and of what it is made. See docs/meters/accounts.md."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from tlsmem.config.run import SYSTEM
from tlsmem.schema.harness_output import Process
from tlsmem.schema.records import Phase, Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.selection import Selection, Series, Setting
from tlsmem.tables.settings import cells_of, columns_of, constant
from tlsmem.tables.table import Cell, Column, Table, hole, word

AT = "established"
UNREQUESTED = "no heap runs at two N of the system's allocator among these; tools/measure.py allocators makes both"
Measure = Callable[[Phase], int]


@dataclass(frozen=True)
class Requested:
    """Live heap per pair, exactly, from heap runs; or why it is not known."""

    amount: Fraction | None
    why: str | None


@dataclass(frozen=True)
class Account:
    """Bytes per pair: rss = held - untouched + outside + file + shmem; walked = rss + rest, read independently."""

    held: Fraction  # requested of the allocator, and what it adds
    untouched: Fraction  # private memory that is not resident: never written, or given back
    outside: Fraction  # private memory that is not the allocator's
    file: Fraction
    shmem: Fraction
    rss: Fraction  # the kernel's counters: VmRSS
    walked: Fraction | None  # RSS by a walk of the page tables, where the records have it

    @property
    def total(self) -> Fraction:
        return self.held - self.untouched + self.outside + self.file + self.shmem

    @property
    def rest(self) -> Fraction | None:
        """What the walk counts and the counters do not."""
        return None if self.walked is None else self.walked - self.total


def slope_per_pair(runs: Iterable[Record], quantity: session_cost.Quantity) -> Fraction | None:
    """The least-squares slope through the means over repeats, exactly; None for fewer than two numbers of sessions.

    Means and fractions, so that the slope of a sum is the sum of the slopes: accounts then close without rounding."""
    points = {
        Fraction(n, 2): Fraction(sum(values), len(values)) for n, values in session_cost.repeats(runs, quantity).items()
    }
    if len(points) < 2:
        return None
    middle = sum(points) / len(points)
    moment = sum((pairs - middle) * value for pairs, value in points.items())
    return moment / sum((pairs - middle) ** 2 for pairs in points)


def at_end(measure: Measure, phase: str = AT) -> session_cost.Quantity:
    return lambda record: measure(session_cost.phase_of(record, phase))


def untouched(phase: Phase) -> int:
    return phase.vm_data_bytes - phase.rss_anon_bytes


def outside(phase: Phase) -> int:
    return phase.vm_data_bytes - allocator_statistics.held(phase)


MEASURES: dict[str, Measure] = {
    "held": allocator_statistics.held,
    "untouched": untouched,
    "outside": outside,
    "file": lambda phase: phase.rss_file_bytes,
    "shmem": lambda phase: phase.rss_shmem_bytes,
    "rss": lambda phase: phase.rss_bytes,
}


def without_slope(series: Series) -> str | None:
    """Why there is no line through the RSS runs; None when there is one."""
    counts = {run.sessions for run in series.full("rss")}
    if not counts:
        return series.reason("rss")
    return f"N = {counts.pop():,} only, and a total divided by N is not a slope" if len(counts) == 1 else None


def missing(series: Series) -> str | None:
    """Why the RSS runs have no account; None when they have."""
    if why := without_slope(series):
        return why
    for phase in (session_cost.phase_of(run, AT) for run in series.full("rss")):
        if phase.vm_data_bytes is None:
            return "the records have no VmData"
        if why := allocator_statistics.untold(allocator_statistics.HELD, phase):
            return why
    return None


def account(runs: list[Record]) -> Account:
    """Of RSS runs of one process for which nothing is `missing`."""
    slopes = {name: slope_per_pair(runs, at_end(measure)) for name, measure in MEASURES.items()}
    walks = all(session_cost.phase_of(run, AT).rollup_rss_bytes is not None for run in runs)
    walked = slope_per_pair(runs, at_end(lambda phase: phase.rollup_rss_bytes)) if walks else None
    return Account(**slopes, walked=walked)


def requested(selection: Selection, stack: str, setting: Setting, process: Process) -> Requested:
    """From the heap runs on the system's allocator: requested bytes do not depend on the allocator."""
    runs = selection.series(stack, setting, process).runs("rss")
    if why := allocator_statistics.unseen(runs):
        return Requested(None, why)
    pair = selection.series(stack, replace(setting, allocator=SYSTEM, env="lab"), process).heap_pair()
    if not pair:
        return Requested(None, UNREQUESTED)
    quotient = session_cost.live_cost(*pair, "total", AT).bytes
    return Requested(Fraction(quotient.amount, quotient.sessions), None)


def figure(value: Fraction, sign: str = "") -> Cell:
    """To the byte for people, to a tenth for programs."""
    return Cell(f"{round(value):{sign},}", round(float(value), 1))


def each(selection: Selection) -> Iterator[tuple[str, Setting, Process, Series]]:
    """Every process of every stack in every setting, where there are RSS runs."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                series = selection.series(stack, setting, process)
                if series.of("rss"):
                    yield stack, setting, process, series


COLUMNS = (
    ("requested_bytes", "requested"),
    ("allocator_bytes", "+ allocator"),
    ("untouched_bytes", "− untouched"),
    ("outside_bytes", "+ outside"),
    ("file_bytes", "+ file"),
    ("shmem_bytes", "+ shared"),
    ("rss_bytes", "= RSS"),
    ("rest_bytes", "+ not counted"),
    ("walked_bytes", "= by page walk"),
)


def row(series: Series, asked: Requested) -> list[Cell]:
    if why := missing(series):
        return [hole(why)] * len(COLUMNS)
    found = account(series.full("rss"))
    parts = [figure(getattr(found, name)) for name in ("untouched", "outside", "file", "shmem", "rss")]
    unread = hole("smaps_rollup could not be read")
    by_walk = [unread if one is None else figure(one) for one in (found.rest, found.walked)]
    if asked.amount is None:
        first = [hole(asked.why), replace(figure(found.held), note="all that is held: requested is not known apart")]
    else:
        first = [figure(asked.amount), figure(found.held - asked.amount)]
    if found.held < (asked.amount or 0):  # nobody holds less than was requested
        first[1] = parts[1] = hole(allocator_statistics.COARSE)
    return [*first, *parts, *by_walk]


def have_books(selection: Selection) -> bool:
    """Records of schema 1 have neither VmData nor books."""
    return any(record.schema_ > 1 for record in selection.records)


def named(selection: Selection) -> list[Column]:
    """The columns that name a row: setting, stack, process."""
    return [
        *columns_of(selection),
        Column("stack", "stack", left=True),
        Column("process", "process", left=True, usual="both"),
    ]


def names(selection: Selection, series: Series) -> list[Cell]:
    """The stack is that of the process; of a mixed pair both are named."""
    ends = {series.stack, series.setting.peer or series.stack} - {series.owner}
    stack = " with ".join([series.owner, *ends])
    return [*cells_of(selection, series.setting), word(stack), word(series.process)]


def accounts(selection: Selection) -> Table:
    caption = (
        f"Bytes that one more pair adds, in a process of one role one more session, at `{AT}`: slopes by "
        "least squares through the means of RSS runs; requested is "
        "from heap runs, exact. Allocator: what it holds beyond that. Untouched: private memory that is not resident. "
        "Outside: private memory that is not the allocator's. Not counted: what a walk of the page tables finds beyond "
        f"the kernel's counters. Each figure is rounded by itself. {constant(selection)}."
    )
    table = Table("accounts", "What RSS is made of", caption, [*named(selection), *(Column(*one) for one in COLUMNS)])
    for stack, setting, process, series in each(selection) if have_books(selection) else ():
        asked = requested(selection, stack, setting, process)
        table.rows.append([*names(selection, series), *row(series, asked)])
    return table
