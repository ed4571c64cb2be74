"""What an allocator gives back: when handshakes are complete, and when sessions are freed; and what it costs beside
the system's."""

from collections.abc import Sequence
from dataclasses import replace

from tlsmem.plan.connection_model import BY_RATIO, ESTABLISHED, SYSTEM, SessionLaw, heap, series_of, slope
from tlsmem.schema.harness_output import Role
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, in_common

CLOSED = session_cost.rss_at_end("closed")


def share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole > 0 else 1.0


def held(series: Series, kept: float) -> dict[str, float]:
    """Of H when all are established, with E known, and of E + H when all are freed; right after, as recorded."""
    peak, established, closed = (slope(series, of, 2).each for of in (memory_model.peak_rss, ESTABLISHED, CLOSED))
    return {"held_shaking": share(established - kept, peak - kept), "held_closed": share(closed, peak)}


def with_retention(found: SessionLaw, series: Series) -> SessionLaw:
    """Under the system's allocator, from the run with all in the handshake at once."""
    return replace(found, **held(series, found.kept))


def under(found: SessionLaw, allocator: str, selection: Selection) -> SessionLaw | None:
    """The law under another allocator; None where no run tells what it changes."""
    wide = [series_of(selection, name, "together", "both") for name in (SYSTEM, allocator)]
    if None in wide:
        return None
    system, other = in_common(wide)
    peaks = [slope(one, memory_model.peak_rss, 2) for one in (system, other)]
    if None in peaks or any(one.quotient for one in peaks):
        return None
    times = peaks[1].each / peaks[0].each
    terms = {"kept": times * found.kept, "handshake": times * found.handshake}
    terms["fixed"] = max(0.0, found.fixed + peaks[1].fixed - peaks[0].fixed)
    terms["widest"] = min(found.widest, peaks[1].widest)
    at_rest = times * at_rest_of_pairs(selection, peaks[0].each)
    return replace(found, allocator=allocator, how=BY_RATIO, **terms, **held(other, at_rest))


def at_rest_of_pairs(selection: Selection, peak: float) -> float:
    """E of both ends together: live heap where it was metered, else all of the peak, so that all of it is kept."""
    roles: Sequence[Role] = ("client", "server")
    return min(peak, heap(selection, roles, "established") or peak)
