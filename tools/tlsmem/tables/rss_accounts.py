"""Closed accounts: what one more pair adds to RSS, and of what it is made. See docs/meters/accounts.md."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from tlsmem.config.run import SYSTEM
from tlsmem.schema.harness_output import Process
from tlsmem.schema.records import Phase, Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.exact_slope import ESTABLISHED, PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection, Series, Setting
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

UNREQUESTED = "no heap runs at two N of the system's allocator among these; tools/measure.py allocators makes both"


@dataclass(frozen=True)
class RequestedHeap:
    """Live heap per pair, exactly, from heap runs; or why it is not known."""

    amount: Fraction | None
    why: str | None


@dataclass(frozen=True)
class RssBreakdown:
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
    def unexplained(self) -> Fraction | None:
        """What the walk counts and the counters do not."""
        return None if self.walked is None else self.walked - self.total


def untouched(phase: Phase) -> int:
    return phase.vm_data_bytes - phase.rss_anon_bytes


def outside_allocator_bytes(phase: Phase) -> int:
    return phase.vm_data_bytes - allocator_statistics.obtained_bytes(phase)


MEASURES: dict[str, PhaseQuantity] = {
    "held": allocator_statistics.obtained_bytes,
    "untouched": untouched,
    "outside": outside_allocator_bytes,
    "file": lambda phase: phase.rss_file_bytes,
    "shmem": lambda phase: phase.rss_shmem_bytes,
    "rss": lambda phase: phase.rss_bytes,
}


def missing(series: Series) -> str | None:
    """Why the RSS runs have no account; None when they have."""
    if why := why_no_line(series):
        return why.reason
    for phase in (session_cost.phase_of(run, ESTABLISHED) for run in series.full("rss")):
        if phase.vm_data_bytes is None:
            return "the records have no VmData"
        if unknown := allocator_statistics.unknown_reason(allocator_statistics.OBTAINED_FIELDS, phase):
            return unknown
    return None


def account(runs: list[Record]) -> RssBreakdown:
    """Of RSS runs of one process for which nothing is `missing`."""
    slopes = {name: slope_per_pair(runs, quantity_at_end(measure)) for name, measure in MEASURES.items()}
    walks = all(session_cost.phase_of(run, ESTABLISHED).rollup_rss_bytes is not None for run in runs)
    walked = slope_per_pair(runs, quantity_at_end(lambda phase: phase.rollup_rss_bytes)) if walks else None
    return RssBreakdown(**slopes, walked=walked)


def requested_per_pair(selection: Selection, stack: str, setting: Setting, process: Process) -> RequestedHeap:
    """From the heap runs on the system's allocator: requested bytes do not depend on the allocator."""
    runs = selection.series(stack, setting, process).runs("rss")
    if why := allocator_statistics.unmetered_reason(runs):
        return RequestedHeap(None, why)
    pair = selection.series(stack, replace(setting, allocator=SYSTEM, env="lab"), process).heap_pair()
    if not pair:
        return RequestedHeap(None, UNREQUESTED)
    quotient = session_cost.live_cost(*pair, "total", ESTABLISHED).bytes
    return RequestedHeap(Fraction(quotient.amount, quotient.sessions), None)


def bytes_cell(value: Fraction, sign: str = "") -> Cell:
    """To the byte for people, to a tenth for programs."""
    return Cell(f"{round(value):{sign},}", round(float(value), 1))


def processes_with_rss(selection: Selection) -> Iterator[tuple[str, Setting, Process, Series]]:
    """Every process of every stack in every setting, where there are RSS runs."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                series = selection.series(stack, setting, process)
                if series.with_meter("rss"):
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


def row(series: Series, asked: RequestedHeap) -> list[Cell]:
    if why := missing(series):
        return [missing_cell(why)] * len(COLUMNS)
    found = account(series.full("rss"))
    parts = [bytes_cell(getattr(found, name)) for name in ("untouched", "outside", "file", "shmem", "rss")]
    unread = missing_cell("smaps_rollup could not be read")
    by_walk = [unread if one is None else bytes_cell(one) for one in (found.unexplained, found.walked)]
    if asked.amount is None:
        first = [
            missing_cell(asked.why),
            replace(bytes_cell(found.held), note="all that is held: requested is not known apart"),
        ]
    else:
        first = [bytes_cell(asked.amount), bytes_cell(found.held - asked.amount)]
    if found.held < (asked.amount or 0):  # nobody holds less than was requested
        first[1] = parts[1] = missing_cell(allocator_statistics.COARSE_NOTE)
    return [*first, *parts, *by_walk]


def has_allocator_statistics(selection: Selection) -> bool:
    """Records of schema 1 have neither VmData nor books."""
    return any(record.schema_ > 1 for record in selection.records)


def row_name_columns(selection: Selection) -> list[Column]:
    """The columns that name a row: setting, stack, process."""
    return [
        *setting_columns(selection),
        Column("stack", "stack", left=True),
        Column("process", "process", left=True, usual="both"),
    ]


def row_name_cells(selection: Selection, series: Series) -> list[Cell]:
    """The stack is that of the process; of a mixed pair both are named."""
    ends = {series.stack, series.setting.peer or series.stack} - {series.owner}
    stack = " with ".join([series.owner, *ends])
    return [*setting_cells(selection, series.setting), text_cell(stack), text_cell(series.process)]


def accounts(selection: Selection) -> Table:
    caption = (
        f"Bytes that one more pair adds, in a process of one role one more session, at `{ESTABLISHED}`: slopes by "
        "least squares through the means of RSS runs; requested is "
        "from heap runs, exact. Allocator: what it holds beyond that. Untouched: private memory that is not resident. "
        "Outside: private memory that is not the allocator's. Not counted: what a walk of the page tables finds beyond "
        f"the kernel's counters. Each figure is rounded by itself. {describe_common_settings(selection)}."
    )
    table = Table(
        "accounts", "What RSS is made of", caption, [*row_name_columns(selection), *(Column(*one) for one in COLUMNS)]
    )
    for stack, setting, process, series in processes_with_rss(selection) if has_allocator_statistics(selection) else ():
        asked = requested_per_pair(selection, stack, setting, process)
        table.rows.append([*row_name_cells(selection, series), *row(series, asked)])
    return table
