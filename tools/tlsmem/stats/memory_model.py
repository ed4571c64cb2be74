"""The memory model: fixed + N x E + W x H bytes. E is what a session keeps after its handshake; H is what one more
handshake under way adds."""

from collections.abc import Sequence
from dataclasses import dataclass

from tlsmem.schema.harness_output import Phase
from tlsmem.schema.records import Record
from tlsmem.stats import session_cost


def handshaking(record: Record) -> list[Phase]:
    """Return the phases in which sessions are created and handshake.

    Later phases are left out, because their peaks depend on N alone: with few concurrent handshakes they are larger,
    and a plane cannot fit the larger of two planes. Raises ValueError when the run has two processes."""
    steps = ("client ", "server ")
    return [one for one in session_cost.phases_of(record) if one.phase == "sessions" or one.phase.startswith(steps)]


def handshake_peak_rss(record: Record) -> int:
    """Return the peak RSS of these phases, in bytes."""
    return max(phase.peak_rss_bytes for phase in handshaking(record))


def handshake_peak_heap(record: Record, role: str) -> int:
    """Return the peak of the role's live heap in these phases, in bytes."""
    return max(session_cost.heap_of(phase, role).peak_bytes for phase in handshaking(record))


@dataclass(frozen=True)
class MemoryModel:
    """Bytes = fixed + N x kept + W x handshake, with N sessions, and W pairs in the handshake at once."""

    fixed: float
    kept: float  # E: bytes per session (of one role: per session of that role)
    handshake: float  # H: bytes per pair in the handshake

    def bytes_at(self, sessions: int, window: int) -> float:
        """Return the model's bytes at this many sessions and this many pairs in the handshake at once."""
        return self.fixed + sessions * self.kept + window * self.handshake


def pairs_at_once(record: Record) -> int:
    """Return W of the run: how many pairs are in the handshake at once, at most all."""
    pairs = record.sessions // 2
    return pairs if record.window == "all" else min(record.window, pairs)


def fit_memory_model(points: Sequence[tuple[int, int, float]]) -> MemoryModel | None:
    """Return the least-squares fit to points of (sessions, pairs in the handshake at once, bytes).

    None when the points do not determine all three terms."""
    import numpy

    matrix = numpy.array([(1, sessions, window) for sessions, window, _ in points], float)
    if len(points) < 3 or numpy.linalg.matrix_rank(matrix) < 3:
        return None
    return MemoryModel(
        *numpy.linalg.lstsq(matrix, numpy.array([value for *_, value in points]), rcond=None)[0].tolist()
    )
