"""A cell for a change between the repeats of two series."""

from tlsmem.stats.repeats import INSIDE, ONCE, Change
from tlsmem.tables.table import Cell


def change_cell(change: Change) -> Cell:
    """Bytes and percent, or none."""
    data = {"bytes": round(change.amount, 3), "percent": round(100 * change.share, 4)}
    note = ONCE if change.once else INSIDE if change.amount and not change.beyond_spread else None
    return Cell(f"{change.amount:+,.0f} ({100 * change.share:+.2f} %)" if change.beyond_spread else "none", data, note)
