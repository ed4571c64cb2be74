"""The table `in-use`: every stack as servers run it, those that hold least in use first.

A column is one entry of COLUMNS: what it takes of a Place, and how that is written."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from tlsmem.schema.harness_output import Window
from tlsmem.stats.configured_stack import (
    AT_REST,
    IDLE,
    IN_USE,
    Configuration,
    Place,
    base_settings,
    rank_in_use,
)
from tlsmem.stats.missing import Missing, without_suite
from tlsmem.stats.rss_line import RssLine
from tlsmem.stats.runtime_heap import LiveFigure
from tlsmem.stats.selection import Selection
from tlsmem.stats.session_cost import Quotient
from tlsmem.tables.rss import slope_interval_cell
from tlsmem.tables.settings import describe_window
from tlsmem.tables.stacks import live_cell
from tlsmem.tables.table import Cell, Column, Table, integer_cell, optional, quotient_cell

T = TypeVar("T")
CAPTION = (
    "Live heap in bytes that one more session of the role adds, and RSS: the slope over sessions. In use: has sent and "
    "received 16 KiB and waits in a read. Options and tickets are the library's defaults. Low memory: with the "
    "library's documented ways to hold less at rest (docs/reference/stacks.md). No tickets: at rest, nothing written "
    "yet. Allocations: blocks that a session allocates while it receives and sends one full record, freed or not. "
    "{window} Smallest in use first."
)


def place_column(name: str, key: str, heading: str) -> Column:
    """Return a column of places, 1 for the least."""

    def value(place: Place) -> int | Missing:
        number = getattr(place, name)
        return Missing("it has no figure") if number is None else number

    return optional(Column(key, heading, value=value, form=integer_cell))


def live(configuration: Configuration, phase: str, key: str, heading: str) -> Column:
    """Return a column of live heap at the end of a phase."""

    def value(place: Place) -> LiveFigure | Missing:
        return without_suite(place.stack.live(configuration, phase))

    return Column(key, heading, value=value, form=live_cell)


def rss(configuration: Configuration, phase: str, key: str, heading: str) -> Column:
    """Return a column of RSS at the end of a phase."""

    def value(place: Place) -> RssLine | Missing:
        return without_suite(place.stack.rss(configuration, phase))

    return Column(key, heading, value=value, form=slope_interval_cell)


def allocations(configuration: Configuration, key: str, heading: str) -> Column:
    """Return a column of allocations for a full record each way."""

    def value(place: Place) -> Quotient | Missing:
        return without_suite(place.stack.allocations(configuration))

    return Column(key, heading, value=value, form=allocations_cell)


def allocations_cell(count: Quotient) -> Cell:
    """Whole where all sessions allocate alike."""
    return quotient_cell(count.amount, count.sessions)


COLUMNS = (
    Column("suite", "suite", left=True, value=lambda place: place.stack.setting.suite),
    Column("role", "role", left=True, value=lambda place: place.stack.role),
    Column("stack", "stack", left=True, value=lambda place: place.stack.stack),
    live("default", IN_USE, "in_use", "in use"),
    live("low memory", IN_USE, "in_use_low_memory", "in use, low memory"),
    optional(live("default", AT_REST, "at_rest", "at rest")),
    optional(live("no tickets", AT_REST, "no_tickets", "no tickets")),
    optional(live("default", IDLE, "idle", "idle, released")),
    rss("default", IN_USE, "rss_in_use", "RSS in use"),
    optional(rss("low memory", IN_USE, "rss_in_use_low_memory", "RSS in use, low memory")),
    rss("default", AT_REST, "rss_at_rest", "RSS at rest"),
    optional(allocations("default", "allocations", "allocations")),
    optional(allocations("low memory", "allocations_low_memory", "allocations, low memory")),
    place_column("before", "place_no_tickets", "place, no tickets"),
    place_column("in_use", "place_in_use", "place, in use"),
)


def in_use_table(selection: Selection) -> Table:
    """The table `in-use`, of runs with full records (DATA=full), a process for each role or one for both."""
    places = rank_all(selection)
    made = table_from_places(places)
    changes = [said for some in places for said in describe_changed_places(some)]
    if changes:
        made.caption += f" Ranks that change by three or more: {'; '.join(changes)}."
    return made


def rank_all(selection: Selection) -> list[list[Place]]:
    """Return the places of the stacks in each setting with full records, and in each role of it."""
    return [rank_in_use(selection, setting, role) for setting in base_settings(selection) for role in setting.processes]


def table_from_places(places: Sequence[Sequence[Place]]) -> Table:
    """Return the table without its sentence on places that change."""
    windows = list(dict.fromkeys(one.stack.setting.window for some in places for one in some))
    made = Table("in-use", "In use, as servers run it", CAPTION.format(window=describe_windows(windows)), [*COLUMNS])
    made.headed = 3
    for some in places:
        made.add_rows(some)
    return made


def describe_windows(windows: list[Window]) -> str:
    """Say how many handshakes were under way at a time."""
    said = " or ".join(map(describe_window, windows))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def describe_changed_places(places: list[Place], at_least: int = 3) -> Iterator[str]:
    """Say which stacks change places by at least so many: in use against at rest without tickets."""
    for place in places:
        if place.before and place.in_use and abs(place.before - place.in_use) >= at_least:
            stack = place.stack
            where = f"{stack.setting.suite}, {stack.role}"
            yield f"{stack.stack} ({where}): rank {place.before} without tickets, {place.in_use} in use"
