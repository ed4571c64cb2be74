"""Real servers: what a connection costs them and the kernel, what they keep, and the memory model's prediction."""

from collections.abc import Iterator, Sequence
from functools import partial

from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.base.paths import ROOT
from tlsmem.plots.frame import create_rows
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.schema.live_records import LiveRecord, load_live
from tlsmem.store.recordings import find_recordings
from tlsmem.topics.live import picture as live_servers
from tlsmem.topics.live import prediction_picture as live_picture
from tlsmem.topics.live import table as live
from tlsmem.topics.live import timeline as live_timeline
from tlsmem.topics.live.libraries import library_table
from tlsmem.topics.live.prediction import Prediction, predict, prediction_table
from tlsmem.topics.live.runtimes import runtime_table

FRAME_INCHES, TIMELINE_INCHES = 2.0, 4.4  # around rows; a whole picture


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of the first recording that has live runs: the newest."""
    for one in recordings:
        records = load_live(ROOT / one.path)
        if not records:
            continue
        among = list(dict.fromkeys([ROOT / one.path, *find_recordings(None)]))
        command = f"tools/tls-memtest measure live {recording_arguments(one)}"
        tables = [library_table(records, among), *live.build(records)]
        tables += [runtime_table(records), live.rss_table(records), prediction_table(records, among)]
        shown = tuple(ShownTable(table, command) for table in tables if table.rows)
        found = list(pictures(one, records, predict(records, among).rows))
        return Section("live", "Real servers", pictures=found, tables=shown)
    return None


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
