"""A picture of one run of each real server over time: RSS and the kernel's bytes while connections come and go."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.plots.frame import GREY, INK, add_frame, points
from tlsmem.plots.line_labels import HALO
from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats.live_costs import group_live, rss_bytes
from tlsmem.stats.session_cost import MIB
from tlsmem.topics.live.picture import KERNEL, RESIDENT, name_series, rank_build
from tlsmem.topics.live.table import describe_live

MARKS = {  # the phase at whose end a line stands, and what has happened since the line before
    "started": "start",
    "established": "handshakes",
    "full records": "requests",
    "idle": "idle",
    "closed": "closed",
    "settled": "",
}


def select_runs(records: Iterable[LiveRecord]) -> list[LiveRecord]:
    """Return the largest run of each server over TLS with all handshakes concurrent, or the widest window."""
    found: dict[tuple[str, str, str | None], LiveRecord] = {}
    for series in group_live(records):
        run = series.largest
        if series.transport == "tls" and not series.hollow and run and run.samples.elapsed_s:
            found[series.build] = run  # those with all concurrent come last
    return [found[build] for build in sorted(found, key=rank_build)]


def describe_finding(runs: Sequence[LiveRecord]) -> str:
    """Return the title: what each server keeps once all connections are closed, of the most that it had before."""
    said = []
    for run in runs:
        ends = {phase.phase: phase.ended_s for phase in run.phases}
        first = zip(run.samples.elapsed_s, run.samples.user_bytes, strict=True)
        most = max((size for second, size in first if second <= ends["closed"]), default=0)
        kept = next(rss_bytes(phase) for phase in run.phases if phase.phase == "settled")
        said.append(f"{name_series(run)} keeps {kept / most:.0%} of its RSS".replace("%", "\N{NO-BREAK SPACE}%"))
    return f"When {runs[0].connections:,} connections have closed, {', '.join(said)}".replace(
        " of its RSS", "", len(said) - 1
    )


def describe_opening(runs: Sequence[LiveRecord]) -> str:
    """Return how many connections a run opens, and how many handshakes at a time, where all runs are alike."""
    windows = {run.window if run.window < run.connections else None for run in runs}
    counts = sorted({run.connections for run in runs})
    opening = f"{' to '.join(f'{count:,}' for count in dict.fromkeys((counts[0], counts[-1])))} TLS connections"
    if windows == {None}:
        return f"{opening}, all handshakes at once"
    window = windows.pop() if len(windows) == 1 else None
    return f"{opening}, {window:,} handshake{'s' * (window > 1)} at a time" if window else opening


def draw_panel(axes: Axes, run: LiveRecord, top: float) -> None:
    """Draw one run, with the ends of its phases."""
    samples = run.samples
    user, kernel = ([size / MIB for size in sizes] for sizes in (samples.user_bytes, samples.kernel_bytes))
    axes.stackplot(samples.elapsed_s, user, kernel, colors=[RESIDENT, KERNEL], linewidth=0)
    axes.set(xlim=(0, samples.elapsed_s[-1]), ylim=(0, top), xlabel="seconds")
    begin = 0.0
    for phase in run.phases:
        label = MARKS.get(phase.phase, "wave" if phase.phase.endswith("closed") and "wave" in phase.phase else None)
        if label is None:
            continue
        axes.axvline(phase.ended_s, color=GREY, linewidth=0.8, zorder=3)
        wide = (phase.ended_s - begin) / samples.elapsed_s[-1]
        if label and wide > 0.03:
            place = ((begin + phase.ended_s) / 2, 0.985 * top)
            style: dict[str, Any] = {
                "ha": "center",
                "va": "top",
                "color": INK,
                "fontsize": points(0.8),
                "path_effects": HALO,
            }
            axes.text(*place, label, rotation=90, **style)
        begin = phase.ended_s
    axes.set_title(name_series(run), loc="left", fontsize=points(1), color=INK)


def draw(made: Figure, panels: Sequence[Axes], records: Sequence[LiveRecord]) -> None:
    """Draw a panel for each server. Raises ValueError where no run has samples."""
    runs = select_runs(records)
    if not runs:
        raise ValueError("no live runs over TLS (make live SERVER=nginx)")
    heights = [max(map(sum, zip(run.samples.user_bytes, run.samples.kernel_bytes, strict=True))) for run in runs]
    top = 1.3 * max(heights) / MIB
    for axes, run in zip(panels, runs, strict=True):
        draw_panel(axes, run, top)
    panels[0].set_ylabel("MiB")
    handles = [Patch(color=RESIDENT, label="RSS"), Patch(color=KERNEL, label="kernel")]
    subtitle = f"{describe_opening(runs)}; then requests, idle, close, and waves alike."
    add_frame(made, describe_finding(runs), subtitle, describe_live(runs), handles)
