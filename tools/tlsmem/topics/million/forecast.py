"""What many sessions need, from two runs with fewer: a line, and how far a run with many is off it.

Sizes are bytes; sessions are those that stay in the process, all of one role."""

from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.stats.missing import Missing
from tlsmem.stats.series import Series
from tlsmem.store.record import Record

SMALLEST_WINDOWS = 10  # a run with fewer windows has more of the handshakes in its peak than of the sessions
TOLERANCE = 0.01  # a run further off was not predicted


class SessionForecast(NamedTuple):
    """A line through the peaks of two runs."""

    fixed_bytes: float
    session_bytes: float

    def bytes_at(self, sessions: int) -> float:
        """Return what a process with so many sessions needs."""
        return self.fixed_bytes + self.session_bytes * sessions

    def largest_fitting(self, room_bytes: float) -> int:
        """Return the largest number of sessions for which there is room; 0 where there is none for one."""
        return max(0, int((room_bytes - self.fixed_bytes) // self.session_bytes))


class ForecastCheck(NamedTuple):
    """A run, with what was predicted for its number of sessions from the two smallest."""

    forecast: SessionForecast
    run: Record

    @property
    def sessions(self) -> int:
        return remaining_sessions(self.run)

    @property
    def measured_bytes(self) -> int:
        return peak_bytes(self.run)

    @property
    def predicted_bytes(self) -> float:
        return self.forecast.bytes_at(self.sessions)

    @property
    def difference(self) -> float:
        """Of the prediction: 0.01 is one percent more than predicted."""
        return self.measured_bytes / self.predicted_bytes - 1


def remaining_sessions(run: Record) -> int:
    """Return how many sessions stay in the process of a run that frees one role's."""
    return run.sessions // 2


def peak_bytes(run: Record) -> int:
    """Return the most memory that the process needed at once: its RSS, and what was in its wires."""
    return max(phase.peak_rss_bytes + phase.wire_bytes for phase in run.phases)


def forecast_sessions(small: Record, large: Record) -> SessionForecast:
    """Return the line through two runs with different numbers of sessions."""
    few, many = remaining_sessions(small), remaining_sessions(large)
    slope = (peak_bytes(large) - peak_bytes(small)) / (many - few)
    return SessionForecast(peak_bytes(small) - slope * few, slope)


def check_forecast(runs: Sequence[Record], window: int) -> ForecastCheck | Missing:
    """Return the run with the most sessions beside what the two smallest of at least 10 windows predict."""
    enough = sorted((run for run in runs if remaining_sessions(run) >= SMALLEST_WINDOWS * window), key=peak_bytes)
    if len({run.sessions for run in enough}) < 3:
        return Missing(f"it needs three runs of at least {SMALLEST_WINDOWS * window:,} sessions")
    by_sessions = {run.sessions: run for run in enough}
    small, large, *_, most = (by_sessions[count] for count in sorted(by_sessions))
    return ForecastCheck(forecast_sessions(small, large), most)


def check_series(series: Series) -> ForecastCheck | Missing:
    """Return the same of a series whose peers were freed by windows."""
    if series.setting.window == "all" or not series.setting.roles.startswith("keep-"):
        return Missing("it needs runs by windows, in which the sessions of one role stay")
    return check_forecast(series.runs("rss"), series.setting.window)
