"""How far figures over repeats can be trusted: bootstrap intervals of a slope, of a ratio and of a median.

Each is drawn once: see tlsmem.base.memo. numpy and scipy, which take long to import, are imported for that alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tlsmem.base import memo

CONFIDENCE, RESAMPLES, SEED = 0.95, 9_999, 1  # a fixed seed: the same records give the same table


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def rounded(self) -> dict[str, float]:
        return {"low": round(self.low, 1), "high": round(self.high, 1)}


def slope_interval(points: Mapping[int, Sequence[float]]) -> Interval | None:
    """Of bytes per pair, from sessions to the values of all repeats: each N is drawn from its own repeats again.

    None where a point was measured once, where repeats do not vary, and for fewer than two N: nothing is known of the
    spread then, or there is none, or no slope."""
    samples = list(points.values())
    if len(samples) < 2 or min(map(len, samples)) < 2 or all(min(sample) == max(sample) for sample in samples):
        return None
    return recall_interval("slope", [list(points), *map(as_floats, samples)], partial(draw_slopes, points))


def ratio_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Of the medians, after to before; None where one of them was measured once."""
    if min(len(before), len(after)) < 2:
        return None
    return recall_interval("ratio", [as_floats(before), as_floats(after)], partial(draw_ratios, before, after))


def median_interval(values: Sequence[float]) -> Interval:
    """Of the median of these values."""
    return recall_interval("median", [as_floats(values)], partial(draw_medians, values))


def as_floats(values: Sequence[float]) -> list[float]:
    return list(map(float, values))


def recall_interval(name: str, samples: list[list[Any]], draw: Callable[[], list[float]]) -> Interval:
    return Interval(*memo.recall(f"interval of a {name}", samples, memo.code_of("stats/bootstrap.py"), draw))


def draw_slopes(points: Mapping[int, Sequence[float]]) -> list[float]:
    """Least squares through the medians of each sample, as in the table that the interval stands in."""
    import numpy

    pairs = numpy.array(list(points), float) / 2
    off = pairs - pairs.mean()

    def slope(*drawn: Any, axis: int = -1) -> Any:
        medians = numpy.stack([numpy.median(sample, axis=axis) for sample in drawn])
        return numpy.tensordot(off, medians, axes=1) / (off**2).sum()

    return draw([numpy.array(values, float) for values in points.values()], slope)


def draw_ratios(before: Sequence[float], after: Sequence[float]) -> list[float]:
    import numpy

    def ratio(after: Any, before: Any, axis: int = -1) -> Any:
        return numpy.median(after, axis=axis) / numpy.median(before, axis=axis)

    return draw([after, before], ratio)


def draw_medians(values: Sequence[float]) -> list[float]:
    import numpy

    return draw([values], numpy.median)


def draw(samples: Sequence[Any], statistic: Callable) -> list[float]:
    """Low and high by percentiles; each sample is drawn again by itself."""
    import numpy
    import scipy.stats

    drawing = {"confidence_level": CONFIDENCE, "n_resamples": RESAMPLES, "method": "percentile", "vectorized": True}
    found = scipy.stats.bootstrap(samples, statistic, rng=numpy.random.default_rng(SEED), **drawing).confidence_interval
    return [float(found.low), float(found.high)]
