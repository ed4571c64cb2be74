"""Handshakes: full ones and resumed ones, the client's time and the server's apart; and what lies around them, the
construction and the freeing of sessions."""

from collections.abc import Callable

from tlsmem.schema.records import Record
from tlsmem.schema.roles import Role
from tlsmem.stats import timed_rates
from tlsmem.stats.timed_rates import Quantity
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries
from tlsmem.tables.table import Cell, Column, Table, text_cell
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import published, shared_columns
from tlsmem.tables.timed.cells import format_number, sample_or_missing

ROLES: tuple[Role, ...] = ("client", "server")
COLUMNS = {
    "role": "role",
    "stack": "stack",
    "per_s": "handshakes/s",
    "interval": "±",
    "with_construction_per_s": "with construction",
    "hit_rate": "resumed",
    "faults_each": "faults each",
    "published_per_s": "published",
}
CAPTION = (
    "By the time that all steps of one role take, the reading of tickets included: of one thread, as if it did nothing "
    "else. With construction: the making of the session too. Resumed: of the handshakes that were timed, as both ends "
    "say. Faults: minor page faults of a handshake."
)
USUAL = {"hit_rate": "none"}
SESSIONS = {
    "role": "role",
    "stack": "stack",
    "new_us": "construction, µs",
    "new_interval": "±",
    "new_faults": "faults",
    "free_us": "freeing, µs",
    "free_interval": "±",
    "handshake_us": "handshake, µs",
}
SESSIONS_CAPTION = "Means of a run. Construction: with what is offered to resume. In no handshake's time."


def hits(series: TimedSeries) -> Cell:
    found = sample_or_missing(series, timed_rates.resumption_rate)
    if isinstance(found, Cell):
        return found
    return Cell("none", 0.0) if not found.median else timed_cells.share_cell(found)


def faults(series: TimedSeries, part: str) -> Cell:
    found = sample_or_missing(series, timed_rates.faults_per_interval(part), "not counted")
    return found if isinstance(found, Cell) else Cell(format_number(found.median), round(found.median, 4))


def row(series: TimedSeries, role: Role) -> list[Cell]:
    cells = timed_cells.median_and_interval_cells(sample_or_missing(series, timed_rates.per_second(role)))
    cells += [
        timed_cells.median_cell(sample_or_missing(series, timed_rates.handshakes_with_construction(role))),
        hits(series),
    ]
    return [
        *cells,
        faults(series, role),
        published.nearest_published_cell(series.stack, series.work.suite, role, series.cpu),
    ]


def microseconds(quantity: Quantity) -> Quantity:
    def of(record: Record) -> float | None:
        ns = quantity(record)
        return None if ns is None else ns / 1000

    return of


def around(series: TimedSeries, role: Role) -> list[Cell]:
    """Construction, freeing, and the handshake between."""
    times = [
        sample_or_missing(series, microseconds(timed_rates.mean_interval_ns(f"{role}{part}")))
        for part in ("_new", "_free", "")
    ]
    made, freed, steps = times
    return [
        *timed_cells.median_and_interval_cells(made),
        faults(series, f"{role}_new"),
        *timed_cells.median_and_interval_cells(freed),
        timed_cells.median_cell(steps),
    ]


def blank(timed: TimedSelection, name: str, title: str, caption: str, headings: dict[str, str]) -> Table:
    """A column for each heading; names are on the left. Without rows."""
    columns = shared_columns.work_columns(timed)
    head = len(columns)
    columns += [
        Column(key, heading, left=key in ("role", "stack"), usual=USUAL.get(key)) for key, heading in headings.items()
    ]
    said = " ".join(
        filter(None, [caption, shared_columns.describe_medians(timed), shared_columns.describe_conditions(timed)])
    )
    return Table(name, title, said, columns, headed=head + 1)


def handshakes(timed: TimedSelection) -> Table:
    timed = timed.select_scenario("handshake")
    made = blank(timed, "handshakes", "Handshakes", CAPTION, COLUMNS)
    return filled(made, timed, row)


def sessions(timed: TimedSelection) -> Table:
    timed = timed.select_scenario("handshake")
    made = blank(timed, "sessions", "Construction and freeing of sessions", SESSIONS_CAPTION, SESSIONS)
    return filled(made, timed, around)


def filled(made: Table, timed: TimedSelection, cells: Callable[[TimedSeries, Role], list[Cell]]) -> Table:
    """A row for each work, role and stack: those that are compared stand below each other."""
    for work in timed.works:
        for role in ROLES:
            for series in timed.series_of_work(work):
                head = [*shared_columns.work_cells(timed, work), text_cell(role), text_cell(series.stack)]
                made.rows.append([*head, *cells(series, role)])
    return made
