"""The memory model: fixed + N x E + W x H bytes. E is what a session keeps after its handshake; H is what one more
handshake under way adds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tlsmem.schema.harness_output import Meter
from tlsmem.stats import session_cost
from tlsmem.stats.missing import Missing
from tlsmem.store.record import Phase, Record


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


class Quantity(NamedTuple):
    """What is modelled: its meter, N over the sessions that it counts (of a role: every second), and its peak."""

    meter: Meter
    share: int
    peak: Callable[[Record], int]


QUANTITIES = {
    "RSS": Quantity("rss", 1, handshake_peak_rss),
    "live heap": Quantity("heap", 1, partial(handshake_peak_heap, role="total")),
    "live heap, clients": Quantity("heap", 2, partial(handshake_peak_heap, role="client")),
    "live heap, servers": Quantity("heap", 2, partial(handshake_peak_heap, role="server")),
}
# Of the pairs: with fewer at once, freed memory is used again in another way, see docs/explanation/method.md.
MIN_WINDOW_SHARE = 0.01
NO_MODEL = Missing("not enough runs: it takes two windows, and two numbers of sessions")
NO_SUCH_WINDOW = Missing("no such window was measured")


class ModelError(NamedTuple):
    """How far the model is off a run, as a share of what was measured."""

    share: float
    sessions: int
    window: int  # pairs at once

    @property
    def rounded_share(self) -> float:
        """To 6 decimals: beyond them it is the arithmetic's."""
        return round(self.share, 6) + 0.0  # -0.0 or 0.0 would depend on the processor


class CheckedModel(NamedTuple):
    """A model, with its largest errors at windows between those of the fit, and at narrower ones."""

    model: MemoryModel
    error: ModelError | Missing
    narrow_error: ModelError | Missing


def window_width(run: Record) -> float:
    """Return the window of the run; infinity where it has all pairs."""
    return float("inf") if run.window == "all" else run.window


def split_fit_and_check(runs: Sequence[Record]) -> tuple[list[Record], list[Record], list[Record]]:
    """Return the runs for the fit, and those to check it at: between the windows of the fit, and at narrower ones.

    The fit is to the narrowest and the widest window that the model is claimed for; the checks are at the most
    sessions. All runs must be of one meter."""
    most = max((run.sessions for run in runs), default=0)
    narrowest = most // 2 * MIN_WINDOW_SHARE if runs and runs[0].meter == "rss" else 0
    claimed = {window_width(run) for run in runs if window_width(run) >= narrowest}
    if not claimed:
        return [], [], []
    low, high = min(claimed), max(claimed)
    large = [run for run in runs if run.sessions == most]
    fitted = [run for run in runs if window_width(run) in (low, high)]
    between = [run for run in large if low < window_width(run) < high]
    return fitted, between, [run for run in large if window_width(run) < low]


def fit_and_check(runs: Sequence[Record], name: str) -> CheckedModel | Missing:
    """Return the model of a quantity of QUANTITIES, with its errors. `runs` are of one stack in settings that differ in
    their windows alone, of any meter and status."""
    quantity = QUANTITIES[name]
    measured = [run for run in runs if run.meter == quantity.meter and run.status == "measured"]
    fitted, between, narrower = split_fit_and_check(measured)
    model = fit_memory_model(
        [(run.sessions // quantity.share, pairs_at_once(run), quantity.peak(run)) for run in fitted]
    )
    if not model:
        return NO_MODEL
    return CheckedModel(model, find_error(model, between, quantity), find_error(model, narrower, quantity))


def find_error(model: MemoryModel, runs: Sequence[Record], quantity: Quantity) -> ModelError | Missing:
    """Return the model's largest error at these runs, the first of equals; Missing without runs."""
    errors = []
    for run in runs:
        predicted = model.bytes_at(run.sessions // quantity.share, pairs_at_once(run))
        errors.append(ModelError(predicted / quantity.peak(run) - 1, run.sessions, pairs_at_once(run)))
    return max(errors, key=lambda error: abs(error.rounded_share)) if errors else NO_SUCH_WINDOW
