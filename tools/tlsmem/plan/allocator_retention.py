"""What an allocator gives back: when handshakes are complete, and when sessions are freed; and what it costs beside
the system's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tlsmem.plan.connection_model import (
    BY_RATIO,
    RSS_AT_ESTABLISHED,
    SYSTEM,
    ConnectionModel,
    find_series,
    fit_slope,
    live_heap,
)
from tlsmem.schema.harness_output import Role
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, limit_to_common_sessions

CLOSED = session_cost.rss_at_end("closed")


def share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 1.0


def retained_shares(series: Series, kept: float) -> dict[str, Any]:
    """Of H when all are established, with E known, and of E + H when all are freed; right after, as recorded."""
    peak, established, closed = (
        fit_slope(series, of, 2).each for of in (memory_model.handshake_peak_rss, RSS_AT_ESTABLISHED, CLOSED)
    )
    return {"held_shaking": share(established - kept, peak - kept), "held_closed": share(closed, peak)}


def add_retention(found: ConnectionModel, series: Series) -> ConnectionModel:
    """Under the system's allocator, from the run with all in the handshake at once."""
    return replace(found, **retained_shares(series, found.kept))


def model_under_allocator(found: ConnectionModel, allocator: str, selection: Selection) -> ConnectionModel | None:
    """The law under another allocator; None where no run tells what it changes."""
    wide = [find_series(selection, name, "together", "both") for name in (SYSTEM, allocator)]
    if None in wide:
        return None
    system, other = limit_to_common_sessions(wide)
    peaks = [fit_slope(one, memory_model.handshake_peak_rss, 2) for one in (system, other)]
    if None in peaks or any(one.quotient for one in peaks):
        return None
    times = peaks[1].each / peaks[0].each
    terms: dict[str, Any] = {"kept": times * found.kept, "handshake": times * (found.handshake or 0.0)}
    terms["fixed"] = max(0.0, found.fixed + peaks[1].fixed - peaks[0].fixed)
    terms["widest"] = min(found.widest, peaks[1].widest)
    at_rest = times * at_rest_of_pairs(selection, peaks[0].each)
    return replace(found, allocator=allocator, how=BY_RATIO, **terms, **retained_shares(other, at_rest))


def at_rest_of_pairs(selection: Selection, peak: float) -> float:
    """E of both ends together: live heap where it was metered, else all of the peak, so that all of it is kept."""
    roles: Sequence[Role] = ("client", "server")
    return min(peak, live_heap(selection, roles, "established") or peak)
