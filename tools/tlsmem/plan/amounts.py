"""Amounts of memory as answers show them, and shares of connections taken."""

from fractions import Fraction

from tlsmem.config.amounts import Share
from tlsmem.tables.table import Cell


def take_share(part: Share, whole: int) -> Fraction:
    """So many of them."""
    return part * whole if isinstance(part, Fraction) else Fraction(part)


def format_size(size: float) -> str:
    for unit, bytes_each in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= bytes_each:
            return (
                f"{size / bytes_each:,.2f} {unit}"
                if abs(size) < 100 * bytes_each
                else f"{size / bytes_each:,.0f} {unit}"
            )
    return f"{size:,.0f} B"


def memory_cell(size: float, note: str | None = None) -> Cell:
    return Cell(format_size(size), round(size), note)
