"""The finding of the picture of memory: how many times a session of one stack takes what one of another takes."""

import statistics
from collections.abc import Sequence

from tlsmem.config.libraries import libraries, library_key, stack_title
from tlsmem.plots import environment_panel
from tlsmem.schema.harness_output import Process
from tlsmem.stats import session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import KIB

NEAR = 1.05  # a ratio below it is said in percent


def slope(series: Series) -> float | None:
    """Return the bytes of peak RSS that one more session of the process takes; None where runs are of one N."""
    medians = session_cost.medians(series.full("rss"), session_cost.peak_rss)
    line = session_cost.fit_line({sessions // series.share: peak for sessions, peak in medians.items()})
    return line.slope if line and line.slope > 0 else None


def slopes_by_owner(lines: Sequence[Sequence[Series]]) -> list[dict[str, float]]:
    """Return the slopes of each panel's stacks, by the stack whose process it is."""
    return [{one.owner: size for one in stacks if (size := slope(one)) is not None} for stacks in lines]


def join_range(values: Sequence[float], form: str) -> str:
    """Return the least and the most of the values in this form: `6.5 to 7.1`."""
    return " to ".join(dict.fromkeys(format(value, form) for value in (min(values), max(values))))


def describe_finding(lines: Sequence[Sequence[Series]]) -> str:
    """Return how many times the smallest stack's memory the largest one takes, over the panels that have both."""
    panels = slopes_by_owner(lines)
    every_owner = list(dict.fromkeys(owner for panel in panels for owner in panel))
    owners = [owner for owner in every_owner if library_key(owner) in libraries()] or every_owner  # null is no library
    if not owners:
        return "What a TLS session costs in memory"
    every = {owner: [panel[owner] for panel in panels if owner in panel] for owner in owners}
    ordered = sorted(owners, key=lambda owner: statistics.geometric_mean(every[owner]))
    least, most = ordered[0], ordered[-1]
    ratios = [panel[most] / panel[least] for panel in panels if least in panel and most in panel]
    if least == most or not ratios:
        sizes = join_range([size / KIB for size in every[most]], ".1f")
        return f"{stack_title(most)} takes {sizes} KiB of peak RSS for each session"
    large, small = stack_title(most), stack_title(least)
    if max(ratios) < NEAR:
        return f"{small} and {large} take the same peak RSS to {max(ratios) - 1:.1%}"
    return f"{large} takes {join_range(ratios, '.1f')} times the peak RSS that {small} takes for a session"


def describe_environments(selection: Selection, wanted: Sequence[tuple[Setting, Process]]) -> str | None:
    """Return which environment changes memory most, and by how much; None where none was measured beside the usual."""
    envs = list(dict.fromkeys(one.env for one in selection.settings))
    found = [
        (statistics.median(values), env, stack)
        for stack in selection.stacks
        for setting, process in wanted
        for env, values in environment_panel.shares(selection, stack, setting, process, envs).items()
        if env != environment_panel.LAB and values
    ]
    if not found:
        return None
    share, env, stack = max(found, key=lambda one: abs(one[0]))
    return f"Environment {env} changes the memory of a session by {share:+.1f}% at most ({stack_title(stack)})"
