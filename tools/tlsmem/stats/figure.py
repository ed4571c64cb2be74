"""One figure: the values that repeats measured of it, and how sure these are."""

from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats.back_to_back import Span

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
    made: tuple[Span, ...] = ()  # the machine's better and worse moments are in both
    at: str | None = None  # of a peak: the phase it is in

    @property
    def counted(self) -> bool:
        return isinstance(self.values[0], Fraction)

    @property
    def note(self) -> str | None:
        return QUOTIENT.format(self.quotient) if self.quotient else None
