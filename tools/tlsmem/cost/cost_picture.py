"""The picture of what a session costs: the three costs of each library's newest release, the cheapest first."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording_any
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_difference, suite_title
from tlsmem.cost.find_costs import SUITE, StackCosts, find_chosen_costs
from tlsmem.cost.screen import FOLLOWING
from tlsmem.plots.frame import INK, Style, add_frame, describe_records, points
from tlsmem.plots.left_out import describe_left_out
from tlsmem.plots.picture import PAGE_INCHES, STYLE, save
from tlsmem.schema.roles import Role
from tlsmem.stats.costs import COSTS, RSS_IN_USE, Cost
from tlsmem.store import recordings

THICK = 0.27  # of a group: one bar
GROUP_INCHES = 0.46
ROOM = 1.17  # of the longest bar: with the figure at its end


class Group(NamedTuple):
    """The bars of a library: in the suite of the picture, or in the one that it has instead."""

    costs: StackCosts
    sizes: dict[Cost, float]  # what is recorded

    def title(self, suite: str) -> str:
        """The stack as people write it, and in what its suite differs from that of the picture."""
        other = suite_difference(self.costs.suite, suite)
        return stack_title(self.costs.stack) + (f"\n{other}" if other else "")


def find_groups(stacks: Sequence[str], named: str | None, role: Role, among: Sequence[Path]) -> list[Group]:
    """Return the groups of these stacks, or of each library's newest release; the least RSS in use first.

    Those without all three costs are left out; stderr has which of `stacks`. Raises ValueError with a sentence when
    nothing is recorded."""
    there = [stack for path in among for stack in recordings.stacks(path)]
    every = [find_chosen_costs(stack, named, among) for stack in stacks or newest_releases(there).values()]
    found = [Group(costs, sizes) for costs in every if len(sizes := costs.sizes(role)) == len(COSTS)]
    drawn = [group.costs.stack for group in found]
    missing = [describe_missing(costs) for costs in every if costs.stack not in drawn] if stacks else []
    if missing and not found:
        raise ValueError("; ".join(missing))
    for sentence in missing:
        print(f"memtest: {sentence}", file=sys.stderr)
    if not found:
        suites = f" in {named}" if named else ""
        advice = advise_recording_any(AS_DEPLOYED, [costs.stack for costs in every], named)
        raise ValueError(f"no {role} session in use is recorded{suites}; {advice.sentence}")
    return sorted(found, key=lambda group: group.sizes[RSS_IN_USE])


def describe_missing(costs: StackCosts) -> str:
    """Say that a stack is not in the picture, and what records it."""
    return f"{costs.stack} is not drawn: not all of it is recorded in {costs.suite}; {costs.recorded.advice.sentence}"


def describe_range(groups: Sequence[Group], role: Role) -> str:
    """Return the finding: the cheapest and the dearest session."""
    least, *_, most = (f"{group.sizes[RSS_IN_USE]:,.0f} B" for group in (*groups[:1], *groups))
    names = [stack_title(groups[at].costs.stack) for at in (0, -1)]
    title = f"A {role} session in use takes {least} of RSS in {names[0]}"
    return f"{title}, {most} in {names[1]}" if len(groups) > 1 else title


def describe_records_of_groups(groups: Sequence[Group], among: Sequence[Path]) -> str:
    """Return the libraries that these recordings have and no group is of, the machines, and the days."""
    there = (stack for path in among for stack in recordings.stacks(path))
    left_out = describe_left_out(there, (group.costs.stack for group in groups))
    return left_out + describe_records(run for group in groups for run in group.costs.records)


def draw_bars(axes: Axes, groups: Sequence[Group]) -> None:
    """Draw three bars for each group, each with its bytes."""
    longest = max(size for group in groups for size in group.sizes.values())
    for at, group in enumerate(groups):
        for index, (cost, size) in enumerate(group.sizes.items()):
            place = at + THICK * (index - 1)
            axes.barh(place, size, height=THICK, color=cost.colour, zorder=2)
            style: Style = {"va": "center", "fontsize": points(0.82), "color": INK}
            weight = "bold" if cost is RSS_IN_USE else "normal"
            axes.text(size + 0.008 * longest, place, f"{size:,.0f} B", weight=weight, **style)
    axes.set_xlim(0, ROOM * longest)
    axes.set_ylim(len(groups) - 0.45, -0.55)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)


def figure(groups: Sequence[Group], suite: str, role: Role, caption: str) -> Figure:
    """Draw the three costs of each group."""
    size = (PAGE_INCHES, 1.7 + GROUP_INCHES * len(groups))
    made, axes = pyplot.subplots(figsize=size, layout="constrained")
    draw_bars(axes, groups)
    axes.set_yticks(range(len(groups)), [group.title(suite) for group in groups])
    handles = [Patch(facecolor=cost.colour, label=f"{cost.name} ({FOLLOWING[cost.key]})") for cost in COSTS]
    subtitle = f"{suite_title(suite)}; the library's defaults. In use: after 16 KiB each way."
    add_frame(made, describe_range(groups, role), subtitle, caption, handles)
    return made


def save_picture(
    stacks: Sequence[str], named: str | None, role: Role, among: Sequence[Path], output: Path
) -> list[Path]:
    """Draw the picture and return the files written. Raises ValueError or OSError with a sentence."""
    with matplotlib.rc_context(STYLE):
        groups = find_groups(stacks, named, role, among)
        caption = describe_records_of_groups(groups, () if stacks else among)
        return save(figure(groups, named or SUITE, role, caption), output)
