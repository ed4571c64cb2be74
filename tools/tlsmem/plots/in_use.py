"""The picture of every stack as servers run it: what a session in use holds, and how much less it can."""

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording_any
from tlsmem.config.suite_title import suite_title
from tlsmem.plots.frame import INK, Style, add_frame, describe_records, points
from tlsmem.plots.left_out import describe_left_out, find_refusals
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.plots.stack_colours import stack_colours
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import IN_USE, Configuration, Place, base_settings, rank_in_use
from tlsmem.stats.runtime_heap import bytes_per_session
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting

ROW_INCHES = 0.235
COLUMNS: tuple[tuple[str, Configuration, float], ...] = (
    ("default", "default", 1.21),
    ("low memory", "low memory", 1.45),
)
DIAMOND: Style = {"marker": "D", "color": "white", "markeredgecolor": INK, "markeredgewidth": 1.2, "linestyle": "none"}


def find_setting(selection: Selection, suite: str | None = None) -> Setting:
    """Return the setting of the picture: of this suite, else of TLS 1.3, else the first.

    Raises ValueError with a sentence when there are no runs with full records."""
    found = base_settings(selection)
    chosen = [one for one in found if suite in (None, one.suite)]
    if not chosen:
        there = f"; of other suites there are: {', '.join(one.suite for one in found)}" if found else ""
        advice = advise_recording_any(AS_DEPLOYED, selection.stacks, suite)
        raise ValueError(f"no runs with full records{f' in {suite}' if suite else ''}{there}; {advice.sentence}")
    return next((one for one in chosen if "tls13" in one.suite), chosen[0])


def size_in_use(place: Place, configuration: Configuration) -> float | None:
    """Return the bytes of live heap a session; None where there is no figure."""
    size = bytes_per_session(place.stack.live(configuration, IN_USE))
    return size if size < float("inf") else None


def draw_row(axes: Axes, at: int, place: Place, colour: str, widest: float) -> None:
    """Draw what a session in use holds as a bar, and with low memory as a diamond on it."""
    sizes = [size_in_use(place, configuration) for _, configuration, _ in COLUMNS]
    used, least = sizes
    if used is not None:
        axes.barh(at, used, height=0.76, color=colour, zorder=2)
    if least is not None:
        axes.plot([least], [at], markersize=5, zorder=3, **DIAMOND)
    for (_, _, end), size in zip(COLUMNS, sizes, strict=True):
        text = "–" if size is None else f"{size:,.0f} B"
        axes.text(end * widest, at, text, ha="right", va="center", fontsize=points(0.9), color=INK)


def describe_saving(places: list[Place], role: Role) -> str:
    """Return the finding: the stack with which low memory saves most; without any, the smallest session."""
    both = [
        (least / used, place)
        for place in places
        for used, least in [[size_in_use(place, configuration) for _, configuration, _ in COLUMNS]]
        if used and least
    ]
    if not both:
        return f"{stack_title(places[0].stack.stack)} holds the least for a {role} session in use"
    share, place = min(both, key=lambda pair: pair[0])
    stack = stack_title(place.stack.stack)
    return f"Low-memory options save up to {1 - share:.0%} of a {role} session, in {stack}"


def figure(selection: Selection, role: Role, suite: str | None = None) -> Figure:
    """Draw one suite and role, those that hold least in use first."""
    setting = find_setting(selection, suite)
    places = [place for place in rank_in_use(selection, setting, role) if place.in_use]
    if not places:
        raise ValueError(f"the recording has no {role} run in use in {setting.suite}")
    sizes = [size_in_use(place, configuration) for place in places for _, configuration, _ in COLUMNS]
    widest = max(size for size in sizes if size is not None)
    stacks = [place.stack.stack for place in places]
    colours = stack_colours(stacks)
    made, axes = pyplot.subplots(figsize=(PAGE_INCHES, 1.9 + ROW_INCHES * len(places)), layout="constrained")
    for at, place in enumerate(places):
        draw_row(axes, at, place, colours[place.stack.stack], widest)
    for heading, _, end in COLUMNS:
        axes.text(end * widest, -0.9, heading, ha="right", fontsize=points(0.9), weight="bold", color=INK)
    axes.set_yticks(range(len(places)), [stack_title(stack) for stack in stacks])
    axes.set_ylim(len(places) - 0.4, -1.0)
    axes.set_xlim(0, 1.01 * COLUMNS[-1][-1] * widest)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    subtitle = f"Live heap of a session that carried 16 KiB each way and waits in a read. {suite_title(setting.suite)}."
    handles = [Line2D([], [], markersize=6, label="with the library's documented low-memory options", **DIAMOND)]
    refusals = find_refusals(run for run in selection.records if run.suite == setting.suite)
    caption = describe_left_out(selection.stacks, stacks, refusals) + describe_records(selection.records)
    add_frame(made, describe_saving(places, role), subtitle, caption, handles)
    return made
