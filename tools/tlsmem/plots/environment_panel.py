"""The panel of environments: what a session costs in each, beside the controlled environment; every repeat is a dot."""

import statistics
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes

from tlsmem.plots.memory_panels import INK, marker_styles
from tlsmem.schema.harness_output import Env, Process
from tlsmem.stats import repeats, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.environments import LAB

WIDTH = 0.16  # between stacks; a bar is as wide


def compares_environments(selection: Selection) -> bool:
    """Whether there are several environments, and the controlled one was measured wherever another was."""
    return selection.varies("env") and all(replace(one, env=LAB) in selection.settings for one in selection.settings)


def shares(selection: Selection, stack: str, setting: Setting, process: Process, envs: Sequence[Env]) -> dict:
    """By environment the slope of each repeat, in percent above the controlled one's median; none without it."""
    series = {env: selection.series(stack, replace(setting, env=env), process) for env in envs}
    found = {env: repeats.slopes(one, session_cost.peak_rss) for env, one in series.items()}
    if not found[LAB]:
        return {}
    base = statistics.median(found[LAB])
    return {env: [100 * (slope / base - 1) for slope in slopes] for env, slopes in found.items()}


def draw_by_environment(axes: Axes, selection: Selection, setting: Setting, process: Process) -> None:
    """Dots of the repeats and a bar at their median, stacks beside each other."""
    envs = list(dict.fromkeys(one.env for one in selection.settings))
    axes.axhline(0, color="#666666", linewidth=1, zorder=1)
    for index, (stack, look) in enumerate(marker_styles(selection.stacks).items()):
        shift = WIDTH * (index - (len(selection.stacks) - 1) / 2)
        for env, values in shares(selection, stack, setting, process, envs).items():
            at = envs.index(env) + shift
            dots = {"color": look.colour, "markeredgecolor": INK, "markeredgewidth": 0.5, "markersize": 6}
            axes.plot([at] * len(values), values, look.marker, zorder=3, **dots)
            if values:
                ends = [at - 0.45 * WIDTH, at + 0.45 * WIDTH]
                axes.plot(ends, [statistics.median(values)] * 2, color=INK, linewidth=1.2, zorder=4)
    axes.set_xticks(range(len(envs)), envs)
    axes.set_xlim(-0.5, len(envs) - 0.5)
    axes.set_xlabel("environment; dots: repeats, bar: median")
    axes.set_ylabel("slope, % above the lab's")
