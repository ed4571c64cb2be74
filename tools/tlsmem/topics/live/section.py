"""Real servers: what a connection costs them and the kernel, what they keep, and the memory model's prediction."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.base.paths import ROOT
from tlsmem.plots.frame import create_rows
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.schema.live_records import LiveRecord, load_live
from tlsmem.store.recordings import find_recordings
from tlsmem.topics.live import comparison_pictures
from tlsmem.topics.live import picture as live_servers
from tlsmem.topics.live import prediction_picture as live_picture
from tlsmem.topics.live import table as live
from tlsmem.topics.live import timeline as live_timeline
from tlsmem.topics.live.added import added_table
from tlsmem.topics.live.comparison_pictures import AddedBar, LibraryBar
from tlsmem.topics.live.libraries import library_table
from tlsmem.topics.live.picture import select_costs, select_packaged
from tlsmem.topics.live.prediction import Prediction, predict, prediction_table
from tlsmem.topics.live.runtimes import runtime_table

FRAME_INCHES, TIMELINE_INCHES = 2.0, 4.4  # around rows; a whole picture


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of recordings that have live runs, the newest first: what compares servers, libraries and runtimes, each from the
    newest that can; and all of that with most servers as they are packaged."""
    found = [(one, records) for one in recordings if (records := load_live(ROOT / one.path))]
    if not found:
        return None
    tables, drawn = compare_servers(found)
    one, records = max(found, key=lambda pair: len(select_costs(select_packaged(pair[1]))))
    among = list_sessions(one)
    command = show_command(one)
    each = [*live.build(records), live.rss_table(records), prediction_table(records, among)]
    tables += [ShownTable(table, command) for table in each if table.rows]
    drawn += pictures(one, records, predict(records, among).rows)
    return Section("live", "Real servers", pictures=drawn, tables=tuple(tables))


def list_sessions(recording: Recording) -> list[Path]:
    """Return where sessions are looked up: beside the live runs first."""
    return list(dict.fromkeys([ROOT / recording.path, *find_recordings(None)]))


def show_command(recording: Recording) -> str:
    """Return the command that prints the tables of its live runs."""
    return f"tools/tls-memtest measure live {recording_arguments(recording)}"


def compare_servers(
    found: Sequence[tuple[Recording, Sequence[LiveRecord]]],
) -> tuple[list[ShownTable], list[Picture]]:
    """Return the tables and pictures of one server on several libraries, of what TLS adds, and of runtimes."""
    tables: list[ShownTable] = []
    drawn: list[Picture] = []
    for one, records in found:
        bars = comparison_pictures.list_bars(records, list_sessions(one))
        if comparison_pictures.has_libraries(bars):
            tables.append(ShownTable(library_table(records, list_sessions(one)), show_command(one)))
            drawn.append(picture_libraries(one, bars))
            break
    one, records = max(found, key=lambda pair: len(comparison_pictures.list_added(pair[1])))
    added = comparison_pictures.list_added(records)
    if len(added) > 1:
        tables.append(ShownTable(added_table(records), show_command(one)))
        drawn.append(picture_added(one, added))
    runtimes = ((one, runtime_table(records)) for one, records in found)
    tables += [ShownTable(table, show_command(one)) for one, table in runtimes if table.rows][:1]
    return tables, drawn


def picture_libraries(recording: Recording, bars: Sequence[LibraryBar]) -> Picture:
    says = "One idle connection: the library's session, the server's own live heap, RSS beyond both, and the kernel's."
    command = picture_command("live-libraries", recording)
    return Picture("live-libraries", "One server, several libraries", says, command, partial(draw_libraries, bars))


def picture_added(recording: Recording, bars: Sequence[AddedBar]) -> Picture:
    says = "An idle connection over TLS less a plain one of the same server. The table has all states."
    command = picture_command("live-added", recording)
    return Picture("live-added", "What TLS adds to a connection, by server", says, command, partial(draw_added, bars))


def pictures(recording: Recording, records: Sequence[LiveRecord], rows: Sequence[Prediction]) -> Iterator[Picture]:
    """Yield bytes by server, memory over time, and predictions, where there is any."""
    costs, runs = live_servers.select_costs(records), live_timeline.select_runs(records)
    if costs:
        says = "Live heap, RSS beyond it and the kernel's bytes of one idle connection. The table has all states."
        title = "What an idle connection to a real server costs"
        command = picture_command("live-servers", recording)
        yield Picture("live-servers", title, says, command, partial(draw_servers, records, len(costs)))
    if runs:
        says = "RSS and the kernel's bytes of a server while connections come, idle and go, and over waves after that."
        title = "Memory of real servers over time"
        command = picture_command("live-timeline", recording)
        yield Picture("live-timeline", title, says, command, partial(draw_timeline, records))
    if rows:
        says = (
            "What the memory model predicts from recordings of the harness, and what was measured. The table has all."
        )
        title = "The memory model against real servers"
        drawn = partial(draw_predictions, live_picture.select_rows(rows), records)
        yield Picture("live-prediction", title, says, picture_command("live-prediction", recording), drawn)


def draw_servers(records: Sequence[LiveRecord], rows: int) -> Figure:
    """Draw the stacked bars."""
    made, (axes,) = create_rows(rows, FRAME_INCHES)
    live_servers.draw(made, axes, records)
    return made


def draw_timeline(records: Sequence[LiveRecord]) -> Figure:
    """Draw memory over time."""
    many = len(live_timeline.select_runs(records))
    made, grid = pyplot.subplots(
        1, many, figsize=(PAGE_INCHES, TIMELINE_INCHES), layout="constrained", squeeze=False, sharey=True
    )
    live_timeline.draw(made, list(grid.flat), records)
    return made


def draw_predictions(rows: Sequence[Prediction], records: Sequence[LiveRecord]) -> Figure:
    """Draw predictions and measurements."""
    made, (axes,) = create_rows(len(rows), FRAME_INCHES)
    live_picture.draw(made, axes, rows, records)
    return made


def draw_libraries(bars: Sequence[LibraryBar]) -> Figure:
    """Draw a server on several libraries."""
    made, (axes,) = create_rows(len(bars), FRAME_INCHES)
    comparison_pictures.draw_libraries(made, axes, bars)
    return made


def draw_added(bars: Sequence[AddedBar]) -> Figure:
    """Draw what TLS adds."""
    made, (axes,) = create_rows(len(bars), FRAME_INCHES)
    comparison_pictures.draw_added(made, axes, bars)
    return made
