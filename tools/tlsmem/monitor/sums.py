"""The live heap of several processes together, in which blocks that were inherited by fork count once."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from tlsmem.monitor.tree import MeteredProgram


class LiveSum(NamedTuple):
    """Live bytes and blocks."""

    bytes: int = 0
    blocks: int = 0


def sum_live(programs: Iterable[MeteredProgram]) -> LiveSum:
    """Return what the programs hold together, as they were last read.

    Blocks that a process inherited are a copy-on-write copy: they count with the process that requested them. What it
    freed while its children keep it counts once for all that were forked before, and so does all of it once that
    process is not among the programs. The meter knows how many bytes that are, not which blocks: where children freed
    some of theirs too, these may be the same, and the sum is the least that it can be."""
    counted = set(programs)
    parts = [sum_quantity(counted, quantity) for quantity in range(len(LiveSum._fields))]
    return LiveSum(*parts)


class Kept(NamedTuple):
    """What is live in a child, and below it, of what it inherited; what that was at its fork; and what its parent had
    freed of its own by then that other children may keep."""

    live: int
    at_fork: int
    freed_before: int


def sum_quantity(counted: set[MeteredProgram], quantity: int) -> int:
    """Return the sum of one quantity, by its position in LiveSum."""
    family = set(counted)
    for program in counted:
        while program.forked_from and program.forked_from not in family:
            program = program.forked_from
            family.add(program)
    total = 0
    kept: dict[MeteredProgram, list[Kept]] = {program: [] for program in family}  # by the children of each
    for program in sorted(family, key=lambda one: one.page.made, reverse=True):  # children first
        page, children = program.page, kept[program]
        at_fork = (page.inherited.live_bytes, page.inherited.live_blocks)[quantity]
        own, inherited = 0, 0
        if program in counted:
            own = page.private_live[quantity] + freed_but_kept(page.forked_out[quantity], children)
            inherited = page.inherited_live[quantity]
        total += max([own, *(child.live - at_fork for child in children)])
        inherited = max([inherited, *(min(child.live, at_fork) for child in children)])
        if program.forked_from:
            kept[program.forked_from].append(Kept(inherited, at_fork, page.parent_out[quantity]))
        else:
            total += inherited
    return total


def freed_but_kept(freed: int, children: list[Kept]) -> int:
    """Return what a process freed of its own, in all `freed`, and some child keeps: at least.

    What was freed between two forks, those have whose fork was before; each has no more than is live in it."""
    moments = sorted({child.freed_before for child in children})
    left = [child.live for child in children]
    total = 0
    for begin, end in itertools.pairwise([*moments, freed]):
        most = 0
        for number, child in enumerate(children):
            if child.freed_before <= begin:
                share = min(left[number], max(0, end - begin - (child.at_fork - child.live)))
                left[number] -= share
                most = max(most, share)
        total += most
    return total
