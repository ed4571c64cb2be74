"""The law of memory: fixed + N x E + W x H, with E what an established session keeps and H what a handshake adds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from records import Record


def peak_heap(record: Record, role: str = "total") -> int:
    return max(getattr(phase.heap, role).peak_bytes for phase in record.phases)


@dataclass(frozen=True)
class Law:
    """memory = fixed + N x established + W x handshake, with W pairs in the handshake at once."""

    fixed: float
    established: float  # bytes per session (of a heap role: per session of that role)
    handshake: float  # bytes per pair in the handshake

    def at(self, sessions: int, window: int) -> float:
        return self.fixed + sessions * self.established + window * self.handshake


def pairs_at_once(record: Record) -> int:
    pairs = record.sessions // 2
    return pairs if record.window == "all" else min(record.window, pairs)


def fit(points: Sequence[tuple[int, int, float]]) -> Law | None:
    """Least squares over (sessions, window in pairs, bytes); None when they do not tell the three terms apart."""
    matrix = numpy.array([(1, sessions, window) for sessions, window, _ in points], float)
    if len(points) < 3 or numpy.linalg.matrix_rank(matrix) < 3:
        return None
    return Law(*numpy.linalg.lstsq(matrix, numpy.array([value for *_, value in points]), rcond=None)[0].tolist())
