"""What is written above the panels of the memory figure: each one's heading, and the legend of all."""

from collections.abc import Iterable

from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import memory_panels
from tlsmem.plots.frame import INK
from tlsmem.plots.memory_panels import choose_sessions
from tlsmem.schema.harness_output import Process
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.tables.settings import SETTING_ASPECTS

BEFORE = {"window": "window ", "cpu": "CPU "}  # values that do not say what they are of


def heading(selection: Selection, setting: Setting, process: Process) -> str:
    """Return the suite as people write it, what else tells the setting from others, and whose process it is."""
    parts = [suite_title(setting.suite)]
    several = [field for field in SETTING_ASPECTS if selection.varies(field)]
    parts += [f"{BEFORE.get(field, '')}{getattr(setting, field)}" for field in several]
    parts += [f"{process}s' process"] if process != "both" else []
    return ", ".join(parts) + (f"; clients are {stack_title(setting.peer)}" if setting.peer else "")


def describe_sessions(lines: Iterable[Iterable[Series]], sessions: int | None = None) -> str:
    """Return the N of the lines by phase, in a process: this one, or the one that each line has."""
    every = [(series, sessions or choose_sessions(series)) for stacks in lines for series in stacks]
    most = {(count // series.share, series.share) for series, count in every if count}
    if len(most) != 1:
        return "at the largest N of each line"
    ((count, share),) = most
    return f"N = {count:,}" if share == 1 else f"{count:,} sessions of the process"


def owners(selection: Selection) -> list[str]:
    """The stacks of processes, in the order of their colours: of mixed pairs the clients' too."""
    return list(dict.fromkeys([*selection.stacks, *(one.peer for one in selection.settings if one.peer)]))


def keys(selection: Selection, drawn: set[str], compared: bool) -> list[Line2D]:
    """The legend: stacks by colour and marker, quantities by line where phases are shown and not environments."""
    found = []
    for stack, look in memory_panels.marker_styles(owners(selection)).items():
        style: dict = {"color": look.colour, "marker": look.marker, "markeredgecolor": INK}
        found.append(Line2D([], [], label=stack_title(stack), **style))
    if compared:
        return found
    grey = {"color": "#666666"}  # without a marker: those are the stacks'
    found.append(Line2D([], [], label="RSS", **grey))
    if "peak" in drawn:
        mark = {"color": "#666666", "marker": "_", "markersize": 9, "linestyle": "none"}
        found.append(Line2D([], [], label="peak RSS inside a phase", **mark))
    if "heap" in drawn:
        found.append(Line2D([], [], label="live heap", linestyle="--", **grey))
    return found
