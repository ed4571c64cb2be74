"""What one more session costs in RSS: the line through (sessions, RSS), with all that is known of it.

Bytes are per pair; in a process of one role, which has half of a run's sessions, they are per session of the role."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.stats import allocator_statistics, bootstrap, session_cost
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.live_heap import NO_PAYLOAD
from tlsmem.stats.missing import Missing, find_missing, replace_missing
from tlsmem.stats.repeats import group_by_repeat
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import Quantity
from tlsmem.store.record import Record

RSS_PHASES: dict[str, str | None] = {  # which RSS, with its phase
    "peak of the run": None,
    "established": "established",
    "1 KiB each way": "reply",
}
QUOTIENT = Missing("from two points, which show no nonlinearity")
MEASURED_ONCE = Missing("measured once")
NO_INTERVAL = Missing("an interval needs repeats that vary, two or more at every N")


class Residual(NamedTuple):
    """The largest, in bytes, with its sign, and as a share of the value that it is off."""

    bytes: float
    share: float


@dataclass(frozen=True)
class RssLine:
    """The line through (sessions, RSS); slope, increments and interval are bytes per pair."""

    slope: float
    intercept: float  # bytes of the process
    increments: tuple[float, ...]  # from each N to the next
    residual: Residual | Missing
    spread: float | Missing  # how far slopes of repeats lie apart, relative
    interval: Interval | Missing  # of the slope, over repeats
    repeats: int  # those that have every N
    gave_back_memory: bool  # at the ends of phases, as other stacks do not: see RETURNED_MEMORY_NOTE

    @property
    def is_quotient(self) -> bool:
        """Whether the line goes through two points only."""
        return len(self.increments) < 2

    @property
    def interval_or_point(self) -> Interval | Missing:
        """Repeats that are all alike have no interval, and nought lies between them."""
        return replace_missing(self.interval, Interval(self.slope, self.slope)) if self.repeats > 1 else self.interval


def rss_quantity(phase: str | None) -> Quantity:
    """RSS at the end of the phase, or its peak (None)."""
    return session_cost.rss_at_end(phase) if phase else session_cost.peak_rss


def rss_slope(phase: str | None) -> Callable[[Series], float | None]:
    """Return what takes the slope of a series, per pair: of RSS at the end of the phase, or of its peak (None)."""

    def slope(series: Series) -> float | None:
        line = session_cost.fit_line(session_cost.medians(series.full("rss"), rss_quantity(phase)))
        return 2 * line.slope if line else None

    return lambda series: slope(series) if why_no_such_phase(series, phase) is None else None


def why_no_such_phase(series: Series, phase: str | None) -> Missing | None:
    """Why such runs have no such phase; None when they have it."""
    return NO_PAYLOAD if phase == "reply" and series.setting.roles.startswith("keep") else None


def why_no_line(series: Series) -> Missing | None:
    """Why there is no line through the RSS runs; None when there is one."""
    counts = {run.sessions for run in series.full("rss")}
    if not counts:
        return Missing(series.reason("rss"))
    if len(counts) == 1:
        return Missing(f"only N = {counts.pop():,}, and a slope needs two")
    return None


def fit_rss(series: Series, phase: str | None) -> RssLine | Missing:
    """The line through the medians of repeats, at the end of the phase or at the peak of the run (None)."""
    why = find_missing(why_no_such_phase(series, phase), why_no_line(series))
    return fit_runs(series.full("rss"), rss_quantity(phase)) if why is None else why


def fit_runs(runs: list[Record], quantity: Quantity) -> RssLine:
    """Of runs of at least two numbers of sessions."""
    line = session_cost.fit_line(session_cost.medians(runs, quantity))
    assert line
    spread = session_cost.slope_spread(runs, quantity)
    return RssLine(
        slope=2 * line.slope,
        intercept=line.intercept,
        increments=tuple(2 * step for step in line.increments),
        residual=QUOTIENT if line.is_quotient else Residual(line.residual, line.residual_share),
        spread=MEASURED_ONCE if spread is None else spread,
        interval=bootstrap.slope_interval(session_cost.values_by_sessions(runs, quantity)) or NO_INTERVAL,
        repeats=len(group_by_repeat(runs)),
        gave_back_memory=allocator_statistics.have_runtime_statistics(runs),
    )
