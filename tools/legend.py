"""What is written above the panels of the memory figure: each one's heading, and the legend of all."""

from matplotlib.lines import Line2D

import panels
from lines import Meter, Process
from selection import Selection
from series import Setting
from settings import VARYING


def heading(selection: Selection, setting: Setting, process: Process) -> str:
    """The setting's name and whose process it is, and what was negotiated."""
    said = ["suite", *(field for field in VARYING if selection.varies(field))]
    parts = [f"window {setting.window}" if field == "window" else str(getattr(setting, field)) for field in said]
    parts += [f"{process}s' process"] if process != "both" else []
    name = ", ".join(parts) + (f"\nclients are {setting.peer}" if setting.peer else "")
    for record in selection.records:
        if Setting.of(record) == setting and record.negotiated:
            agreed = record.negotiated
            return f"{name}\n{agreed.protocol}, {agreed.cipher}, {agreed.group}"
    return name


def numbers(meter: Meter, selection: Selection) -> str:
    """The N that this meter's line in the lower row is of: the largest of each setting."""
    counts = [selection.where(setting.__eq__).sessions(meter) for setting in selection.settings]
    most = {found[-1] for found in counts if found}
    return f"N = {most.pop():,}" if len(most) == 1 else "the largest N"


def keys(selection: Selection, sessions: int | None, whiskers: bool, compared: bool) -> list[Line2D]:
    """The legend: stacks by colour and marker, quantities by line where phases are shown and not environments."""
    found = []
    for index, stack in enumerate(selection.stacks):
        look = panels.style(index)
        name = f"servers are {stack}" if selection.settings[0].peer else stack
        found.append(Line2D([], [], color=look.colour, marker=look.marker, markeredgecolor=panels.INK, label=name))
    if compared:
        return found
    grey = {"color": "#666666", "marker": "o"}
    of_rss = f"N = {sessions:,}" if sessions else numbers("rss", selection)
    found.append(Line2D([], [], label=f"RSS, {of_rss}", **grey))
    if whiskers:
        found.append(Line2D([], [], label="peak RSS inside a phase", color="#666666", marker="_", linestyle="none"))
    if selection.sessions("heap"):
        label = f"live heap, {numbers('heap', selection)}"
        found.append(Line2D([], [], label=label, linestyle="--", markerfacecolor="white", **grey))
    return found
