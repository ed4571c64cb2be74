"""What is written above the panels of the memory figure: each one's heading, and the legend of all."""

from matplotlib.lines import Line2D

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import memory_panels
from tlsmem.plots.frame import INK
from tlsmem.schema.harness_output import Meter, Process
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.settings import SETTING_ASPECTS

BEFORE = {"window": "window ", "cpu": "CPU "}  # values that do not say what they are of


def heading(selection: Selection, setting: Setting, process: Process) -> str:
    """Return the suite as people write it, what else tells the setting from others, and whose process it is."""
    parts = [suite_title(setting.suite)]
    several = [field for field in SETTING_ASPECTS if selection.varies(field)]
    parts += [f"{BEFORE.get(field, '')}{getattr(setting, field)}" for field in several]
    parts += [f"{process}s' process"] if process != "both" else []
    return ", ".join(parts) + (f"; clients are {stack_title(setting.peer)}" if setting.peer else "")


def numbers(meter: Meter, selection: Selection, sessions: int | None = None) -> str:
    """The N that this meter's line by phase is of, in a process: this one, or the largest of each setting."""
    most = set()
    for setting in selection.settings:
        share = 1 if setting.roles == "together" else 2
        found = [sessions] if sessions else selection.where(setting.__eq__).sessions(meter)[-1:]
        most |= {(one // share, share) for one in found}
    if len(most) != 1:
        return "the largest N"
    count, share = most.pop()
    return f"N = {count:,}" if share == 1 else f"{count:,} sessions of the process"


def owners(selection: Selection) -> list[str]:
    """The stacks of processes, in the order of their colours: of mixed pairs the clients' too."""
    return list(dict.fromkeys([*selection.stacks, *(one.peer for one in selection.settings if one.peer)]))


def keys(selection: Selection, sessions: int | None, drawn: set[str], compared: bool) -> list[Line2D]:
    """The legend: stacks by colour and marker, quantities by line where phases are shown and not environments."""
    found = []
    for stack, look in memory_panels.marker_styles(owners(selection)).items():
        style: dict = {"color": look.colour, "marker": look.marker, "markeredgecolor": INK}
        found.append(Line2D([], [], label=stack_title(stack), **style))
    if compared:
        return found
    grey = {"color": "#666666"}  # without a marker: those are the stacks'
    found.append(Line2D([], [], label=f"RSS, {numbers('rss', selection, sessions)}", **grey))
    if "peak" in drawn:
        mark = {"color": "#666666", "marker": "_", "markersize": 9, "linestyle": "none"}
        found.append(Line2D([], [], label="peak RSS inside a phase", **mark))
    if "heap" in drawn:
        label = f"live heap, {numbers('heap', selection)}"
        found.append(Line2D([], [], label=label, linestyle="--", **grey))
    return found
