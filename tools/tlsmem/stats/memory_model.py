"""The law of memory: fixed + N x E + W x H, with E what a session keeps once its handshake is complete,
and H what one more handshake under way adds."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlsmem.schema.records import Phase, Record
from tlsmem.stats import session_cost


def handshaking(record: Record) -> list[Phase]:
    """The phases in which sessions are made and stepped. Later peaks follow N alone, so they are not the law's: with
    few handshakes at once they are the larger ones, and a line through the larger of two lines would bend."""
    steps = ("client ", "server ")
    return [one for one in session_cost.phases_of(record) if one.phase == "sessions" or one.phase.startswith(steps)]


def handshake_peak_rss(record: Record) -> int:
    return max(phase.peak_rss_bytes for phase in handshaking(record))


def handshake_peak_heap(record: Record, role: str) -> int:
    return max(getattr(phase.heap, role).peak_bytes for phase in handshaking(record))


@dataclass(frozen=True)
class MemoryModel:
    """memory = fixed + N x kept + W x handshake, with W pairs in the handshake at once."""

    fixed: float
    kept: float  # E: bytes per session (of one role: per session of that role)
    handshake: float  # H: bytes per pair in the handshake

    def bytes_at(self, sessions: int, window: int) -> float:
        return self.fixed + sessions * self.kept + window * self.handshake


def pairs_at_once(record: Record) -> int:
    pairs = record.sessions // 2
    return pairs if record.window == "all" else min(record.window, pairs)


def fit_memory_model(points: Sequence[tuple[int, int, float]]) -> MemoryModel | None:
    """Least squares over (sessions, window in pairs, bytes); None when they do not tell the three terms apart."""
    import numpy

    matrix = numpy.array([(1, sessions, window) for sessions, window, _ in points], float)
    if len(points) < 3 or numpy.linalg.matrix_rank(matrix) < 3:
        return None
    return MemoryModel(
        *numpy.linalg.lstsq(matrix, numpy.array([value for *_, value in points]), rcond=None)[0].tolist()
    )
