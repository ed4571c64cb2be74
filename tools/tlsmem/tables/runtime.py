"""The table `runtime`: heap, goroutine stacks and RSS of stacks that have a runtime of their own;
and what other tables say of such figures.

A column is one entry of QUANTITIES (stats/runtime_parts.py)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats.allocator_statistics import COLLECTED_RSS, has_runtime
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.runtime_parts import HEAP, QUANTITIES, RSS, STACKS, bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, is_same_stack_pair
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_columns
from tlsmem.tables.table import Cell, Column, Table, fraction_cell

RUNTIME_NOTE = (
    "its runtime's own figure after a collection: it includes goroutine stacks and counts blocks at their size "
    "classes; other stacks count requested bytes"
)
OBJECTS_NOTE = (
    "objects by its runtime's own figure, after a collection, at their size classes and without goroutine stacks"
)
GARBAGE_NOTE = "includes garbage of the phase, which the runtime frees at its next collection"
GOROUTINES_NOTE = "records of ended goroutines, which the runtime keeps for later sessions"
PHASES = {"established": "at rest", "blocked": "in use"}  # in use: a full record each way, then blocked in Read
CAPTION = (
    "Bytes that one more session adds: slopes over sessions, from RSS runs. Heap: HeapAlloc after a collection; it "
    "counts size classes, not requested bytes. RSS is read before the collection of its phase and after those of "
    "earlier phases; collected: read again after it. go+left-alone: no collection is forced, as in a server. At rest: "
    "established. In use: 16 KiB each way, then blocked in Read. {settings}."
)
HEADINGS = {HEAP: "heap", STACKS: "goroutine stack", RSS: "RSS", COLLECTED_RSS: "RSS, collected"}


class RuntimeRow(NamedTuple):
    """The sessions of a process at the end of a phase."""

    stack: str
    setting: Setting
    holder: str  # whose sessions stay in the process
    at: str
    figures: dict[str, Fraction | Missing]  # by quantity, in bytes per session


def bytes_cell(size: Fraction) -> Cell:
    """Whole bytes; to a tenth for programs."""
    return Cell(f"{float(size):,.0f}", round(float(size), 1))


def take(quantity: str) -> Callable[[RuntimeRow], Fraction | Missing]:
    """Return what takes the quantity from a row."""
    return lambda row: row.figures[quantity]


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("process", "process", left=True, value=lambda row: row.holder),
    Column("at", "session", left=True, value=lambda row: row.at),
    *(Column(name, HEADINGS[name], value=take(name), form=bytes_cell) for name in QUANTITIES),
)


def rows(selection: Selection) -> Iterator[RuntimeRow]:
    """Of each process whose sessions stay, where it has a runtime of its own."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for holder, process in processes_by_holder(setting).items():
                series = selection.series(stack, setting, process)
                runs = series.full("rss")
                if not has_runtime(runs):
                    continue
                reached = set(runs[0].phase_names)
                for phase, at in PHASES.items():
                    if phase in reached:
                        figures = {name: bytes_per_session(series, phase, name) for name in QUANTITIES}
                        yield RuntimeRow(stack, setting, holder, at, figures)


def runtime_table(selection: Selection) -> Table:
    """The table, of pairs of one stack."""
    selection = selection.where(is_same_stack_pair)
    caption = CAPTION.format(settings=describe_common_settings(selection))
    table = Table(
        "runtime", "Memory per session by a runtime's own figures", caption, [*setting_columns(selection), *COLUMNS]
    )
    table.add_rows(rows(selection))
    return table


class Size(NamedTuple):
    """Bytes; with a note where a runtime tells them, which repeat to some bytes only."""

    bytes: Fraction
    runtime_note: str | None


def size_if_known(value: Fraction | Missing, runtime_note: str | None) -> Size | Missing:
    """Return the value with its note."""
    return map_present(lambda size: Size(size, runtime_note), value)


def size_cell(size: Size) -> Cell:
    """Whole where it is; of a runtime in whole bytes."""
    value = Fraction(round(size.bytes)) if size.runtime_note else size.bytes
    return replace(fraction_cell(value), note=size.runtime_note)
