"""Allocates from many call stacks, as many_stacks.c does: `memray run many_stacks.py STACKS EVENTS LIVE`."""

import random
import sys

LEVELS = 12


def descend(path: int, level: int, size: int) -> bytearray:
    if level == 0:
        return bytearray(size)
    if path & 3 == 0:
        return descend(path >> 2, level - 1, size)
    if path & 3 == 1:
        return descend(path >> 2, level - 1, size)
    if path & 3 == 2:
        return descend(path >> 2, level - 1, size)
    return descend(path >> 2, level - 1, size)


def main() -> None:
    stacks, events, live = map(int, sys.argv[1:])
    draw = random.Random(1).randrange
    blocks: list[bytearray | None] = [None] * live
    for event in range(events):
        number = event if event < stacks else draw(stacks)
        # CPython has blocks of 512 B and less from arenas of its own, which memray sees instead of them.
        blocks[event if event < live else draw(live)] = descend(number, LEVELS, 1000 + 100 * (number % 5))


if __name__ == "__main__":
    main()
