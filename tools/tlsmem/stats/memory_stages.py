"""From requested to resident: what the allocator and the kernel make of the bytes that a stack requests. Amounts are
bytes per pair, in a process of one role per session, at `established`."""

from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.missing import Missing, keep_present, map_present, replace_missing
from tlsmem.stats.rss_breakdown import COARSE, requested_per_pair
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import ESTABLISHED, PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.store.record import Phase

REQUESTED_OF_ALL = Missing("requested bytes are not known by allocator")
RESIDENT_OF_ALL = Missing("the kernel counts the process, not one allocator")
Amount = Fraction | Missing


class MemoryStages(NamedTuple):
    """The amount at each stage, and what the step to it adds; negative where it takes away."""

    requested: Amount
    usable: Amount  # live, by the allocator's own figure
    obtained: Amount  # by the allocator from the system
    resident: Amount  # RssAnon

    @property
    def rounding(self) -> Amount:
        """Rounding and headers: usable less requested."""
        return subtract(self.usable, self.requested)

    @property
    def free(self) -> Amount:
        """Free memory that the allocator has not returned: obtained less usable."""
        return subtract(self.obtained, self.usable)

    @property
    def untouched(self) -> Amount:
        """Resident less obtained: negative, since pages were never written or were given back."""
        return subtract(self.resident, self.obtained)


def subtract(amount: Amount, before: Amount) -> Amount:
    """Return the difference; Missing for the reason of `before` first."""
    return map_present(lambda before, amount: amount - before, before, amount)


def drop_below(amount: Amount, least: Amount) -> Amount:
    """Return the amount; Missing where it is known to be less than the least that it can be."""
    return map_present(lambda size: COARSE if size < replace_missing(least, size) else size, amount)


def find_stages(selection: Selection, series: Series) -> MemoryStages:
    """Return the stages of all memory of the process. `selection` has the heap runs that say what was requested."""
    resident = find_slope(series, lambda phase: phase.rss_anon_bytes)
    return find_allocator_stages(series, None, requested_per_pair(selection, series), resident)


def find_allocator_stages(
    series: Series,
    allocator: str | None,
    requested: Amount = REQUESTED_OF_ALL,
    resident: Amount = RESIDENT_OF_ALL,
) -> MemoryStages:
    """Return the stages with the figures of one allocator of the process, or of all together (None).

    Figures that cannot be are Missing: an allocator gives out no less than is requested, and obtains no less than it
    gives out."""
    usable = find_statistic(series, allocator_statistics.LIVE_FIELDS, allocator)
    obtained = find_statistic(series, allocator_statistics.OBTAINED_FIELDS, allocator)
    least = max([Fraction(0), *keep_present((requested, usable))])
    return MemoryStages(requested, drop_below(usable, requested), drop_below(obtained, least), resident)


def find_statistic(series: Series, meaning: dict[str, tuple[str, ...]], allocator: str | None) -> Amount:
    """Return a figure of one allocator's statistics, or the sum over all (None)."""
    for phase in (session_cost.phase_of(run, ESTABLISHED) for run in series.full("rss")):
        why = allocator_statistics.unknown_reason(meaning, phase)
        if why and (allocator is None or allocator not in allocator_statistics.read_statistics(meaning, phase)):
            return Missing(why)

    def measure(phase: Phase) -> int:
        figures = allocator_statistics.read_statistics(meaning, phase)
        return sum(figures[name] for name in figures if allocator in (None, name))

    return find_slope(series, measure)


def find_slope(series: Series, measure: PhaseQuantity) -> Amount:
    """Return the slope through the means of the RSS runs."""
    if (why := why_no_line(series)) is not None:
        return why
    slope = slope_per_pair(series.full("rss"), quantity_at_end(measure))
    assert slope is not None
    return slope


def list_allocators(series: Series) -> list[str]:
    """Return the names of the allocators whose statistics the RSS runs have; none without RSS runs."""
    runs = series.full("rss")
    return list(session_cost.phase_of(runs[0], ESTABLISHED).allocator or {}) if runs else []
