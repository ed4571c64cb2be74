"""Resumption: what is kept of sessions that are gone, what tickets cost, and resumed sessions beside full ones."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.selection import select
from tlsmem.tables.table import Table
from tlsmem.topics.resumption import picture as session_stores
from tlsmem.topics.resumption.stores import SessionStore, find_stores
from tlsmem.topics.resumption.table import resumed_table, store_table, ticket_table

FRAME_INCHES = 2.2
NAMES = ("resumption", "tickets", "resumed")  # of tables, as they are shown


def section(recordings: Sequence[Recording]) -> Section | None:
    """Each table of the first recording that has it: the newest. Stores and tickets may be recorded apart."""
    found: dict[str, tuple[Recording, Table]] = {}
    for one in recordings:
        for table in make_tables(one):
            if table.rows and table.name not in found:
                found[table.name] = one, table
    if not found:
        return None
    stored = found.get("resumption")
    stores = find_stores(stored[0].records) if stored else []
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(stores))
    shown = [ShownTable(found[name][1], describe_command(found[name][0], name)) for name in NAMES if name in found]
    drawn = list(pictures(stored[0], stores)) if stored else []
    return Section("resumption", "Resumption", html, pictures=drawn, tables=tuple(shown))


def describe_command(recording: Recording, name: str) -> str:
    """Return the command that prints a table of a recording."""
    return f"tools/tls-memtest show tables {recording_arguments(recording)} --table {name}"


def make_tables(recording: Recording) -> Iterator[Table]:
    """Yield the tables of a recording, with rows or without."""
    yield store_table(recording.records)
    memory = [run for run in recording.records if run.scenario == "memory"]
    if memory:
        selection = select(memory)
        yield ticket_table(selection)
        yield resumed_table(selection)


def pictures(recording: Recording, stores: Sequence[SessionStore]) -> Iterator[Picture]:
    """Yield live heap of stores, where a server keeps any."""
    if rows := session_stores.find_rows(stores):
        says = "Live heap of a server's store when it has served all sessions. The table has all."
        title = "What a server keeps of closed sessions"
        command = picture_command("session-stores", recording)
        yield Picture("session-stores", title, says, command, partial(draw, stores, len(rows)))


def draw(stores: Sequence[SessionStore], rows: int) -> Figure:
    """Draw the picture."""
    made, (axes,) = create_rows(rows, FRAME_INCHES)
    session_stores.draw(made, axes, stores)
    return made


def sentences(stores: Sequence[SessionStore]) -> Iterator[str]:
    """Yield a warning about stores that were not full at the end."""
    unbounded = [one for one in stores if not one.refusal and one.is_unbounded]
    if unbounded:
        names = ", ".join(dict.fromkeys(f"{one.stack} ({one.protocol})" for one in unbounded))
        yield (
            f"Warning: not full after {max(one.sessions[-1] for one in unbounded):,} sessions: {names}. "
            "Limit the store, or issue tickets that hold the state themselves."
        )
