"""The picture of every stack as servers run it: what a session in use holds, and how much less it can."""

import textwrap

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tlsmem.plots.bucket_panel import INK
from tlsmem.plots.picture import add_title_and_legend
from tlsmem.plots.stack_colours import colour_legend, stack_colour
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import AT_REST, IN_USE, Configuration, Place, base_settings, rank_in_use
from tlsmem.stats.runtime_heap import bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.settings import dates, describe_machine

ROW_INCHES = 0.27
WIDE = 190  # characters of a line below the picture
PALE = 0.35  # of what a session in use holds beyond what it holds with low memory
COLUMNS: tuple[tuple[str, Configuration, str, float], ...] = (  # heading, what of, and where its figures end
    ("in use", "default", IN_USE, 1.10),
    ("low memory", "low memory", IN_USE, 1.22),
    ("no tickets, at rest", "no tickets", AT_REST, 1.38),
)


def find_setting(selection: Selection, suite: str | None = None) -> Setting:
    """Return the setting of the picture: of this suite, else of TLS 1.3, else the first.

    Raises ValueError with a sentence when there are no runs with full records."""
    found = base_settings(selection)
    chosen = [one for one in found if suite in (None, one.suite)]
    if not chosen:
        there = f"; of other suites there are: {', '.join(one.suite for one in found)}" if found else ""
        raise ValueError(f"no runs with full records{there} (tools/measure.py deployed-config)")
    return next((one for one in chosen if "tls13" in one.suite), chosen[0])


def kibibytes(place: Place, configuration: Configuration, phase: str) -> float | None:
    """Return KiB of live heap a session; None where there is no figure."""
    size = bytes_per_session(place.stack.live(configuration, phase)) / KIB
    return size if size < float("inf") else None


def draw_bar(axes: Axes, at: int, place: Place, widest: float) -> None:
    """Draw what a session in use holds, what of it stays with low memory, and at rest without tickets a mark."""
    colour = stack_colour(place.stack.stack)
    used, least, rest = (kibibytes(place, configuration, phase) for _, configuration, phase, _ in COLUMNS)
    if used is not None:
        alpha = PALE if least is not None else 1.0
        axes.barh(at, used, height=0.72, color=colour, alpha=alpha, edgecolor=INK, linewidth=0.5, zorder=2)
    if least is not None:
        axes.barh(at, least, height=0.72, color=colour, edgecolor=INK, linewidth=0.5, zorder=2.5)
    if rest is not None:
        axes.plot([rest], [at], "|", color=INK, markersize=10, markeredgewidth=1.6, zorder=3)
    for (_, _, _, end), size in zip(COLUMNS, (used, least, rest), strict=True):
        weight = "bold" if end == COLUMNS[0][3] else "normal"
        text = "–" if size is None else f"{size:.1f}"
        axes.text(end * widest, at, text, ha="right", va="center", fontsize=8.5, color=INK, weight=weight)


def figure(selection: Selection, role: Role, suite: str | None = None) -> Figure:
    """Draw one suite and role, those that hold least in use first."""
    setting = find_setting(selection, suite)
    places = [place for place in rank_in_use(selection, setting, role) if place.in_use]
    if not places:
        raise ValueError(f"no {role} in use was measured in {setting.suite}")
    sizes = [kibibytes(place, configuration, phase) for place in places for _, configuration, phase, _ in COLUMNS]
    widest = max(size for size in sizes if size is not None)
    made, axes = pyplot.subplots(figsize=(12.8, max(4.2, 2.1 + ROW_INCHES * len(places))), layout="constrained")
    for at, place in enumerate(places):
        draw_bar(axes, at, place, widest)
    for heading, _, _, end in COLUMNS:
        axes.text(end * widest, -0.8, heading, ha="right", fontsize=8.5, color=INK)
    axes.set_yticks(range(len(places)), [place.stack.stack for place in places])
    axes.set_ylim(len(places) - 0.4, -0.7)
    axes.set_xlim(0, 1.01 * COLUMNS[-1][3] * widest)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= widest])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"KiB of live heap that one more {role} session holds")
    axes.set_title(f"{setting.suite}; 16 KiB each way, then waiting in a read", fontsize=9, color="#444444")
    stacks = [place.stack.stack for place in places]
    add_title_and_legend(made, f"What a TLS {role} session in use holds", legend(stacks), describe(selection))
    return made


def legend(stacks: list[str]) -> list[Patch | Line2D]:
    """Return the entries: languages, and what the parts of a bar are."""
    mark = Line2D([], [], color=INK, marker="|", markersize=9, markeredgewidth=1.6, linestyle="none")
    mark.set_label("at rest, no tickets, nothing written")
    given_back = Patch(
        facecolor="#777777", alpha=PALE, edgecolor=INK, linewidth=0.5, label="given back with low memory"
    )
    return [*colour_legend(stacks), given_back, mark]


def describe(selection: Selection) -> str:
    """Say what low memory is and where the figures come from."""
    said = (
        "In use: the library's own options and number of tickets. Low memory: its documented ways to hold less at "
        "rest; – where it has none."
    )
    where = f"{describe_machine(selection.records[0])}. Recorded {dates(selection.records)}."
    return "\n".join([*textwrap.wrap(said, WIDE), where])
