"""The figures of one stack's runs, by place: what two selections are compared by, and what a budget is held against."""

from collections.abc import Iterable, Iterator, Sequence

from tlsmem.compare.heap_figures import heap_figures
from tlsmem.compare.places import METERS, Place, timed_phase
from tlsmem.compare.rss_figures import rss_figures
from tlsmem.schema.records import Record
from tlsmem.stats import timed_rates, timed_selection
from tlsmem.stats.figure import Figure
from tlsmem.stats.series import Series, Setting, of_process
from tlsmem.stats.timed_selection import Work
from tlsmem.stats.timed_summary import figure as timed_figure

__all__ = ["Figure", "figures"]


def figures(records: Iterable[Record]) -> dict[Place, Figure]:
    """Of ONE stack's comparable runs (selection.select's, of one stack), in one setting a suite.

    ValueError with a sentence when there are several stacks, or a suite is there in several settings."""
    records = list(records)
    found = {place: figure for series in memory_series(records) for place, figure in of_series(series)}
    return found | {place: figure for runs in timed_runs(records) for place, figure in of_timed(runs)}


def memory_series(records: Sequence[Record]) -> Iterator[Series]:
    """One a suite and process."""
    groups: dict[Setting, list[Record]] = {}
    for one in records:
        if not timed_selection.is_timed(one):
            groups.setdefault(Setting.of(one), []).append(one)
    one_of_each({one.stack for one in records}, [setting.suite for setting in groups])
    for setting, runs in groups.items():
        for process in dict.fromkeys(setting.processes.values()):
            yield Series(runs[0].stack, setting, tuple(of_process(one, process) for one in runs), process)


def one_of_each(stacks: set[str], suites: Sequence[str]) -> None:
    if len(stacks) > 1:
        raise ValueError(f"figures are of one stack, not of {' and '.join(sorted(stacks))}")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"{suite} is there in several settings (allocator, window, roles, environment, CPU)")


def of_series(series: Series) -> Iterator[tuple[Place, Figure]]:
    yield from heap_figures(series)
    yield from rss_figures(series)


def timed_runs(records: Sequence[Record]) -> list[list[Record]]:
    """Repeats of one work each."""
    groups: dict[Work, list[Record]] = {}
    for one in records:
        if timed_selection.is_timed(one) and one.meter == "time" and one.status == "measured":
            groups.setdefault(Work.of(one), []).append(one)
    one_of_each({one.stack for one in records}, [])
    return [sorted(runs, key=lambda one: one.repeat) for runs in groups.values()]


def of_timed(runs: Sequence[Record]) -> Iterator[tuple[Place, Figure]]:
    first = runs[0]
    for meter, role, quantity in (
        ("handshakes", "client", timed_rates.per_second("client")),
        ("handshakes", "server", timed_rates.per_second("server")),
        ("send", "server", timed_rates.mebibytes_per_second("send")),
        ("receive", "client", timed_rates.mebibytes_per_second("receive")),
    ):
        found = timed_figure(runs, quantity)
        if found and (meter == "handshakes") == (first.scenario == "handshake"):
            made = {"repeats": found.repeats, "made": found.made}
            figure = Figure(found.values, False, METERS[meter], more_is_better=True, **made)
            yield Place(first.suite, role, timed_phase(first), meter), figure
