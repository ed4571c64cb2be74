"""Memory by sessions: RSS of every run, the line through them, and how far each lies off it."""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from tlsmem.config.matrix import SYSTEM
from tlsmem.report import residuals_picture
from tlsmem.report.flame_trees import packed
from tlsmem.report.ranking import newest_first
from tlsmem.report.recordings import Recording, typed
from tlsmem.report.sections import Picture, Section, own
from tlsmem.schema.harness_output import Process
from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.tables.environments import LAB
from tlsmem.tables.rss import RSS, quantity, unreached
from tlsmem.tables.settings import dates, machine_of

NAMES = {"both": "both roles in one process", "client": "clients' process", "server": "servers' process"}
ONCE = "not all N were measured twice, so its spread is not known"
MOST = 2  # lines that are drawn when the page is opened
FAMILIES = ("openssl", "rustls")  # the newest of each, where they are there


def section(recordings: Sequence[Recording]) -> Section | None:
    """None where no recording has RSS runs."""
    groups = [one for recording in recordings for one in of_recording(recording, len(recordings) > 1)]
    if not groups:
        return None
    scripts, styles = (own("charts.js"), own("residuals.js")), (own("charts.css"), own("residuals.css"))
    html = Markup(own("residuals.html"))
    data = {"packed": packed({"groups": groups, "quantities": list(RSS)})}
    files = tuple(pictures(recordings, groups))
    return Section("residuals", residuals_picture.TITLE, html, data, scripts, styles, files=files)


def pictures(recordings: Sequence[Recording], groups: Sequence[dict]) -> Iterator[Picture]:
    """Of each recording what the page shows of it at first."""
    several = len(recordings) > 1
    for one in recordings:
        there = [group for group in groups if group["recording"] == (one.name if several else "")]
        if not there:
            continue
        first = next((group for group in there if group["usual"] and group["suite"].startswith("tls13")), there[0])
        lines = [line for line in first["lines"] if line["stack"] in first["opens"] and line["fits"]]
        lines = lines or [line for line in first["lines"] if line["fits"]][:MOST]
        quantity = next(name for name in RSS if any(name in line["fits"] for line in lines))
        about = f"{first['suite']}, {first['name']}"
        below = f"{machine_of(one.records[0])}. Recorded {dates(one.records)}."
        drawn = partial(residuals_picture.figure, lines, quantity, about, below)
        says = f"RSS of every run, the line through them, and how far each lies off it: {about}."
        named = f"residuals-{one.name}" if several else "residuals"
        yield Picture(named, residuals_picture.TITLE, says, first["command"], drawn)


def opens(stacks: Sequence[str]) -> list[str]:
    newest = newest_first(stacks)
    wanted = [[stack for stack in newest if stack.startswith(family)][:1] for family in FAMILIES]
    return [stack for (stack,) in wanted] if all(wanted) else [*stacks[:MOST]]


def of_recording(recording: Recording, several: bool) -> Iterator[dict]:
    """What one chart has: the stacks of a setting's process, which differ in nothing else."""
    selection = recording.contents.memory
    for setting in selection.settings if selection else ():
        for process in dict.fromkeys(setting.processes.values()):
            lines = [one for stack in selection.stacks if (one := of_stack(selection, stack, setting, process))]
            if any(line["fits"] for line in lines):
                name = named(setting, process)
                where = {"recording": recording.name if several else "", "suite": setting.suite, "name": name}
                command = f"tools/plot_mem.py {typed(recording)} -o memory --roles {setting.roles}"
                beside = {
                    "command": f"{command} --suite {shlex.quote(setting.suite)}",
                    "opens": opens([line["stack"] for line in lines]),
                }
                yield where | beside | {"usual": name in NAMES.values(), "lines": lines}


def named(setting: Setting, process: Process) -> str:
    """What stands beside the suite: whose process, and what is not the laboratory's usual."""
    kept = "" if setting.roles in ("together", "split") else f"{setting.roles.removeprefix('keep-')}s, peers freed"
    unusual = [
        setting.peer and f"with clients of {setting.peer}",
        setting.allocator != SYSTEM and setting.allocator,
        setting.window != "all" and f"{setting.window:,} pairs in the handshake at a time",
        setting.env != LAB and setting.env,
        setting.cpu != "all" and f"CPU {setting.cpu}",
    ]
    return ", ".join(filter(None, [kept or NAMES[process], *unusual]))


def of_stack(selection: Selection, stack: str, setting: Setting, process: Process) -> dict | None:
    """Its fits by quantity; why there are none."""
    if (stack, setting) not in selection.runs_of:
        return None
    series = selection.series(stack, setting, process)
    fits: dict[str, Any] = {}
    for name, phase in RSS.items():
        if series.full("rss") and not unreached(series, phase):
            fits[name] = fit(series, series.full("rss"), quantity(phase))
    return {"stack": series.owner, "fits": fits, "why": "" if fits else series.reason("rss")}


def fit(series: Series, runs: Sequence[Record], of: session_cost.Quantity) -> dict:
    """Sessions are those that the process holds. `points`: sessions, then every repeat's bytes; the line goes through
    their medians."""
    found = {sessions // series.share: values for sessions, values in session_cost.repeats(runs, of).items()}
    points = [[sessions, *values] for sessions, values in found.items()]
    middle = session_cost.medians(runs, of)
    line = session_cost.line({sessions // series.share: value for sessions, value in middle.items()})
    if not line:
        return {"points": points, "said": quotient(runs[0].sessions, middle, points[0][0])}
    known = {"points": points, "slope": line.slope, "intercept": line.intercept}
    return known | {"said": words(series, session_cost.slope_spread(runs, of), line)}


def quotient(sessions: int, middle: dict[int, float], held: int) -> str:
    each = f"the quotient, {middle[sessions] / held:,.0f} bytes, has in it what a process needs without any session"
    return f"N = {sessions:,} only, so there is no line and no slope; {each}"


def words(series: Series, spread: float | None, line: session_cost.Line) -> str:
    """Slope with the spread of repeats, and the largest residual, with directions in words."""
    holder = next(iter(series.setting.processes)) if series.process == "both" else series.process
    slope = f"{line.slope:,.0f} bytes per {'session' if series.share == 1 else f'{holder} session'}"
    if line.is_quotient:
        return f"{slope}, a quotient of two points: nothing says that the line is straight"
    sure = ONCE if spread is None else f"± {100 * spread / 2:.2f} % over repeats"
    side = "more" if line.residual > 0 else "less"
    share = f"{100 * abs(line.residual_share):.2f} %"
    off = f"the median farthest from it is {abs(line.residual):,.0f} bytes {side}, {share} of what it is"
    intercept, given = (
        f"{line.intercept / session_cost.MIB:,.2f} MiB at no sessions",
        allocator_statistics.given_back(series.full("rss")),
    )
    return "; ".join(filter(None, [slope, sure, off, intercept, given]))
