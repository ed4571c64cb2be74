"""Amounts of memory as answers print them, and shares of connections."""

import math
from fractions import Fraction

from tlsmem.config.amounts import Share
from tlsmem.tables.table import Cell

UNITS = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20}
DIGITS = 3  # significant, in prose and tables; values for programs are exact


def take_share(part: Share, whole: int) -> Fraction:
    """Return so many of them."""
    return part * whole if isinstance(part, Fraction) else Fraction(min(part, whole))


def find_unit(size: float) -> str | None:
    """Return the largest unit that the size has one of; None below 1 MiB."""
    return next((unit for unit, bytes_each in UNITS.items() if abs(size) >= bytes_each), None)


def format_in(size: float, unit: str | None) -> str:
    """Return the number alone, in the unit: three significant digits, whole where it is whole; bytes without a unit."""
    if unit is None:
        return f"{size:,.0f}"
    number = size / UNITS[unit]
    if number == round(number):
        return f"{number:,.0f}"
    decimals = DIGITS - 1 - math.floor(math.log10(abs(number)))
    return f"{number:,.{min(DIGITS - 1, max(0, decimals))}f}"


def format_size(size: float) -> str:
    """Return bytes with separators below 1 MiB, MiB or more above it; with a minus below 0."""
    if size < 0:
        return f"−{format_size(-size)}"
    unit = find_unit(size)
    return f"{format_in(size, unit)} {unit or 'B'}"


def round_down(count: int) -> int:
    """Return the count to three significant digits, never more than it is."""
    scale: int = 10 ** max(0, len(str(count)) - DIGITS)
    return count // scale * scale


def memory_cell(size: float, note: str | None = None) -> Cell:
    """A size for people, in bytes for programs."""
    return Cell(format_size(size), round(size), note)
