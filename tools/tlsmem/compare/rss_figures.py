"""Figures of RSS: slopes over the numbers of sessions, of each repeat; and peaks of the process at each of them."""

from collections.abc import Iterator

from tlsmem.compare.heap_figures import reached
from tlsmem.compare.places import METERS, PEAK, Place, of_people
from tlsmem.schema.records import Record
from tlsmem.stats import repeats, session_cost
from tlsmem.stats.figure import Figure
from tlsmem.stats.series import Series


def rss_figures(series: Series) -> Iterator[tuple[Place, Figure]]:
    """Slopes where there are two N, quotients where there is one; and peaks of the process at each N."""
    runs, setting = series.full("rss"), series.setting
    together = setting.roles == "together"
    of_process = next(role for role, process in setting.processes.items() if process == series.process)
    owner, holder = ("pair", "process") if together else (of_process, of_process)
    for phase in [PEAK, *(reached(runs, series) if runs else [])]:
        quantity = session_cost.peak_rss if phase == PEAK else session_cost.rss_at_end(phase)
        found = repeats.slopes(series, quantity)
        alone = runs[0].sessions if runs and not found and len({run.sessions for run in runs}) == 1 else None
        found = found or ([rss_quotient(run, quantity) for run in runs] if alone else [])
        if found:
            figure = Figure(tuple(found), False, METERS["rss"], quotient=alone)
            yield Place(setting.suite, owner, of_people(phase), "rss"), figure
    for sessions in sorted({run.sessions for run in series.runs("rss")}):
        peaks = tuple(map(float, repeats.peaks(series, sessions)))
        yield Place(setting.suite, holder, PEAK, "peak-rss", sessions), Figure(peaks, False, METERS["peak-rss"])


def rss_quotient(run: Record, quantity: session_cost.Quantity) -> float:
    return (quantity(run) - session_cost.phase_of(run, "contexts").rss_bytes) / (run.sessions // 2)
