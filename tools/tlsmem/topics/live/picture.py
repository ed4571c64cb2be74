"""A picture of idle connections to real servers: live heap, RSS beyond it and the kernel's bytes, stacked."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config.libraries import stack_title
from tlsmem.config.live_servers import live_servers
from tlsmem.config.runtimes import runtimes
from tlsmem.plots.frame import THICK, add_frame, list_rows, write_beside
from tlsmem.schema.live_records import LiveRecord, load_live
from tlsmem.slides.slide import create_slide
from tlsmem.stats.live_costs import IdleCost, LiveSeries, find_idle_costs, group_live
from tlsmem.topics.live.table import describe_live

LIVE, RESIDENT, KERNEL = "#174a73", "#9ecae9", "#6b7280"
PARTS: dict[str, dict[str, Any]] = {  # how the parts of a bar look, by their names
    "live heap": {"facecolor": LIVE},
    "RSS beyond it": {"facecolor": RESIDENT},
    "RSS, live heap not measured": {"facecolor": RESIDENT, "hatch": "xx"},
    "kernel": {"facecolor": KERNEL, "hatch": "//"},
}
EDGE: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6}
NAMES = {"nginx": "nginx", "haproxy": "HAProxy", "go": "Go net/http", "rustls": "rustls, hyper"}
ROOM = 1.24  # of the horizontal axis, for figures beside the bars


def name_server(server: str) -> str:
    """Return a server's name as people write it; one with a configuration of its own keeps its name."""
    known = live_servers().get(server) or runtimes().get(server)
    return NAMES.get(server) or (known.what.partition(", event")[0] if known else server)


def name_series(built: LiveSeries | LiveRecord) -> str:
    """Return `HAProxy` as it is packaged, or `HAProxy on AWS-LC 5.12.0`."""
    name = name_server(built.server)
    return f"{name} on {stack_title(built.stack)}" if built.stack else name


def rank_server(server: str) -> tuple[int, str]:
    """Return where a server stands: those of NAMES in that order, then others."""
    return (list(NAMES).index(server) if server in NAMES else len(NAMES)), server


def rank_build(build: tuple[str, str, str | None]) -> tuple[tuple[int, str], str, str]:
    """Return where a series' build stands: its server first, as it is packaged before stacks."""
    server, reported, stack = build
    return rank_server(server), stack or "", reported


def select_costs(records: Iterable[LiveRecord]) -> list[IdleCost]:
    """Return three bars of each server: plain, over TLS with fewest handshakes at a time, and with all concurrent."""
    found = []
    costs = find_idle_costs(group_live(records))
    for build in sorted({one.series.build for one in costs}, key=rank_build):
        own = [one for one in costs if one.series.build == build]
        over_tls = [one for one in own if one.series.transport == "tls"]
        narrow = sorted((one for one in over_tls if one.series.window), key=lambda one: one.series.window or 0)
        found += [one for one in own if one.series.transport == "plain"]
        found += narrow[:1] + [one for one in over_tls if one.series.window is None]
    return found


def name_cost(one: IdleCost) -> str:
    """Return `nginx, TLS, 1 handshake at a time`."""
    name = name_series(one.series)
    if one.series.transport == "plain":
        return f"{name}, plain"
    window = one.series.window
    if window is None:
        return f"{name}, TLS, all handshakes at once"
    return f"{name}, TLS, {window:,} handshake{'s' * (window > 1)} at a time"


def describe_finding(costs: Sequence[IdleCost]) -> str:
    """Return the title: what one costs in the server for which the window matters most, or else the first bar."""
    pairs = [
        (narrow, wide)
        for narrow in costs
        for wide in costs
        if narrow.series.window and wide.series.window is None
        if wide.series.transport == "tls" and wide.series.build == narrow.series.build
    ]
    if not pairs:
        return f"An idle connection: {name_cost(costs[0])}, {costs[0].total:,.0f} B with the kernel's part"
    narrow, wide = max(pairs, key=lambda pair: pair[1].total / pair[0].total)
    return (
        f"{name_release(narrow.series)}: an idle TLS connection costs {narrow.total:,.0f} B with the kernel's part, "
        f"{wide.total:,.0f} B after all handshakes came at once"
    )


def name_release(series: LiveSeries) -> str:
    """Return the server with its version: `HAProxy 2.6.12`."""
    found = re.search(r"\d+(\.\d+)+", series.runs[0].reported)
    on = f" on {stack_title(series.stack)}" if series.stack else ""
    return f"{name_server(series.server)}{f' {found[0]}' if found else ''}{on}"


def list_parts(one: IdleCost) -> dict[str, float]:
    """Return the bytes of a bar's parts by name. Without the heap meter, RSS is one part."""
    if one.live is None:
        return {"RSS, live heap not measured": one.user, "kernel": one.kernel}
    live = min(one.live, one.user)
    return {"live heap": live, "RSS beyond it": one.user - live, "kernel": one.kernel}


def draw(made: Figure, axes: Axes, records: Sequence[LiveRecord]) -> None:
    """Draw the picture into a figure with one panel. Raises ValueError where there is nothing to draw."""
    costs = select_costs(records)
    if not costs:
        raise ValueError("no live runs with two numbers of connections (make live SERVER=nginx)")
    for row, one in enumerate(costs):
        begin = 0.0
        for name, size in list_parts(one).items():
            axes.barh(row, size, left=begin, height=THICK, **PARTS[name], **EDGE)
            begin += size
        write_beside(axes, begin, row, f"{one.total:,.0f} B")
    list_rows(axes, [name_cost(one) for one in costs])
    axes.set_xlim(0, ROOM * max(one.total for one in costs))
    there = {name for one in costs for name in list_parts(one)}
    handles = [Patch(label=name, **style, **EDGE) for name, style in PARTS.items() if name in there]
    counts = sorted({run.connections for one in costs for run in one.series.measured("rss")})
    subtitle = (
        f"Bytes of one idle connection at the server, slopes over {', '.join(f'{one:,}' for one in counts)} of them."
    )
    add_frame(
        made,
        describe_finding(costs),
        subtitle,
        describe_live([run for one in costs for run in one.series.runs]),
        handles,
    )


def select_packaged(records: Iterable[LiveRecord]) -> list[LiveRecord]:
    """Return the runs of servers of NAMES as they are packaged, or built here."""
    return [one for one in records if one.server in NAMES and not one.stack]


def find_newest(among: Sequence[Path]) -> list[LiveRecord]:
    """Return the live runs of servers of NAMES, as packaged, from the recording with most bars, the newest of such."""
    found = map(load_live, among)
    records = select_packaged(max(found, key=lambda one: len(select_costs(select_packaged(one))), default=[]))
    if not select_costs(records):
        raise ValueError("no recording has live runs of real servers (make live SERVER=nginx)")
    return records


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw three bars of each server."""
    made, (axes,) = create_slide()
    draw(made, axes, find_newest(among))
    return made
