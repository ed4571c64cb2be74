"""Figures, each with the values that repeats measured, and whether one differs from another beyond noise."""

import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, cast

from tlsmem.stats import repeats, timed_summary
from tlsmem.stats.repeats import Number
from tlsmem.stats.timed_summary import Gap, RunSpan

QUOTIENT = "only N = {:,}: what is above `contexts`, divided by sessions; a quotient, not a slope"


class Figure(NamedTuple):
    """A measured quantity: at least one value in `unit`, one a repeat.

    Heap values are counted, so they are Fractions; others are floats. `exact`: counted, and equal in all repeats to the
    byte. `noise`: how far runs of one build may differ all the same, in bytes or blocks a session: one where sessions
    are not all alike (signatures differ in length, a random number generator is reseeded), else none. Of all bytes
    that are allocated it is more (remainders.allocated_noise)."""

    values: tuple[Number, ...]
    exact: bool
    unit: str
    more_is_better: bool = False
    noise: Fraction = Fraction(0)
    quotient: int | None = None  # this N alone was measured, so that it is no slope
    repeats: tuple[int, ...] = ()  # of timed runs: the repeats' numbers, and when they were made: of neighbours
    made: tuple[RunSpan, ...] = ()  # the machine's better and worse moments are in both
    at: str | None = None  # of a peak: the phase it is in

    @property
    def counted(self) -> bool:
        """Return whether the values were counted rather than measured."""
        return isinstance(self.values[0], Fraction)

    @property
    def note(self) -> str | None:
        """Return the note of a figure that is a quotient of one N; None for others."""
        return QUOTIENT.format(self.quotient) if self.quotient else None


Verdict = Literal["changed", "no change", "not known"]
CHANGED: Verdict = "changed"
SAME: Verdict = "no change"
UNKNOWN: Verdict = "not known"
LESS_THAN_NOISE = "unchanged builds may differ by up to {:,.0f} {} a session"
LESS_THAN_ONE = "sessions are not all alike, so less than one byte or block a session is no change"
SHAPES = "one is a slope and the other a quotient of one N ({:,}), so they cannot be compared"
OTHER_N = "quotients are compared at the same N only; these are of N = {:,} and {:,}"
BY_CHANCE = "of {} repeats: by chance, such a change shows in 1 of {} comparisons of equal builds"
FEW = 6  # repeats: with fewer that is more than 1 in 20
OTHER_WAY = "back-to-back repeats differ in one direction, the medians in the other"


class Change(NamedTuple):
    """A change from OLD to NEW: `amount` is NEW less OLD in the figure's unit, `share` the same over OLD.

    `share` is None where OLD is 0. `better` is None where nothing changed or that is not known. `note` explains a
    verdict that the figures do not explain. Of times only: `low` and `high` are the interval of NEW over OLD, and `gap`
    says which repeats were not made back to back."""

    old: Number
    new: Number
    amount: Number
    share: float | None
    verdict: Verdict
    better: bool | None
    note: str | None
    low: float | None = None
    high: float | None = None
    gap: Gap | None = None

    @property
    def changed(self) -> bool:
        """Return whether the figures differ beyond noise."""
        return self.verdict == CHANGED

    @property
    def direction(self) -> str:
        """Return `more`, `less` or `as much`."""
        return "more" if self.amount > 0 else "less" if self.amount < 0 else "as much"


def compare_figures(old: Figure, new: Figure) -> Change:
    """Return the change from one figure to another, with the verdict whether it is more than noise.

    Counts differ by any amount, but where sessions are not all alike by at least the figures' noise (one byte or block
    a session) and by more than the repeats do. Measured values differ by more than the spread of their repeats, or by
    more than 3 % where one was measured once. Times differ where the interval of their ratio does not hold 1."""
    if why := unlike_reason(old, new):
        return make_change(old, new, UNKNOWN, why)
    if old.more_is_better:
        return change_in_times(old, new)
    if old.counted and new.counted:
        return change_in_counts(old, new)
    return change_in_repeats(old, new)


