"""Peak RSS by number of sessions, the stacks side by side.

The columns of a stack are made by `stack_columns`: what they take of a row's peaks (stats/peak_figure.py), and how that
is written."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tlsmem.stats.allocator_statistics import RETURNED_MEMORY_NOTE
from tlsmem.stats.machine_spread import MachineSpread, spread_between_machines
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.peak_figure import PeakFigure, compare_peaks, find_peak
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_one_process
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table, integer_cell, with_note


class StackPeak(NamedTuple):
    """A peak, and how far it lies apart between machines."""

    figure: PeakFigure
    machines: MachineSpread | Missing


class PeakRow(NamedTuple):
    """A number of sessions in a setting, with the peak of each stack."""

    setting: Setting
    sessions: int
    peaks: dict[str, PeakFigure | Missing]
    machines: dict[str, MachineSpread | Missing]


def kib_cell(value: float) -> Cell:
    """Bytes as whole KiB."""
    return Cell(f"{value / KIB:,.0f}", round(value / KIB, 3))


def peak_cell(peak: PeakFigure) -> Cell:
    """The median of the repeats in KiB."""
    return with_note(kib_cell(peak.bytes), RETURNED_MEMORY_NOTE if peak.gave_back_memory else None)


def stack_peak_cell(peak: StackPeak) -> Cell:
    """The peak, with a note where several machines have it."""
    note = peak.machines.describe() if isinstance(peak.machines, MachineSpread) else None
    return with_note(peak_cell(peak.figure), note)


def percent_cell(change: RepeatChange) -> Cell:
    """The change in percent; `no change` within the spread of repeats."""
    percent = 100 * change.share
    if change.beyond_spread:
        return Cell(f"{percent:+.1f} %", round(percent, 3))
    return Cell("no change", round(percent, 3), SINGLE_RUN_NOTE if change.once else WITHIN_SPREAD_NOTE)


SESSIONS = Column("sessions", "N", value=lambda row: row.sessions, form=integer_cell)


def stack_columns(stacks: Sequence[str]) -> Iterator[Column]:
    """A column for each stack, then one for each against the first."""
    for stack in stacks:
        yield Column(f"{stack} peak_rss_kib", f"{stack} KiB", value=peak_value(stack), form=stack_peak_cell)
    for stack in stacks[1:]:
        change = change_value(stacks[0], stack)
        heading = f"{stack} against {stacks[0]}"
        yield Column(f"{stack} difference_percent", heading, value=change, form=percent_cell)


def peak_value(stack: str) -> Callable[[PeakRow], StackPeak | Missing]:
    """Return a function that takes the stack's peak of a row."""

    def take(row: PeakRow) -> StackPeak | Missing:
        return map_present(lambda peak: StackPeak(peak, row.machines[stack]), row.peaks[stack])

    return take


def change_value(before: str, after: str) -> Callable[[PeakRow], RepeatChange | Missing]:
    """Return a function that takes a row's change from one stack to another."""
    return lambda row: compare_peaks(row.peaks[before], row.peaks[after])


def peak_table(selection: Selection, sessions: Sequence[int] | None = None) -> Table:
    """A row a setting and number of sessions: of these, or of all that were measured."""
    selection = selection.where(is_one_process)
    caption = (
        "N sessions are N/2 clients and N/2 servers in one process. A minus sign means less memory. "
        f"{describe_common_settings(selection)}."
    )
    columns = [*setting_columns(selection), SESSIONS, *stack_columns(selection.stacks)]
    table = Table("peaks", "Peak RSS of the process", caption, columns)
    table.add_rows(rows(selection, sessions))
    return table


def rows(selection: Selection, sessions: Sequence[int] | None) -> Iterator[PeakRow]:
    """Yield a row a setting and number of sessions, of these or of all (None)."""
    for setting in selection.settings:
        every = {stack: selection.series(stack, setting) for stack in selection.stacks}
        counts = {run.sessions for series in every.values() for run in series.with_meter("rss")}
        for count in sorted(counts & set(sessions or counts)):
            found = {stack: find_peak(series, count) for stack, series in every.items()}
            machines = {
                stack: spread_between_machines(selection.machines, series, peak_bytes(count))
                for stack, series in every.items()
            }
            yield PeakRow(setting, count, found, machines)


def peak_bytes(sessions: int) -> Callable[[Series], float | None]:
    """Return a function that takes the peak of a series at this N, in bytes."""

    def take(series: Series) -> float | None:
        return replace_missing(map_present(lambda peak: peak.bytes, find_peak(series, sessions)), None)

    return take
