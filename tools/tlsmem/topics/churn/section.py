"""Sessions that come and go: what waves leave in live heap and RSS, and a warning where either grows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.missing import map_present, replace_missing
from tlsmem.stats.remainders import keeps_sessions
from tlsmem.store.record import Record
from tlsmem.topics.churn import picture as churn_picture
from tlsmem.topics.churn.table import churn_table, describe_patterns
from tlsmem.topics.churn.waves import SCENARIO, Churn, Trend, find_churn

PANEL_INCHES = 4.6


def section(recordings: Sequence[Recording]) -> Section | None:
    """A table of each recording that has such runs; the sentences are of each stack's newest, the picture of the first
    recording with several allocators. What stores of sessions keep is no leak, and another section's."""
    shown = list(newest_of_each_stack(recordings))
    if not shown:
        return None
    every = [run for _, runs in shown for run in runs]
    said = [*sentences(find_measured(every)), *describe_patterns(every)]
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in said)
    there = [one for one, _ in shown]
    drawn = (list(pictures(there, find_measured(runs))) for _, runs in shown)
    tables = tuple(show_table(one, runs, len(shown) > 1) for one, runs in shown)
    return Section("churn", "Sessions that come and go", html, pictures=next(filter(None, drawn), []), tables=tables)


def find_measured(runs: Sequence[Record]) -> list[Churn]:
    """Return what was measured; what a stack could not do is left out."""
    return [churn for churn in find_churn(runs) if not churn.refusal]


def show_table(recording: Recording, runs: Sequence[Record], several: bool) -> ShownTable:
    """Return the table of one recording."""
    shown = ShownTable(
        churn_table(runs), f"tools/tls-memtest show tables {recording_arguments(recording)} --table churn"
    )
    return shown.name_recording(recording.name) if several else shown


def newest_of_each_stack(recordings: Sequence[Recording]) -> Iterator[tuple[Recording, list[Record]]]:
    """Yield the recordings with their runs of the stacks that no newer one has; all are of the first's machine."""
    known: set[str] = set()
    machine = None
    for one in recordings:
        runs = [run for run in one.records if run.scenario == SCENARIO and not keeps_sessions(run)]
        runs = [run for run in runs if run.stack not in known]
        if machine in (None, one.machine) and find_measured(runs):
            known |= {run.stack for run in runs}
            machine = one.machine
            yield one, runs


def pictures(recordings: Sequence[Recording], found: Sequence[Churn]) -> Iterator[Picture]:
    """Yield RSS over waves by allocator, where several were measured under one pattern."""
    lines = churn_picture.compare_alike(churn_picture.select_lines(found))
    if lines:
        says = "RSS of a server's process at equal load, wave by wave, and its live heap. The table has all."
        title = "RSS over equal waves, by allocator"
        yield Picture("churn", title, says, picture_command("churn", *recordings), partial(draw, lines))


def draw(lines: Sequence[Churn]) -> Figure:
    """Draw the picture."""
    stacks = dict.fromkeys(one.stack for one in lines)
    made, grid = pyplot.subplots(
        1, len(stacks), figsize=(PAGE_INCHES, PANEL_INCHES), layout="constrained", squeeze=False
    )
    churn_picture.draw(made, list(grid.flat), lines)
    return made


def sentences(found: Sequence[Churn]) -> Iterator[str]:
    """Yield warnings: of live heap that grows, which is a leak or a store; then of RSS that does."""
    for one in found:
        trend = one.heap_trend
        if isinstance(trend, Trend) and trend.verdict == "growing":
            yield f"Warning: live heap of {name(one)} grows by {trend.slope:,.0f} B a wave."
    judged = [one for one in found if isinstance(one.rss_trend, Trend)]
    growing = [one for one in judged if is_growing_beyond_heap(one)]
    if growing:
        names = dict.fromkeys(one.stack for one in growing)
        stacks = {stack: [one for one in growing if one.stack == stack] for stack in names}
        ordered = sorted(stacks.values(), key=lambda some: -max(map(rss_slope, some)))
        measured = Counter(one.stack for one in judged)
        said = "; ".join(describe_growth(some, measured[some[0].stack]) for some in ordered)
        yield f"RSS grows faster than live heap: {said}."


def is_growing_beyond_heap(one: Churn) -> bool:
    """Return whether RSS grows, and by more than live heap does."""

    def grows_beyond(resident: Trend, live: Trend) -> bool:
        return resident.verdict == "growing" and resident.slope > live.slope

    return replace_missing(map_present(grows_beyond, one.rss_trend, one.heap_trend), False)


def rss_slope(one: Churn) -> float:
    """Return how many bytes of RSS a wave adds."""
    assert isinstance(one.rss_trend, Trend)
    return one.rss_trend.slope


def describe_growth(growing: Sequence[Churn], measured: int) -> str:
    """Name a stack whose RSS grows, in how many of its settings, and the worst of them."""
    worst = max(growing, key=rss_slope)
    settings = f"{len(growing)} of {measured} settings"
    return f"{worst.stack} in {settings}, by up to {rss_slope(worst):,.0f} B a wave ({describe_setting(worst)})"


def name(one: Churn) -> str:
    """Return the stack with role, pattern and allocator."""
    return f"{one.stack} ({describe_setting(one)})"


def describe_setting(one: Churn) -> str:
    """Return role, pattern and allocator."""
    return f"{one.role}, {one.pattern}, {churn_picture.name_allocator(one)}"
