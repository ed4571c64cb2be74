"""The samples of a pprof file, which may be millions, as arrays: no object is made for a sample.

A sample is kept as the bytes of its packed numbers until there are enough of them to be decoded together."""

from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Unsigned = npt.NDArray[np.uint64]
Lengths = npt.NDArray[np.uint32]

MOST_SAMPLES = 8_000_000
LONGEST_VARINT = 10  # bytes, for 64 bits
TOGETHER = 1 << 20  # bytes that are decoded together
LOCATIONS, VALUES, LABEL = 1, 2, 3  # fields of Sample


class BadMessage(ValueError):
    """What is wrong with the bytes: a clause, which begins with `it`."""


class PackedNumbers:
    """Lists of numbers, in the bytes that a file has of each: `numbers` one after the other, and how many each has."""

    def __init__(self) -> None:
        self.bytes, self.sizes = bytearray(), array("I")
        self.numbers: list[npt.NDArray[Any]] = []
        self.lengths: list[Lengths] = []

    def add(self, packed: bytes) -> None:
        self.bytes += packed
        self.sizes.append(len(packed))
        if len(self.bytes) >= TOGETHER or len(self.sizes) >= TOGETHER:
            self.decode()

    def decode(self) -> None:
        """Raises BadMessage."""
        numbers, lengths = decode_lists(np.frombuffer(bytes(self.bytes), np.uint8), np.array(self.sizes, np.int64))
        fits = not len(numbers) or int(numbers.max()) < 1 << 32
        self.numbers.append(numbers.astype(np.uint32) if fits else numbers)
        self.lengths.append(lengths)
        self.bytes, self.sizes = bytearray(), array("I")


def decode_lists(content: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64]) -> tuple[Unsigned, Lengths]:
    """Return the varints in `content`, and how many of them are in each of the parts of these sizes (bytes).

    Raises BadMessage for one that is cut off, or has more than 64 bits."""
    is_last = content < 0x80
    borders = np.append(0, np.cumsum(sizes))
    if not np.all(is_last[borders[1:][sizes > 0] - 1]):
        raise BadMessage("it ends within a number")
    ends = np.flatnonzero(is_last)
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    longest = int((ends - starts).max(initial=-1)) + 1
    if longest > LONGEST_VARINT or (longest == LONGEST_VARINT and np.any(content[ends[ends - starts == 9]] > 1)):
        raise BadMessage("it has a number of more than 64 bits")
    found = content[starts].astype(np.uint64) & np.uint64(0x7F)
    for at in range(1, longest):
        longer = np.flatnonzero(ends - starts >= at)
        found[longer] |= (content[starts[longer] + at].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * at)
    counts = np.append(0, np.cumsum(is_last))
    return found, (counts[borders[1:]] - counts[borders[:-1]]).astype(np.uint32)


class PackedSamples:
    """All samples of a file. `label_sets` are the different labels that samples have, as bytes; `labels` says by sample
    which of them."""

    def __init__(self) -> None:
        self.locations, self.values = PackedNumbers(), PackedNumbers()
        self.label_sets: dict[tuple[bytes, ...], int] = {}
        self.labels = array("I")

    def add(self, fields: Iterator[tuple[int, bytes]]) -> None:
        """Take a sample: number and content of each field. Raises BadMessage."""
        locations = values = b""
        labels: tuple[bytes, ...] = ()
        for number, content in fields:
            if number == LOCATIONS:
                locations += content
            elif number == VALUES:
                values += content
            elif number == LABEL:
                labels = (*labels, content)
        self.labels.append(self.label_sets.setdefault(labels, len(self.label_sets)))
        if len(self.labels) > MOST_SAMPLES:
            raise BadMessage(f"it has more than {MOST_SAMPLES:,} samples")
        self.locations.add(locations)
        self.values.add(values)

    def finish(self) -> None:
        """Decode what is left. Raises BadMessage."""
        self.locations.decode()
        self.values.decode()

    def __len__(self) -> int:
        return len(self.labels)


class Samples:
    """`values` has a row for each sample and a column for each sample type. `locations` are pieces: location numbers of
    all samples of the piece, innermost first, and how many each sample has. `labels` says by sample which of the
    `label_sets` it has."""

    def __init__(self, packed: PackedSamples, width: int, ids: list[int], read_label: Callable[[bytes], Any]) -> None:
        """Raises BadMessage where a sample lacks a value, or a location is not there."""
        lengths = np.concatenate(packed.values.lengths)
        if np.any(lengths != width):
            wrong = int(np.flatnonzero(lengths != width)[0])
            raise BadMessage(f"its sample {wrong + 1:,} has {lengths[wrong]} values for {width} sample types")
        self.values = np.concatenate([one.astype(np.uint64) for one in packed.values.numbers]).view(np.int64)
        self.values = self.values.reshape(len(packed), width)
        self.label_sets = [tuple(map(read_label, labels)) for labels in packed.label_sets]
        self.labels = np.array(packed.labels, np.int64)
        self.locations: list[tuple[Lengths, Lengths]] = []
        order = np.argsort(np.array(ids, np.uint64))
        known = np.array(ids, np.uint64)[order]
        first = 1
        for numbers, counts in zip(packed.locations.numbers, packed.locations.lengths, strict=True):
            at = np.searchsorted(known, numbers)
            is_known = at < len(known)
            is_known[is_known] = known[at[is_known]] == numbers[is_known]
            if not np.all(is_known):
                wrong = int(np.searchsorted(np.cumsum(counts), np.flatnonzero(~is_known)[0], "right"))
                raise BadMessage(f"its sample {first + wrong:,} has a location that is not there")
            self.locations.append((order[at].astype(np.uint32), counts))
            first += len(counts)
        packed.locations.numbers.clear()

    def __len__(self) -> int:
        return len(self.labels)
