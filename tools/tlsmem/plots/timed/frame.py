"""What stands around the panels of a picture of time: its title, its legend, and below what was recorded."""

import re
import textwrap
from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from tlsmem.plots.picture import add_title_and_legend
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.stats.timed_summary import MIN_REPEATS
from tlsmem.tables.settings import dates, describe_machine
from tlsmem.tables.timed import captions

WIDE = 15.5  # characters of an inch
ASKED = re.compile(r" \([^()]*\)$")
LONGEST = 110  # characters of a reason
HOLES = 4  # spelt out
WHISKERS = "; whiskers: 95 % intervals of these, by bootstrap"


def add_frame(
    made: Figure, title: str, handles: Sequence[Artist], timed: TimedSelection, plotted: str, notes: Sequence[str]
) -> None:
    """And settles the layout: what is written afterwards knows how much room it has."""
    said = " ".join(filter(None, [plotted, captions.describe_conditions(timed)]))
    lines = [said, *notes, f"Libraries: {libraries(timed)}.", recorded(timed)]
    wide = int(WIDE * made.get_size_inches()[0])
    add_title_and_legend(
        made,
        title,
        handles,
        "\n".join(part for line in lines for part in textwrap.wrap(line, wide, break_on_hyphens=False)),
    )
    made.draw_without_rendering()
    made.set_layout_engine("none")


def subtitled(made: Figure, timed: TimedSelection) -> None:
    """What was agreed on, where there is no legend."""
    agreed = next((one.negotiated for one in timed.records if one.negotiated), None)
    if agreed:
        said = f"{agreed.protocol}, {agreed.cipher}, {agreed.group}"
        made.text(0.5, 1 - 0.46 / made.get_size_inches()[1], said, fontsize=9, color="#444444", ha="center", va="top")


def libraries(timed: TimedSelection) -> str:
    """As reported."""
    said = {one.stack: one.reported for one in timed.records if one.reported}
    return "; ".join(said[stack] for stack in timed.stacks if stack in said)


def recorded(timed: TimedSelection) -> str:
    commits = sorted({one.commit[:12] + (" with changes" if one.dirty else "") for one in timed.records})
    return f"{describe_machine(timed.records[0])}. Recorded {dates(timed.records)}, commit {', '.join(commits)}."


def describe_medians(timed: TimedSelection) -> str:
    """What a height is, and what its whisker."""
    said = f"Medians of {captions.repeats_text(timed)}"
    most = max((len(series.runs()) for series in timed.every()), default=0)
    return f"{said}{WHISKERS}." if most >= MIN_REPEATS else f"{said}: too few for an interval."


def describe_missing(timed: TimedSelection, what: str = "bar") -> list[str]:
    """Which have none, and why; suites with one reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for (stack, suite), why in reasons(timed).items():
        found.setdefault((stack, why), []).append(suite)
    said = [f"{stack} ({', '.join(suites)}): {shortened(why)}" for (stack, why), suites in found.items()]
    if len(said) > HOLES:
        said[HOLES:] = [f"and {len(said) - HOLES} more, as the tables say"]
    return [f"Without a {what}: {'; '.join(said)}."] if said else []


def shortened(why: str) -> str:
    """Without what was asked for, which stands below the title or is the suite's."""
    return textwrap.shorten(ASKED.sub("", why), LONGEST, placeholder=" …")


def reasons(timed: TimedSelection) -> dict[tuple[str, str], str]:
    """By stack and suite; where a run has one, not that others were not made."""
    found: dict[tuple[str, str], str] = {}
    for work in timed.works:
        for stack in timed.stacks:
            series = timed.series(stack, work)
            if not series.runs() and (series.records or (stack, work.suite) not in found):
                found[stack, work.suite] = series.reason()
    return found
