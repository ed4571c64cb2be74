"""A picture of the memory model against real servers: what was predicted and what was measured, row by row."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.plots.frame import GREY, INK, add_frame, list_rows, write_in_column
from tlsmem.schema.live_records import LiveRecord
from tlsmem.topics.live.picture import name_series
from tlsmem.topics.live.prediction import TOLERANCE, Prediction, percent
from tlsmem.topics.live.table import describe_live

PREDICTED, MEASURED = "#b03a2e", "#1f618d"
ROOM = 1.46


def name_row(row: Prediction) -> str:
    """Return `nginx, 1 at a time, idle: RSS`."""
    window = "all at once" if row.window == "all" else f"{row.window} at a time"
    return f"{name_series(row.series)}, {window}, {row.state}: {row.quantity}"


def select_rows(rows: Sequence[Prediction]) -> list[Prediction]:
    """Return those of each server with fewest handshakes at a time, and with all concurrent; the table has all."""
    found = []
    for row in rows:
        alike = [one.series for one in rows if one.series.build == row.series.build]
        if row.series.window is None or row.series.window == min(one.window for one in alike if one.window):
            found.append(row)
    return found


def describe_finding(rows: Sequence[Prediction]) -> str:
    """Return the title: how many predictions are within the tolerance."""
    near = sum(abs(row.difference) <= TOLERANCE for row in rows)
    return f"{near} of {len(rows)} predictions of real servers are within {TOLERANCE:.0%}".replace(
        "%", "\N{NO-BREAK SPACE}%"
    )


def draw(made: Figure, axes: Axes, rows: Sequence[Prediction], records: Sequence[LiveRecord]) -> None:
    """Draw a row for each figure. Raises ValueError where nothing was predicted."""
    rows = select_rows(rows)
    if not rows:
        raise ValueError("no live run can be predicted from the recordings")
    last = max(max(row.predicted_bytes, row.measured_bytes) for row in rows)
    for at, row in enumerate(rows):
        axes.plot([row.predicted_bytes, row.measured_bytes], [at, at], color=GREY, linewidth=1.5, zorder=1)
        axes.plot(row.predicted_bytes, at, "o", color=PREDICTED, markerfacecolor="white", zorder=3)
        axes.plot(row.measured_bytes, at, "o", color=MEASURED, zorder=2)
        write_in_column(axes, 1.24 * last, at, f"{row.measured_bytes:,.0f} B")
        write_in_column(axes, 1.44 * last, at, percent(row.difference), bold=abs(row.difference) > TOLERANCE)
    list_rows(axes, [name_row(row) for row in rows])
    axes.set_xlim(0, ROOM * last)
    style: dict[str, Any] = {"linestyle": "none", "marker": "o"}
    handles = [
        Line2D([], [], color=PREDICTED, markerfacecolor="white", label="predicted from the harness", **style),
        Line2D([], [], color=MEASURED, label="measured", **style),
    ]
    subtitle = "Bytes of one TLS connection, page tables left out; on the right the measurement and its difference."
    add_frame(made, describe_finding(rows), subtitle, describe_live(records), handles)
    axes.tick_params(axis="y", labelcolor=INK)
