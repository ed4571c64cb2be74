"""OpenSSL's sparse arrays of 3.6 and later, which are indexed by addresses: of contexts and of threads.

Such an array has a level for every digit of its largest index, and valgrind places a program at low addresses. So its
tools see fewer levels than there are outside of it; heaptrack tells how many those are."""

from tlsmem.selfcheck.reference_profilers import Constant, Reading, Statement

NAME = "levels of sparse arrays indexed by addresses, which are lower under valgrind"


def levelled(one: Statement, outside: Statement) -> Statement:
    """As if the program were placed as in the other run."""
    readings, constants = {}, {}
    for phase, said in one.by_phase.items():
        here, there = one.sparse[phase], outside.sparse[phase]
        blocks = None if said.live_blocks is None else here.blocks - there.blocks
        found = Constant(NAME, here.bytes - there.bytes, blocks)
        readings[phase] = Reading(
            said.live_bytes - found.live_bytes, None if blocks is None else said.live_blocks - blocks
        )
        if found.live_bytes:
            constants[found] = None
    return Statement(one.tool, readings, [*one.constants, *constants], one.sparse)
