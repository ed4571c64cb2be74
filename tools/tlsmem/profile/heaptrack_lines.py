"""The lines of a block of a heaptrack file as arrays, so that numbers are read without a Python call per line."""

import re

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NUMBERS = re.compile(rb"[0-9a-f]{1,16}(?: [0-9a-f]{1,16})*")  # of 64 bits; int() takes signs, spaces and 0x too
WORD = 8  # bytes that are loaded at once: the hexadecimal digits of a number of 32 bits
KEEP_FREED = (32 << 20) - (1 << 16)  # bytes: just below the largest that glibc takes for its thresholds
SPACE, LINE_BREAK = ord(" "), ord("\n")
EACH = np.uint64(0x0101010101010101)  # 1 in each byte
KEPT = np.array([(1 << 64) - (1 << 8 * (WORD - digits)) for digits in range(WORD + 1)], dtype=np.uint64)  # last digits


def keep_freed_memory() -> None:
    """Have malloc keep the memory of arrays for those of the next block.

    glibc returns large blocks to the kernel, and page faults then cost a third of the time of reading. It keeps blocks
    up to the size of the largest that was ever freed: see M_MMAP_THRESHOLD in mallopt(3). This one is never written to,
    so it takes no RAM."""
    np.empty(KEEP_FREED, np.uint8)


def read_numbers(words: bytes) -> list[int]:
    """Hexadecimal numbers with a space between them. Raises ValueError when there is anything else."""
    if not NUMBERS.fullmatch(words):
        raise ValueError
    return [int(word, 16) for word in words.split(b" ")]


class LineBlock:
    """Whole lines, the last with its line break. Positions are indices of bytes in the block, lines are counted from 0.

    `starts` and `ends` hold a position per line, without its line break; `kinds` its first byte."""

    def __init__(self, content: bytes):
        self.content = content
        padded = bytes(WORD) + content
        self.bytes = np.frombuffer(padded, np.uint8)[WORD:]
        # words[i] are the 8 bytes before position i, the last one in the highest byte.
        self.words = np.ndarray((len(content) + 1,), dtype="<u8", buffer=padded, strides=(1,))
        self.ends: Indices = np.flatnonzero(self.bytes == LINE_BREAK)
        self.starts: Indices = np.concatenate(([0], self.ends[:-1] + 1))
        self.kinds = self.bytes[self.starts]

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, at: int) -> bytes:
        return self.content[self.starts[at] : self.ends[at]]

    def read_number(self, lines: Indices) -> Indices | None:
        """N of each line `K N`, where K is one byte; None where a line has another form."""
        begins = self.starts[lines] + 2
        if not np.all(self.bytes[begins - 1] == SPACE):
            return None
        return self.read_hexadecimal(begins, self.ends[lines])

    def read_pair(self, lines: Indices) -> tuple[Indices, Indices] | None:
        """M and N of each line `K M N`, where K is one byte; None where a line has another form."""
        begins, ends = self.starts[lines] + 2, self.ends[lines]
        spaces = np.zeros_like(ends)  # the first after M
        for digits in range(1, WORD + 1):
            at = np.minimum(begins + digits, ends)
            spaces = np.where((spaces == 0) & (self.bytes[at] == SPACE), at, spaces)
        if not np.all((self.bytes[begins - 1] == SPACE) & (spaces > 0)):
            return None
        first = self.read_hexadecimal(begins, spaces)
        second = self.read_hexadecimal(spaces + 1, ends)
        return None if first is None or second is None else (first, second)

    def read_hexadecimal(self, begins: Indices, ends: Indices) -> Indices | None:
        """The numbers between these positions; None unless all are written as heaptrack writes numbers of 32 bits:
        in small letters, without leading zeros."""
        digits = ends - begins
        if not len(digits):
            return digits
        if digits.min() < 1 or digits.max() > WORD:
            return None
        text = self.words[ends] & KEPT[digits]
        letters = (text >> np.uint64(6)) & EACH
        nibbles = (text & (EACH * np.uint64(15))) + letters * np.uint64(9)
        # If the number, written again, gives the bytes that were read, then each of them was a digit.
        above_nine = ((nibbles + EACH * np.uint64(6)) >> np.uint64(4)) & EACH
        written = nibbles + EACH * np.uint64(ord("0")) + above_nine * np.uint64(ord("a") - ord("0") - 10)
        if np.any(nibbles & (EACH * np.uint64(0xF0))) or np.any(written & KEPT[digits] != text):
            return None
        if np.any((self.bytes[begins] == ord("0")) & (digits > 1)):
            return None
        return join_nibbles(nibbles)


def join_nibbles(nibbles: npt.NDArray[np.uint64]) -> Indices:
    """Numbers of 8 hexadecimal digits each, a byte per digit, the last digit in the highest byte."""
    pairs = ((nibbles << np.uint64(4)) | (nibbles >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    fours = ((pairs << np.uint64(8)) | (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (((fours << np.uint64(16)) | (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.int64)
