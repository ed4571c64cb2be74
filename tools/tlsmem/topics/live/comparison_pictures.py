"""Two pictures that compare servers: one server on several libraries, and what TLS adds to a connection of each server.

Both are of idle connections that were used, with fewest handshakes at a time."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tlsmem.config.choices import RUNTIMES
from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import THICK, add_frame, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour, lighten
from tlsmem.schema.live_records import USUAL, LiveRecord, load_live
from tlsmem.slides.slide import create_slide
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries
from tlsmem.stats.missing import Missing, find_missing, replace_missing
from tlsmem.store.recordings import find_recordings
from tlsmem.topics.live import added, libraries
from tlsmem.topics.live.picture import EDGE, LIVE, PARTS, RESIDENT, ROOM, name_release, name_server, rank_build
from tlsmem.topics.live.table import describe_live

STATE = "idle"
ROOM_FOR_TWO = 1.8  # of the horizontal axis, for two figures beside a bar
HATCH = "xx"  # of RSS beyond live heap
OWN, BEYOND = 0.45, 0.75  # of the way to white: the server's own part of a bar, and RSS beyond live heap


class LibraryBar(NamedTuple):
    """Bytes of a connection to a server on a library: the library's session, the server's own beside it, what RSS is
    beyond both, and the kernel's."""

    series: LiveSeries
    session: float
    own: float
    beyond: float
    kernel: float

    @property
    def total(self) -> float:
        return self.session + self.own + self.beyond + self.kernel


Row = TypeVar("Row", added.AddedRow, libraries.LibraryRow)


def select_narrow(rows: Iterable[Row], series_of: Callable[[Row], LiveSeries]) -> list[Row]:
    """Return the row of each program that is idle, its connections of the usual kind, with fewest handshakes at a
    time."""
    found: dict[tuple[str, str, str | None], Row] = {}
    for row in rows:
        one = series_of(row)
        if row.state != STATE or one.variant != USUAL or not one.window:
            continue
        known = found.get(one.build)
        if known is None or one.window < (series_of(known).window or 0):
            found[one.build] = row
    return list(found.values())


def list_bars(records: Sequence[LiveRecord], among: Sequence[Path]) -> list[LibraryBar]:
    """Return a bar for each server and library whose session is recorded, those of a server largest first."""
    found = []
    for row in select_narrow(libraries.list_rows(records, among), lambda row: row.series):
        rss, kernel = row.slope(live_costs.rss_bytes), row.slope(live_costs.server_kernel_bytes)
        parts = (row.session, row.own, rss, kernel, row.live)
        if find_missing(*parts) is None:
            session, own, resident, of_kernel, live = (float(replace_missing(one, 0)) for one in parts)
            found.append(LibraryBar(row.series, session, own, max(0.0, resident - live), of_kernel))
    return sorted(found, key=lambda one: (rank_build((one.series.server, "", None)), -one.total))


def describe_libraries(bars: Sequence[LibraryBar]) -> str:
    """Return the title: the server for which the library matters most, on its largest and its smallest."""
    by_server = [[one for one in bars if one.series.server == name] for name in {one.series.server for one in bars}]
    most, *_, least = max((one for one in by_server if len(one) > 1), key=lambda one: one[0].total / one[-1].total)
    return (
        f"One server, several libraries: an idle connection to {name_server(most.series.server)} costs "
        f"{most.total:,.0f} B on {name_library(most)} and {least.total:,.0f} B on {name_library(least)}"
    )


def name_library(bar: LibraryBar) -> str:
    """Return `AWS-LC 5.12.0`."""
    return stack_title(bar.series.stack or "")


def has_libraries(bars: Sequence[LibraryBar]) -> bool:
    """Return whether a server is there on two libraries."""
    return len(bars) > len({one.series.server for one in bars})


