"""What is said of figures that a stack's own runtime tells, beside those of the heap meter."""

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats.missing import Missing, map_present
from tlsmem.tables.table import Cell, fraction_cell

RUNTIME_NOTE = (
    "its runtime's own figure after a collection: it includes goroutine stacks and counts blocks at their size "
    "classes; other stacks count requested bytes"
)
OBJECTS_NOTE = (
    "objects by its runtime's own figure, after a collection, at their size classes and without goroutine stacks"
)
GARBAGE_NOTE = "includes garbage of the phase, which the runtime frees at its next collection"
GOROUTINES_NOTE = "records of ended goroutines, which the runtime keeps for later sessions"


class Size(NamedTuple):
    """Bytes; with a note where a runtime tells them, which repeat to some bytes only."""

    bytes: Fraction
    runtime_note: str | None


def size_if_known(value: Fraction | Missing, runtime_note: str | None) -> Size | Missing:
    """Return the value with its note."""
    return map_present(lambda size: Size(size, runtime_note), value)


def size_cell(size: Size) -> Cell:
    """Whole where it is; of a runtime in whole bytes."""
    value = Fraction(round(size.bytes)) if size.runtime_note else size.bytes
    return replace(fraction_cell(value), note=size.runtime_note)
