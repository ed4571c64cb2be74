"""A missing value and its reason, which pass through arithmetic in place of a number.

`figure - other` is a number if both are. Otherwise it is the leftmost Missing, with its reason. `map_present` does the
same for any function of values that may be missing. Ask with `isinstance` only where a Missing ends: in a cell, a
sentence, or a picture that leaves out a point."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeVar, overload

from tlsmem.base.printable import strip_suite

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")
Number = int | float | Fraction
NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Missing:
    """A value that does not exist or was not measured. It has no order: `<` raises TypeError, as does its truth."""

    reason: str  # for people: the end of a sentence, as "not measured"

    def propagate(self, other: "Number | Missing") -> "Missing":
        """Return this one, whatever the number is. Python asks the left operand first, so its reason wins."""
        return self if isinstance(other, Number | Missing) else NotImplemented

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = propagate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = propagate

    def __neg__(self) -> "Missing":
        return self

    def __abs__(self) -> "Missing":
        return self

    def __round__(self, digits: int | None = None) -> "Missing":
        return self

    def __bool__(self) -> NoReturn:
        """Raise TypeError: `if figure:` would take a missing figure for one that is not 0."""
        raise TypeError(f"a missing value is neither true nor false: {self.reason}")


def find_missing(*values: object) -> Missing | None:
    """Return the first that is missing; None where all are present."""
    return next((value for value in values if isinstance(value, Missing)), None)


def keep_present(values: Iterable[A | Missing]) -> list[A]:
    """Return the values without those that are missing."""
    return [value for value in values if not isinstance(value, Missing)]


def replace_missing(value: A | Missing, otherwise: B) -> A | B:
    """Return the value; `otherwise` where it is missing."""
    return otherwise if isinstance(value, Missing) else value


def without_suite(value: A | Missing) -> A | Missing:
    """Return the value; a reason without the suite and the process, which a row names."""
    if not isinstance(value, Missing):
        return value
    return Missing(strip_suite(value.reason.removeprefix("unsupported: ").removeprefix("the server's process: ")))


@overload
def map_present(function: Callable[[A], R], one: A | Missing, /) -> R | Missing: ...


@overload
def map_present(function: Callable[[A, B], R], one: A | Missing, two: B | Missing, /) -> R | Missing: ...


@overload
def map_present(
    function: Callable[[A, B, C], R], one: A | Missing, two: B | Missing, three: C | Missing, /
) -> R | Missing: ...


def map_present(function: Callable[..., Any], *values: Any) -> Any:
    """Return the first of the values that is missing, else the function of them all, which may return a Missing too."""
    missing = find_missing(*values)
    return function(*values) if missing is None else missing
