"""Every stack in one table: what a session of each costs, by suite and role, the smallest first.

A column is one entry of COLUMNS: what it takes of a StackRow, and how that is written."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tlsmem.base.printable import strip_suite
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import CALLER_BUFFERS
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.roles import Role
from tlsmem.stats.allocator_statistics import RETURNED_MEMORY_NOTE
from tlsmem.stats.live_heap import SessionHeap
from tlsmem.stats.machine_spread import MachineSpread, spread_between_machines
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.peak_figure import C10kFigure, find_c10k
from tlsmem.stats.rss_line import RssLine, fit_rss, rss_slope
from tlsmem.stats.runtime_heap import LiveFigure, RuntimeFigure, RuntimeHeap, bytes_per_session, heap_of_role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, SeriesFigures, Setting, is_same_stack_pair
from tlsmem.tables.c10k import mebibytes, origin_cell
from tlsmem.tables.rss import slope_interval_cell
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table, with_note

CAPTION = (
    "Bytes that one more session of the role adds: live heap when created, to the peak of many in the handshake, and "
    "when established, from heap runs; and the slope of RSS at `established` ± the wider half of its 95 % interval "
    "over repeats. C10K: peak RSS of a process with 10,000 sessions of the role; ≈ if it comes from the fit. "
    "Smallest first."
)
ROUNDED_NOTE = "rounded: sessions are not all alike, see the table heap"
OWNED = "of which {:,.0f} B are buffers that the caller owns, see the table buckets"
RUNTIME_NOTE = (
    "slope of its runtime's own figure after a collection, from RSS runs: the heap meter does not see its heap. "
    "It includes goroutine stacks and counts each block at its size class; other stacks count requested bytes"
)
RUNTIME_PEAK = "the same, the largest at the end of any phase; peaks within a phase are not known"
NEEDS_SPLIT_ROLES = "of a process for each role (make mem ROLES=split)"


class EstablishedHeap(NamedTuple):
    """Live heap when established."""

    figure: LiveFigure
    lent_bytes: float | None  # what of it is not the library's own: known of stacks with a sites run


class EstablishedRss(NamedTuple):
    line: RssLine
    machines: MachineSpread | Missing


@dataclass(frozen=True)
class StackRow(SeriesFigures):
    """A role of a stack in a setting, with what one more session costs."""

    role: Role
    machines: tuple[Selection, ...] = ()  # where several machines have runs of it

    @cached_property
    def heap(self) -> SessionHeap | RuntimeHeap:
        """Live heap, by the meter that sees it."""
        return heap_of_role(self.series, self.role)

    @cached_property
    def created(self) -> LiveFigure | Missing:
        """Live heap at the end of `sessions`."""
        return self.heap.live("sessions")

    @cached_property
    def peak(self) -> LiveFigure | Missing:
        """What one more of many sessions adds to the peak of live heap."""
        return self.heap.peak

    @cached_property
    def established(self) -> LiveFigure | Missing:
        """Live heap at the end of `established`."""
        return self.heap.live("established")

    @property
    def established_heap(self) -> EstablishedHeap | Missing:
        """With what of it the caller owns."""
        return map_present(lambda figure: EstablishedHeap(figure, self.lent_bytes), self.established)

    @property
    def lent_bytes(self) -> float | None:
        """What of it the caller owns; None where that is not known, or nothing."""
        return sum_lent_bytes(self.series, self.role) if isinstance(self.heap, SessionHeap) else None

    @property
    def rss(self) -> EstablishedRss | Missing:
        """With how far it lies apart between machines."""
        line = map_present(lambda series: fit_rss(series, "established"), self.process)
        return map_present(lambda line: EstablishedRss(line, self.spread), line)

    @property
    def spread(self) -> MachineSpread | Missing:
        """How far the slope of RSS lies apart between machines."""
        return spread_between_machines(self.machines, self.series, rss_slope("established"))

    @property
    def c10k(self) -> C10kFigure | Missing:
        """Peak RSS at 10,000 sessions of the role."""
        return map_present(find_c10k, self.process)

    @property
    def process(self) -> Series | Missing:
        """The runs as a process of this role alone saw them; Missing where one process held both."""
        return Missing(NEEDS_SPLIT_ROLES) if self.setting.roles == "together" else self.series


def sum_lent_bytes(series: Series, role: Role) -> float | None:
    """The caller's buffers of an established session; None without a sites run, and where there are none."""
    for run in series.runs("sites")[-1:]:
        sums = BucketSums(sites_reader.profile_from_record(run))
        if held := sums.live_by_bucket("established", role).get(CALLER_BUFFERS):
            return float(sums.each(held))
    return None


