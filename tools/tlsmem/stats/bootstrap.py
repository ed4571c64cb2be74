"""How far figures over repeats can be trusted: bootstrap intervals, of a slope and of a ratio."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

CONFIDENCE, RESAMPLES, SEED = 0.95, 9_999, 1  # a fixed seed: the same records give the same table


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def rounded(self) -> dict[str, float]:
        return {"low": round(self.low, 1), "high": round(self.high, 1)}


def slope(*samples: numpy.ndarray, pairs: numpy.ndarray, axis: int = -1) -> numpy.ndarray:
    """Least squares through the medians of each sample, as in the table that the interval stands in."""
    medians = numpy.stack([numpy.median(sample, axis=axis) for sample in samples])
    off = pairs - pairs.mean()
    return numpy.tensordot(off, medians, axes=1) / (off**2).sum()


def slope_interval(points: dict[int, Sequence[float]]) -> Interval | None:
    """Of bytes per pair, from sessions to the values of all repeats: each N is drawn from its own repeats again.

    None where a point was measured once, where repeats do not vary, and for fewer than two N: nothing is known of the
    spread then, or there is none, or no slope."""
    samples = [numpy.array(values, float) for values in points.values()]
    if len(samples) < 2 or min(map(len, samples)) < 2 or not any(numpy.ptp(sample) for sample in samples):
        return None
    pairs = numpy.array(list(points), float) / 2

    def statistic(*drawn: numpy.ndarray, axis: int = -1) -> numpy.ndarray:
        return slope(*drawn, pairs=pairs, axis=axis)

    return bootstrap_interval(samples, statistic)


def ratio_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Of the medians, after to before; None where one of them was measured once."""
    if min(len(before), len(after)) < 2:
        return None

    def statistic(after: numpy.ndarray, before: numpy.ndarray, axis: int = -1) -> numpy.ndarray:
        return numpy.median(after, axis=axis) / numpy.median(before, axis=axis)

    return bootstrap_interval((after, before), statistic)


def bootstrap_interval(samples: Sequence[Sequence[float]], statistic: Callable) -> Interval:
    """By percentiles; each sample is drawn again by itself."""
    import scipy.stats  # slow to import, and needed where repeats vary only

    drawing = {"confidence_level": CONFIDENCE, "n_resamples": RESAMPLES, "method": "percentile", "vectorized": True}
    found = scipy.stats.bootstrap(samples, statistic, rng=numpy.random.default_rng(SEED), **drawing).confidence_interval
    return Interval(float(found.low), float(found.high))
