"""The live heap of several processes together, in which blocks that were inherited by fork count once."""

from collections.abc import Iterable
from typing import NamedTuple

from tlsmem.run.heap_tree import MeteredProgram


class LiveSum(NamedTuple):
    """Live bytes and blocks."""

    bytes: int = 0
    blocks: int = 0


def sum_live(programs: Iterable[MeteredProgram]) -> LiveSum:
    """Return what the programs hold together, as they were last read.

    Blocks that a process inherited are a copy-on-write copy: they count with the process that requested them. If it
    freed some of them, or is not among the programs, they count once for all that inherited them. The meter knows how
    many bytes that are, not which blocks. So the sum lacks what a process freed, its children keep, and it requested
    anew."""
    counted = set(programs)
    parts = [sum_quantity(counted, quantity) for quantity in range(len(LiveSum._fields))]
    return LiveSum(*parts)


def sum_quantity(counted: set[MeteredProgram], quantity: int) -> int:
    """Return the sum of one quantity, by its position in LiveSum."""
    family = set(counted)
    for program in counted:
        while program.forked_from and program.forked_from not in family:
            program = program.forked_from
            family.add(program)
    total = 0
    kept: dict[MeteredProgram, list[int]] = {program: [] for program in family}  # by its children, of what they got
    for program in sorted(family, key=lambda one: one.page.made, reverse=True):  # children first
        at_fork = (program.page.inherited.live_bytes, program.page.inherited.live_blocks)[quantity]
        own, inherited = 0, 0
        if program in counted:
            own, inherited = program.page.private_live[quantity], program.page.inherited_live[quantity]
        total += max([own, *(size - at_fork for size in kept[program])])
        inherited = max([inherited, *(min(size, at_fork) for size in kept[program])])
        if program.forked_from:
            kept[program.forked_from].append(inherited)
        else:
            total += inherited
    return total
