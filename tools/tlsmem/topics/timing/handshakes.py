"""Handshakes: full ones and resumed ones, the client's time and the server's apart; and what lies around them, the
construction and the freeing of sessions."""

from collections.abc import Callable

from tlsmem.stats import timed_rates
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.table import Cell, Column, Table
from tlsmem.tables.timed_cells import interval_cell, median_cell, median_percent_cell
from tlsmem.topics.timing.captions import describe_conditions, describe_medians, join_sentences
from tlsmem.topics.timing.published import nearest_published, published_cell
from tlsmem.topics.timing.rows import STACK, PartRow, part_rows, work_columns

CAPTION = (
    "Handshakes per second of all steps of one role, reading tickets included, for one thread as if it did nothing "
    "else. With construction: includes creating the session. Resumed: share of the timed handshakes, as both ends "
    "report it. Faults: minor page faults per handshake."
)
SESSIONS_CAPTION = (
    "Means of a run. Construction includes what is offered to resume. Neither is part of the handshake time."
)
NOT_COUNTED = Missing("not counted")
NONE_RESUMED = Cell("none", 0.0)


def resumed_cell(share: Sample) -> Cell:
    return median_percent_cell(share) if share.median else NONE_RESUMED


def mean_us(step: str) -> Callable[[PartRow], Sample | Missing]:
    """`step`: `_new`, `_free`, or none for the handshake between."""
    return lambda row: row.measure(timed_rates.mean_interval_us(f"{row.part}{step}"))


def faults(step: str = "") -> Callable[[PartRow], Sample | Missing]:
    return lambda row: row.measure(timed_rates.faults_per_interval(f"{row.part}{step}"), NOT_COUNTED)


ROLE = Column("role", "role", left=True, value=lambda row: row.part)
COLUMNS = (
    Column("per_s", "handshakes/s", value=lambda row: row.rate, form=median_cell),
    Column("interval", "±", value=lambda row: row.rate, form=interval_cell),
    Column(
        "with_construction_per_s",
        "with construction",
        value=lambda row: row.measure(timed_rates.handshakes_with_construction(row.part)),
        form=median_cell,
    ),
    Column(
        "hit_rate",
        "resumed",
        usual=NONE_RESUMED.text,
        value=lambda row: row.measure(timed_rates.resumption_rate),
        form=resumed_cell,
    ),
    Column("faults_each", "faults each", value=faults(), form=median_cell),
    Column(
        "published_per_s",
        "published",
        value=lambda row: nearest_published(row.series, row.part),
        form=published_cell,
    ),
)
SESSION_COLUMNS = (
    Column("new_us", "construction, µs", value=mean_us("_new"), form=median_cell),
    Column("new_interval", "±", value=mean_us("_new"), form=interval_cell),
    Column("new_faults", "faults", value=faults("_new"), form=median_cell),
    Column("free_us", "freeing, µs", value=mean_us("_free"), form=median_cell),
    Column("free_interval", "±", value=mean_us("_free"), form=interval_cell),
    Column("handshake_us", "handshake, µs", value=mean_us(""), form=median_cell),
)


def handshakes(timed: TimedSelection) -> Table:
    return role_table(timed, "handshakes", "Handshakes", CAPTION, COLUMNS)


def sessions(timed: TimedSelection) -> Table:
    return role_table(timed, "sessions", "Construction and freeing of sessions", SESSIONS_CAPTION, SESSION_COLUMNS)


def role_table(timed: TimedSelection, name: str, title: str, caption: str, columns: tuple[Column, ...]) -> Table:
    """A row for each work, role and stack."""
    timed = timed.select_scenario("handshake")
    work = work_columns(timed)
    caption = join_sentences(caption, describe_medians(timed), describe_conditions(timed))
    table = Table(name, title, caption, [*work, ROLE, STACK, *columns], headed=len(work) + 1)
    table.add_rows(part_rows(timed))
    return table