def draw_libraries(made: Figure, axes: Axes, bars: Sequence[LibraryBar]) -> None:
    """Draw a stacked bar for each server and library. Raises ValueError where no server is there on two."""
    if not has_libraries(bars):
        raise ValueError("no live runs of one server on two libraries (make live-short)")
    for row, one in enumerate(bars):
        colour, begin = library_colour(one.series.stack or ""), 0.0
        parts = (
            (one.session, {"facecolor": colour}),
            (one.own, {"facecolor": lighten(colour, OWN)}),
            (one.beyond, {"facecolor": lighten(colour, BEYOND), "hatch": HATCH}),
            (one.kernel, PARTS["kernel"]),
        )
        for size, style in parts:
            axes.barh(row, size, left=begin, height=THICK, **style, **EDGE)
            begin += size
        write_beside(axes, begin, row, f"{one.total:,.0f} B", bold=True)
    list_rows(axes, [f"{name_server(one.series.server)}, {name_library(one)}" for one in bars])
    axes.set_xlim(0, ROOM * max(one.total for one in bars))
    handles = [
        Patch(label="session of the library, live heap", facecolor="#555555", **EDGE),
        Patch(label="the server's own live heap", facecolor=lighten("#555555", OWN), **EDGE),
        Patch(label="RSS beyond live heap", facecolor=lighten("#555555", BEYOND), hatch=HATCH, **EDGE),
        Patch(label="kernel", **PARTS["kernel"], **EDGE),
    ]
    subtitle = "Bytes of one idle TLS 1.3 connection at the server, after a request and 16 KiB each way."
    add_frame(made, describe_libraries(bars), subtitle, describe_live(list_runs(bars)), handles)


def list_runs(bars: Iterable[LibraryBar]) -> list[LiveRecord]:
    """Return the runs that bars are made of."""
    return [run for one in bars for run in one.series.runs]


class AddedBar(NamedTuple):
    """What TLS adds to a connection of a server: bytes of RSS, and of live heap; None where no meter sees it."""

    series: LiveSeries
    rss: float
    live: float | None


def list_added(records: Sequence[LiveRecord]) -> list[AddedBar]:
    """Return a bar for each program whose plain connections were measured too, the smallest first."""
    found = []
    named = [one for one in records if one.server not in RUNTIMES]  # whose RSS has garbage: tables have it
    for row in select_narrow(added.list_rows(named), lambda row: row.tls):
        rss, live = row.added(live_costs.rss_anon_bytes), row.added_live
        if not isinstance(rss, Missing):
            found.append(AddedBar(row.tls, rss, None if isinstance(live, Missing) else live.bytes))
    return sorted(found, key=lambda one: one.rss)


def draw_added(made: Figure, axes: Axes, bars: Sequence[AddedBar]) -> None:
    """Draw RSS as a bar and live heap as a dot, a row for each program. Raises ValueError where there are not two."""
    if len(bars) < 2:
        raise ValueError("no live runs of two servers, plain and over TLS (make live SERVER=nginx,mosquitto)")
    largest = max(max(one.rss, one.live or 0.0) for one in bars)
    for row, one in enumerate(bars):
        axes.barh(row, one.rss, height=THICK, facecolor=RESIDENT, **EDGE)
        if one.live is not None:
            axes.plot(one.live, row, "o", color=LIVE, zorder=3)
        figures = f"{one.rss:,.0f} B" + (f", live heap {one.live:,.0f} B" if one.live is not None else "")
        write_beside(axes, max(one.rss, one.live or 0.0), row, figures)
    list_rows(axes, [name_release(one.series) for one in bars])
    axes.set_xlim(0, ROOM_FOR_TWO * largest)
    least, most = bars[0], bars[-1]
    title = (
        f"TLS adds {least.rss:,.0f} B to a connection of {name_release(least.series)}, and {most.rss:,.0f} B to one of "
        f"{name_release(most.series)}"
    )
    handles = [
        Patch(label="RSS that TLS adds", facecolor=RESIDENT, **EDGE),
        Line2D([], [], linestyle="none", marker="o", color=LIVE, label="live heap that TLS adds, by the heap meter"),
    ]
    subtitle = (
        "An idle connection over TLS 1.3 less a plain one of the same server, both after a request. Kernel left out."
    )
    runs = [run for one in bars for run in one.series.runs]
    add_frame(made, title, subtitle, describe_live(runs), handles)


def draw_library_slide(among: Sequence[Path]) -> Figure:
    """Draw one server on several libraries, from the newest recording that has one."""
    made, (axes,) = create_slide()
    sessions = list(dict.fromkeys([*among, *find_recordings(None)]))
    found = (list_bars(load_live(one), sessions) for one in among)
    draw_libraries(made, axes, next(filter(has_libraries, found), []))
    return made


def draw_added_slide(among: Sequence[Path]) -> Figure:
    """Draw what TLS adds, from the recording that has it of most programs, the newest of these."""
    made, (axes,) = create_slide()
    draw_added(made, axes, max((list_added(load_live(one)) for one in among), key=len, default=[]))
    return made
