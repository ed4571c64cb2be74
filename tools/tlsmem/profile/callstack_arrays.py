"""Call stacks of a profile with very many of them: collected as arrays, and made a tree all at once.

`CallstackLists` does the same one by one, which takes a Python call and a tuple for each of a million stacks."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from tlsmem.profile.callstack_lists import address
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree

Numbers = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]

SMALL_TABLE = 8  # entries for each key, up to which numbers are found in a table, and not by sorting
PIECE = 1 << 20  # frames that are compared at once


class CallstackArrays:
    """Sequences of frame numbers, innermost first. Raises OverflowError for a frame number of more than 32 bits."""

    def __init__(self) -> None:
        self.frames: list[Counts] = []
        self.lengths: list[Counts] = []

    def add(self, stacks: Sequence[Sequence[int]]) -> None:
        lengths = np.fromiter(map(len, stacks), np.uint32, len(stacks))
        self.lengths.append(lengths)
        self.frames.append(np.fromiter(chain.from_iterable(stacks), np.uint32, int(lengths.sum())))

    def add_expanded(self, parts: Counts, lengths: Counts, firsts: Counts, counts: Counts) -> None:
        """Add stacks of parts, each of which is several frames: part n those from firsts[n] on, counts[n] of them."""
        if np.all(counts == 1):
            self.frames.append(firsts[parts])
            self.lengths.append(lengths)
            return
        sizes = counts[parts]
        before = np.append(0, np.cumsum(sizes, dtype=np.int64))
        frames = np.repeat(firsts[parts].astype(np.int64) - before[:-1], sizes) + np.arange(before[-1])
        borders = np.append(0, np.cumsum(lengths, dtype=np.int64))
        self.frames.append(frames.astype(np.uint32))
        self.lengths.append((before[borders[1:]] - before[borders[:-1]]).astype(np.uint32))

    def renumber(self, begin: int, numbers: Numbers) -> None:
        """Replace the frame numbers in what was added from piece `begin` on: n by numbers[n]. Raises IndexError."""
        for at in range(begin, len(self.frames)):
            self.frames[at] = numbers[self.frames[at]].astype(np.uint32)

    def build(self, stacks: CallstackTree, frames: Sequence[Frame]) -> Numbers:
        """Add all call stacks to an empty tree, and return their numbers in the order in which they came.

        Frames in a row with the same address are one place."""
        values, lengths = join(self.frames), join(self.lengths)
        self.frames, self.lengths = [], []
        places, counts = find_places(values, lengths, stacks, frames)
        found, callers, last = number_sequences(places, counts)
        stacks.nodes += zip(last.tolist(), callers.tolist(), strict=True)
        return found


def join(parts: list[Counts]) -> Counts:
    return np.concatenate(parts) if parts else np.zeros(0, np.uint32)


def find_places(
    values: Counts, lengths: Counts, stacks: CallstackTree, frames: Sequence[Frame]
) -> tuple[Counts, Counts]:
    """Add the places of these stacks to the tree; return the stacks as numbers of places, and how many each has."""
    numbers = dict[object, int]()
    known = (numbers.setdefault(address(number, frame), number) for number, frame in enumerate(frames))
    addresses = np.fromiter(known, np.uint32, len(frames))
    ends = np.cumsum(lengths, dtype=np.int64)
    begins_place = np.ones(len(values), bool)
    for at in range(1, len(values), PIECE):
        piece = addresses[values[at - 1 : at + PIECE]]
        begins_place[at : at + PIECE] = piece[1:] != piece[:-1]
    begins_place[(ends - lengths)[lengths > 0]] = True
    first = len(stacks.places)
    if begins_place.all():  # nothing was inlined: each frame is a place
        used = np.zeros(len(frames), bool)
        used[values] = True
        for number in np.flatnonzero(used).tolist():
            stacks.place((frames[number],))
        return (np.cumsum(used) + (first - 1)).astype(np.uint32)[values], lengths
    starts = np.flatnonzero(begins_place)
    sizes = np.diff(np.append(starts, len(values))).astype(np.uint32)
    found, outer, last = number_sequences(values, sizes)
    used, places = np.unique(found, return_inverse=True)
    for node in used.tolist():
        place = []
        while node:
            place.append(frames[int(last[node - 1])])
            node = int(outer[node - 1])
        stacks.place(tuple(place))
    totals = np.append(0, np.cumsum(begins_place))
    return (places + first).astype(np.uint32), (totals[ends] - totals[ends - lengths]).astype(np.uint32)


def number_sequences(values: Counts, lengths: Counts) -> tuple[Numbers, Numbers, Numbers]:
    """The sequences that lie one after the other in `values`, as a tree that is grown from their last values on.

    Return the node of each sequence, which is 0 where it is empty; then, of nodes 1, 2, ..., the node before and the
    value. Equal sequences have one node."""
    ends, nodes, count = np.cumsum(lengths, dtype=np.int64), np.zeros(len(lengths), np.int64), 1
    before, last = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    span = int(values.max(initial=0)) + 1
    longer = np.flatnonzero(lengths)
    level = 0
    while len(longer):
        level += 1
        keys, inverse = find_unique(nodes[longer] * span + values[ends[longer] - level])
        nodes[longer] = inverse + count
        before.append(keys // span)
        last.append(keys % span)
        count += len(keys)
        longer = longer[lengths[longer] > level]
    return nodes, np.concatenate(before), np.concatenate(last)


def find_unique(keys: Numbers) -> tuple[Numbers, Numbers]:
    """As numpy.unique with return_inverse; keys that lie close together are not sorted."""
    least = int(keys.min())
    width = int(keys.max()) - least + 1
    if width > SMALL_TABLE * len(keys):
        return np.unique(keys, return_inverse=True)
    is_there = np.zeros(width, bool)
    is_there[keys - least] = True
    return np.flatnonzero(is_there) + least, (np.cumsum(is_there) - 1)[keys - least]


def sum_by_stack(numbers: Numbers, *columns: Numbers) -> Iterable[tuple[int, ...]]:
    """Yield the number of each stack, in the order of its first row, and the sum of each column over its rows. A stack
    comes once for each of its rows, with the same sums."""
    sums = [np.zeros(int(numbers.max(initial=0)) + 1, np.int64) for _ in columns]
    for total, column in zip(sums, columns, strict=True):
        np.add.at(total, numbers, column)
    return zip(numbers.tolist(), *(total[numbers].tolist() for total in sums), strict=True)
