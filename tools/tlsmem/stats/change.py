"""Figures, each with the values that repeats measured, and whether one differs from another beyond noise."""

import statistics
from fractions import Fraction
from typing import Literal, NamedTuple

from tlsmem.stats import repeats, timed_summary
from tlsmem.stats.timed_summary import RunSpan

QUOTIENT = "of N = {:,} alone: what is above `contexts`, by sessions; a quotient, not a slope"


class Figure(NamedTuple):
    """What was measured at a place; at least one value, a repeat each.

    Values of heap are Fractions, since they are counted; others floats. `exact`: counted, and equal in all repeats, to
    the byte. `noise`: how far runs of the same build may lie apart all the same, in bytes or blocks of a session: one
    where sessions are not all alike (signatures differ in length, a random number's state is refilled), else none."""

    values: tuple[Fraction | float, ...]
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
        return isinstance(self.values[0], Fraction)

    @property
    def note(self) -> str | None:
        return QUOTIENT.format(self.quotient) if self.quotient else None


Verdict = Literal["changed", "no change", "not known"]
CHANGED, SAME, UNKNOWN = "changed", "no change", "not known"
LESS_THAN_ONE = "not all sessions are alike to the byte, so less than one of a session is no change"
SHAPES = "one is a slope and the other a quotient of one N ({:,}): they are not the same figure"
OTHER_N = "quotients of one N are compared at one N, and these are of {:,} and of {:,}"
BY_CHANCE = "of {} repeats, which by chance all lie on one side in 1 of {} comparisons of what is alike"
FEW = 6  # repeats: with fewer that is more than 1 in 20
OTHER_WAY = "repeats side by side differ one way, and the medians of all the other"
Number = Fraction | float


class Change(NamedTuple):
    """From OLD to NEW. `amount` in the figure's unit; `share` of OLD's, None where that is nothing.

    `better`: None where nothing changed, or it is not known. `note`: why the verdict is what it is, where that is not
    plain. `low` and `high`: the interval of NEW by OLD, of times."""

    old: Number
    new: Number
    amount: Number
    share: float | None
    verdict: Verdict
    better: bool | None
    note: str | None
    low: float | None = None
    high: float | None = None

    @property
    def changed(self) -> bool:
        return self.verdict == CHANGED

    @property
    def direction(self) -> str:
        return "more" if self.amount > 0 else "less" if self.amount < 0 else "as much"


def compare_figures(old: Figure, new: Figure) -> Change:
    """Counts: any difference; where sessions are not all alike, from one byte or block of a session on, and beyond
    what repeats differ by. Measured repeatedly: beyond the spread of the repeats; measured once: beyond 3 %. Times:
    the interval of the factor."""
    if why := unlike_reason(old, new):
        return make_change(old, new, UNKNOWN, why)
    if old.more_is_better:
        return change_in_times(old, new)
    if old.counted and new.counted:
        return change_in_counts(old, new)
    return change_in_repeats(old, new)


def unlike_reason(old: Figure, new: Figure) -> str | None:
    """Why they are not the same kind of figure."""
    if old.quotient == new.quotient:
        return None
    if None in (old.quotient, new.quotient):
        return SHAPES.format(old.quotient or new.quotient)
    return OTHER_N.format(old.quotient, new.quotient)


def change_in_counts(old: Figure, new: Figure) -> Change:
    noise, spread = max(old.noise, new.noise), max(repeats.value_range(old.values), repeats.value_range(new.values))
    more = abs(statistics.median(new.values) - statistics.median(old.values))
    differs = more > spread and more >= noise
    note = repeats.WITHIN_SPREAD_NOTE if more <= spread else LESS_THAN_ONE
    return make_change(old, new, CHANGED if differs else SAME, note if more and not differs else None)


def change_in_repeats(old: Figure, new: Figure) -> Change:
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
    """Of repeats that were neighbours where there are enough, else of the medians; fewer than three tell nothing."""
    factor = timed_summary.Ratio(*(timed_summary.Sample(one.values, one.repeats, one.made) for one in (old, new)))
    interval = factor.interval
    if not interval:
        return make_change(old, new, UNKNOWN, timed_summary.FEW_REPEATS_NOTE)
    verdict = SAME if interval.low <= 1 <= interval.high else CHANGED
    found = make_change(old, new, verdict, factor.note or (by_chance(factor) if verdict == CHANGED else None))
    if found.changed and (factor.value > 1) != (found.amount > 0):
        return make_change(old, new, UNKNOWN, OTHER_WAY)
    return found._replace(share=factor.value - 1, low=interval.low, high=interval.high)


def by_chance(factor: timed_summary.Ratio) -> str | None:
    """Of a few repeats the interval reaches from the least to the largest quotient, whatever it is said to hold."""
    times = len(factor.quotients)
    return BY_CHANCE.format(times, 2 ** (times - 1)) if 0 < times < FEW else None


def make_change(old: Figure, new: Figure, verdict: Verdict, note: str | None) -> Change:
    before, after = statistics.median(old.values), statistics.median(new.values)
    amount = after - before
    better = (amount > 0) == old.more_is_better if verdict == CHANGED else None
    share = float(amount / before) if before else None
    notes = [one.note for one in (old, new) if one.note][:1] + ([note] if note else [])
    return Change(before, after, amount, share, verdict, better, "; ".join(notes) or None)