def unlike_reason(old: Figure, new: Figure) -> str | None:
    """Return why the two are not the same kind of figure; None when they are."""
    if old.quotient == new.quotient:
        return None
    if None in (old.quotient, new.quotient):
        return SHAPES.format(old.quotient or new.quotient)
    return OTHER_N.format(old.quotient, new.quotient)


def change_in_counts(old: Figure, new: Figure) -> Change:
    """Return the change of counted figures; see `compare_figures`."""
    noise = max(old.noise, new.noise)
    spread: Number = max(repeats.value_range(old.values), repeats.value_range(new.values))
    difference = median(new.values) - median(old.values)
    more: Number = max(difference, -difference)  # abs() of a union has no type
    differs = more > spread and more >= noise
    note = repeats.WITHIN_SPREAD_NOTE if more <= spread else less_than_noise(noise, old.unit)
    return make_change(old, new, CHANGED if differs else SAME, note if more and not differs else None)


def less_than_noise(noise: Fraction, unit: str) -> str:
    """Return the note of a difference that is below the noise of counts."""
    return LESS_THAN_ONE if noise <= 1 else LESS_THAN_NOISE.format(float(noise), unit)


def change_in_repeats(old: Figure, new: Figure) -> Change:
    """Return the change of figures that were measured, of which one may be counted; see `compare_figures`."""
    before, after = (tuple(map(float, one.values)) for one in (old, new))
    found = repeats.RepeatChange(before, after)
    note = (
        repeats.SINGLE_RUN_NOTE
        if found.once
        else repeats.WITHIN_SPREAD_NOTE
        if found.amount and not found.beyond_spread
        else None
    )
    return make_change(old, new, CHANGED if found.beyond_spread else SAME, note)


def change_in_times(old: Figure, new: Figure) -> Change:
    """Return the change of rates: by the repeats that ran back to back, or by the medians where these are too few.

    The verdict of fewer than three repeats is `not known`."""
    factor = timed_summary.Ratio(sample(old), sample(new))
    interval = factor.interval
    if not interval:
        return make_change(old, new, UNKNOWN, timed_summary.FEW_REPEATS.reason)
    verdict: Verdict = SAME if interval.low <= 1 <= interval.high else CHANGED
    found = make_change(old, new, verdict, by_chance(factor) if verdict == CHANGED and not factor.gap else None)
    if found.changed and (factor.value > 1) != (found.amount > 0):
        return make_change(old, new, UNKNOWN, OTHER_WAY)
    return found._replace(share=factor.value - 1, low=interval.low, high=interval.high, gap=factor.gap)


def sample(figure: Figure) -> timed_summary.Sample:
    """Return the repeats of a rate, with when they were made."""
    return timed_summary.Sample(tuple(map(float, figure.values)), figure.repeats, figure.made)


def by_chance(factor: timed_summary.Ratio) -> str | None:
    """Return how often chance alone gives such a verdict, as a note; None where there are enough pairs of repeats.

    With few repeats the interval reaches from the least to the largest ratio, whatever its confidence is said to be."""
    times = len(factor.quotients)
    return BY_CHANCE.format(times, 2 ** (times - 1)) if 0 < times < FEW else None


def make_change(old: Figure, new: Figure, verdict: Verdict, note: str | None) -> Change:
    """Return the change of the medians, with this verdict and the notes of the figures before this one."""
    before, after = median(old.values), median(new.values)
    amount = after - before
    better = (amount > 0) == old.more_is_better if verdict == CHANGED else None
    share = float(amount / before) if before else None
    notes = [one.note for one in (old, new) if one.note][:1] + ([note] if note else [])
    return Change(before, after, amount, share, verdict, better, "; ".join(notes) or None)


def median(values: Sequence[Number]) -> Number:
    """Return the median, a Fraction where all values are."""
    # statistics.median takes Fractions and floats alike, but its type does not say so of a union.
    return statistics.median(cast(Sequence[float], values))
