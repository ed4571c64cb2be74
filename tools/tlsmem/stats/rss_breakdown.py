"""What one more pair adds to RSS, and of what it is made: see docs/explanation/meters/accounts.md.

Amounts are bytes per pair, in a process of one role per session, at `established`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.run import SYSTEM
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.missing import Missing, replace_missing
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import ESTABLISHED, PhaseQuantity, quantity_at_end, slope_per_pair
from tlsmem.store.record import Phase, Record

UNREQUESTED = Missing(
    "no heap runs at two N of glibc malloc among these; to record both: tools/tls-memtest measure allocators"
)
NO_VM_DATA = Missing("the records have no VmData")
UNWALKED = Missing("smaps_rollup could not be read")
COARSE = Missing(allocator_statistics.COARSE_NOTE)


@dataclass(frozen=True)
class RssBreakdown:
    """rss = held - never written + outside + file + shmem; walked = rss + unexplained, read independently."""

    held: Fraction  # requested of the allocator, and what it adds
    untouched: Fraction  # private memory that is not resident: never written, or given back
    outside: Fraction  # private memory that is not the allocator's
    file: Fraction
    shmem: Fraction
    rss: Fraction  # the kernel's counters: VmRSS
    walked: Fraction | Missing  # RSS by a walk of the page tables

    @property
    def total(self) -> Fraction:
        """The sum of the parts: equal to `rss`."""
        return self.held - self.untouched + self.outside + self.file + self.shmem

    @property
    def unexplained(self) -> Fraction | Missing:
        """What the walk counts and the counters do not."""
        return self.walked - self.total


class AllocatorPart(NamedTuple):
    """What the allocator holds beyond requested, in bytes per pair."""

    amount: Fraction
    has_requested: bool  # the amount is all that is held, since requested is not known apart


@dataclass(frozen=True)
class RssAccount:
    """A breakdown beside what heap runs say was requested. Nobody holds less than was requested: where an allocator
    seems to, its figures are Missing."""

    requested: Fraction | Missing
    breakdown: RssBreakdown

    @property
    def is_coarse(self) -> bool:
        """Whether the allocator seems to hold less than was requested, so its figures cannot be used."""
        return self.breakdown.held < replace_missing(self.requested, 0)

    @property
    def allocator(self) -> AllocatorPart | Missing:
        """What the allocator holds beyond requested."""
        if self.is_coarse:
            return COARSE
        if isinstance(self.requested, Missing):
            return AllocatorPart(self.breakdown.held, has_requested=True)
        return AllocatorPart(self.breakdown.held - self.requested, has_requested=False)

    @property
    def outside(self) -> Fraction | Missing:
        """Private memory that is not the allocator's."""
        return COARSE if self.is_coarse else self.breakdown.outside


def vm_data_bytes(phase: Phase) -> int:
    """Return VmData in bytes, of a phase that has it."""
    assert phase.vm_data_bytes is not None
    return phase.vm_data_bytes


def untouched_bytes(phase: Phase) -> int:
    """Return the private memory that is not resident, in bytes, of a phase with VmData."""
    return vm_data_bytes(phase) - phase.rss_anon_bytes


def outside_allocator_bytes(phase: Phase) -> int:
    """Return the private memory that no allocator obtained, in bytes, of a phase with VmData."""
    return vm_data_bytes(phase) - allocator_statistics.obtained_bytes(phase)


def walked_bytes(phase: Phase) -> int:
    """Return RSS by a walk of the page tables, in bytes, of a phase that has it."""
    assert phase.rollup_rss_bytes is not None
    return phase.rollup_rss_bytes


def why_no_breakdown(series: Series) -> Missing | None:
    """Why the RSS runs have none; None when they have one."""
    if (why := why_no_line(series)) is not None:
        return why
    for phase in (session_cost.phase_of(run, ESTABLISHED) for run in series.full("rss")):
        if phase.vm_data_bytes is None:
            return NO_VM_DATA
        if unknown := allocator_statistics.unknown_reason(allocator_statistics.OBTAINED_FIELDS, phase):
            return Missing(unknown)
    return None


def break_down(runs: Sequence[Record]) -> RssBreakdown:
    """Of RSS runs of one process with a line and all figures: see why_no_breakdown."""

    def slope(measure: PhaseQuantity) -> Fraction:
        found = slope_per_pair(runs, quantity_at_end(measure))
        assert found is not None
        return found

    is_walked = all(session_cost.phase_of(run, ESTABLISHED).rollup_rss_bytes is not None for run in runs)
    return RssBreakdown(
        held=slope(allocator_statistics.obtained_bytes),
        untouched=slope(untouched_bytes),
        outside=slope(outside_allocator_bytes),
        file=slope(lambda phase: phase.rss_file_bytes),
        shmem=slope(lambda phase: phase.rss_shmem_bytes),
        rss=slope(lambda phase: phase.rss_bytes),
        walked=slope(walked_bytes) if is_walked else UNWALKED,
    )


def account_for_rss(selection: Selection, series: Series) -> RssAccount | Missing:
    """Return the account of a process; `selection` has the heap runs that say what was requested."""
    if (why := why_no_breakdown(series)) is not None:
        return why
    requested = requested_per_pair(selection, series)
    return RssAccount(requested, break_down(series.full("rss")))


def requested_per_pair(selection: Selection, series: Series) -> Fraction | Missing:
    """Live heap, exactly, from the heap runs on the system's allocator: requested bytes do not depend on it."""
    if why := allocator_statistics.unmetered_reason(series.runs("rss")):
        return Missing(why)
    metered = replace(series.setting, allocator=SYSTEM, env="lab")
    pair = selection.series(series.stack, metered, series.process).heap_pair()
    if not pair:
        return UNREQUESTED
    quotient = session_cost.live_cost(*pair, "total", ESTABLISHED).bytes
    return Fraction(quotient.amount, quotient.sessions)
