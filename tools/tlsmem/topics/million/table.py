"""The table `c1m`: a million sessions of one role in one process, beside what smaller runs predicted.

A column is one entry of COLUMNS: what it takes of a ForecastCheck (topics/million/forecast.py), and how that is
written."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Setting
from tlsmem.store.record import Record
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table, integer_cell
from tlsmem.topics.million.forecast import TOLERANCE, ForecastCheck, check_series

GIB = 1024**3
CAPTION = (
    "One process that holds this many live sessions of one role; their peers are freed after their handshakes. Memory: "
    "peak RSS and bytes in flight. Predicted: by the line through the two smallest runs with at least ten times as "
    "many sessions as concurrent handshakes."
)


class MillionRow(NamedTuple):
    """The largest run of a stack in a setting."""

    stack: str
    setting: Setting
    check: ForecastCheck


def gib_cell(size: float) -> Cell:
    """`7.32`, with the bytes for programs."""
    return Cell(f"{size / GIB:,.2f}", round(size))


def difference_cell(share: float) -> Cell:
    """`+0.31 %`, with a note where it is more than was to be."""
    text = f"{share:+.2%}".replace("%", " %").replace("-", "−")
    return Cell(text, share, f"more than {TOLERANCE:.0%} off".replace("%", " %") if abs(share) > TOLERANCE else None)


def duration_cell(elapsed_ns: int) -> Cell:
    """`14:10`, with seconds for programs."""
    seconds = round(elapsed_ns / 1e9)
    return Cell(f"{seconds // 60}:{seconds % 60:02}", seconds)


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("sessions", "sessions", value=lambda row: row.check.sessions, form=integer_cell),
    Column(
        "session_bytes",
        "B a session",
        value=lambda row: round(row.check.forecast.session_bytes),
        form=integer_cell,
    ),
    Column("predicted_bytes", "predicted, GiB", value=lambda row: row.check.predicted_bytes, form=gib_cell),
    Column("measured_bytes", "measured, GiB", value=lambda row: row.check.measured_bytes, form=gib_cell),
    Column("difference", "difference", value=lambda row: row.check.difference, form=difference_cell),
    Column("elapsed_s", "took", value=lambda row: row.check.run.elapsed_ns, form=duration_cell),
)


def million_table(selection: Selection) -> Table:
    """A row for each stack and setting with a run beyond those that predict."""
    caption = f"{CAPTION} {describe_common_settings(selection)}."
    table = Table("c1m", "A million sessions in one process", caption, [*setting_columns(selection), *COLUMNS])
    table.add_rows(find_rows(selection))
    return table


def find_rows(selection: Selection) -> Iterator[MillionRow]:
    """Yield the rows, the smallest session first."""
    rows: list[MillionRow | Missing] = []
    in_one_process = [setting for setting in selection.settings if "both" in setting.processes.values()]
    for setting in in_one_process:
        for stack in selection.stacks:
            check = check_series(selection.series(stack, setting))
            rows.append(map_present(partial(MillionRow, stack, setting), check))
    yield from sorted(keep_present(rows), key=lambda row: row.check.forecast.session_bytes)


def select_kept(runs: Sequence[Record]) -> Selection:
    """Return the memory runs of one recording that keep one role: all that a million sessions are measured by."""
    return select([run for run in runs if run.scenario == "memory" and run.roles.startswith("keep")])


def find_largest(recordings: Iterable[Sequence[Record]]) -> list[MillionRow]:
    """Return of each stack, role and suite the row with the most sessions, that of the first recording of equals."""
    largest: dict[tuple[str, str, str], MillionRow] = {}
    for runs in recordings:
        for row in find_rows(select_kept(runs)):
            key = (row.stack, row.setting.roles, row.setting.suite)
            if key not in largest or row.check.sessions > largest[key].check.sessions:
                largest[key] = row
    return list(largest.values())