def live_cell(figure: LiveFigure) -> Cell:
    """To the byte and without blocks, which are in the table heap."""
    if isinstance(figure, RuntimeFigure):
        note = RUNTIME_PEAK if figure.is_peak else RUNTIME_NOTE
        return Cell(f"{round(figure.slope):,}", {"bytes": bytes_per_session(figure)}, note)
    size = figure.bytes
    data = {"bytes": size.integer_part, "bytes_remainder": size.remainder, "over_sessions": size.sessions}
    return Cell(f"{bytes_per_session(figure):,.0f}", data, ROUNDED_NOTE if size.remainder else None)


def lent_note(heap: EstablishedHeap) -> str | None:
    """Say what of the heap the caller owns."""
    return None if heap.lent_bytes is None else OWNED.format(heap.lent_bytes)


def established_cell(heap: EstablishedHeap) -> Cell:
    """Bytes, with a note of what the caller owns."""
    return with_note(live_cell(heap.figure), lent_note(heap))


def rss_cell(rss: EstablishedRss) -> Cell:
    """The slope and its interval, and how far it lies apart between machines."""
    cell = with_note(slope_interval_cell(rss.line), RETURNED_MEMORY_NOTE if rss.line.gave_back_memory else None)
    return with_note(cell, rss.machines.describe() if isinstance(rss.machines, MachineSpread) else None)


def c10k_cell(figure: C10kFigure) -> Cell:
    """MiB, marked where it is from the fit."""
    origin, size = origin_cell(figure), mebibytes(figure)
    text = f"{'' if figure.is_measured else '≈ '}{size:,.0f}"
    return Cell(text, {"mib": size, "origin": origin.value}, origin.note)


ROLE = Column("role", "role", left=True, value=lambda row: row.role)
STACK = Column("stack", "stack", left=True, value=lambda row: row.stack)
COLUMNS = (
    Column("created", "created", value=lambda row: row.created, form=live_cell),
    Column("peak", "peak, one more of many", value=lambda row: row.peak, form=live_cell),
    Column("established", "established", value=lambda row: row.established_heap, form=established_cell),
    Column("rss_established", "RSS, established", value=lambda row: row.rss, form=rss_cell),
    Column("c10k", "C10K, MiB", value=lambda row: row.c10k, form=c10k_cell),
)


def rank_by_live_heap(selection: Selection, setting: Setting, role: Role) -> list[StackRow]:
    """Each stack that was measured in this setting: by what is established, the smallest first."""
    stacks = (selection.series(stack, setting, setting.processes[role]) for stack in selection.stacks)
    measured = (series for series in stacks if any(one.status == "measured" for one in series.records))
    rows = (StackRow(one, role, selection.machines) for one in measured)
    return sorted(rows, key=lambda row: bytes_per_session(row.established))


def unmeasured_stacks(selection: Selection) -> dict[tuple[str, str], list[str]]:
    """Stacks that were measured in none of some suites, with the reason: those suites."""
    found: dict[tuple[str, str], list[str]] = {}
    for setting in selection.settings:
        for stack in selection.stacks:
            series = selection.series(stack, setting, next(iter(setting.processes.values())))
            if not any(one.status == "measured" for one in series.records):
                why = series.reason("rss").removeprefix("unsupported: ")
                found.setdefault((stack, strip_suite(why)), []).append(setting.suite)
    return found


def describe_unmeasured(selection: Selection) -> list[str]:
    """What has no row and why: once, however many suites it is."""
    found = unmeasured_stacks(selection).items()
    return [f"{stack} in {', '.join(dict.fromkeys(suites))}: {why}" for (stack, why), suites in found]


def stack_table(selection: Selection) -> Table:
    """The table `stacks`, of pairs of one stack in the controlled environment."""
    selection = selection.where(lambda setting: is_same_stack_pair(setting) and setting.env == "lab")
    columns = [*setting_columns(selection), ROLE, STACK, *COLUMNS]
    caption = f"{CAPTION} {describe_common_settings(selection)}."
    made = Table("stacks", "Every stack", caption, columns, without=describe_unmeasured(selection))
    made.headed = columns.index(STACK)
    for setting in selection.settings:
        for role in setting.processes:
            made.add_rows(rank_by_live_heap(selection, setting, role))
    return made
