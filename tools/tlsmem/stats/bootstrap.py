"""Bootstrap intervals of a slope, of a ratio and of a median over repeats: percentiles of 9,999 resamples, 95 %.

Each is drawn once: see tlsmem.base.memo. numpy and scipy, which take long to import, are imported only to draw."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.floating[Any]]

CONFIDENCE, RESAMPLES, SEED = 0.95, 9_999, 1  # a fixed seed: the same records give the same table


@dataclass(frozen=True)
class Interval:
    """The two ends of an interval, in the unit of the figure that it belongs to."""

    low: float
    high: float

    def rounded(self) -> dict[str, float]:
        """Return both ends, rounded to one decimal, for JSON."""
        return {"low": round(self.low, 1), "high": round(self.high, 1)}


def slope_interval(points: Mapping[int, Sequence[float]]) -> Interval | None:
    """Return the interval of the slope through the medians of the repeats, in bytes per pair.

    `points` has the values of all repeats, in bytes, by number of sessions; each N is resampled from its own repeats.
    None for fewer than two N, where an N was measured once (its spread is not known), and where no repeats vary."""
    samples = list(points.values())
    if len(samples) < 2 or min(map(len, samples)) < 2 or all(min(sample) == max(sample) for sample in samples):
        return None
    return recall_interval("slope", [list(points), *map(as_floats, samples)], partial(draw_slopes, points))


def ratio_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Return the interval of the ratio of the medians, `after` to `before`; None where one was measured once."""
    if min(len(before), len(after)) < 2:
        return None
    return recall_interval("ratio", [as_floats(before), as_floats(after)], partial(draw_ratios, before, after))


def median_interval(values: Sequence[float]) -> Interval:
    """Return the interval of the median of these values, of which there must be at least two."""
    return recall_interval("median", [as_floats(values)], partial(draw_medians, values))


def as_floats(values: Sequence[float]) -> list[float]:
    """Return the values as JSON can hold them: Fractions become floats."""
    return list(map(float, values))


def recall_interval(name: str, samples: Sequence[Sequence[float]], draw: Callable[[], list[float]]) -> Interval:
    """Return the interval that `draw` returned before for a figure of this name and these samples, or draw it."""
    return Interval(*memo.recall(f"interval of a {name}", samples, digest_code(("stats/bootstrap.py",)), draw))


def draw_slopes(points: Mapping[int, Sequence[float]]) -> list[float]:
    """Return low and high of the least-squares slope through the medians of each sample, in bytes per pair."""
    import numpy

    pairs = numpy.array(list(points), float) / 2
    off = pairs - pairs.mean()

    def slope(*drawn: "Floats", axis: int = -1) -> "Floats":
        medians = numpy.stack([numpy.median(sample, axis=axis) for sample in drawn])
        slopes: Floats = numpy.tensordot(off, medians, axes=1) / (off**2).sum()
        return slopes

    return draw([numpy.array(values, float) for values in points.values()], slope)


def draw_ratios(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return low and high of the ratio of the medians, `after` to `before`."""
    import numpy

    def ratio(*drawn: "Floats", axis: int = -1) -> "Floats":
        dividend, divisor = (numpy.median(sample, axis=axis) for sample in drawn)
        ratios: Floats = dividend / divisor
        return ratios

    return draw([after, before], ratio)


def draw_medians(values: Sequence[float]) -> list[float]:
    """Return low and high of the median."""
    import numpy

    def median(*drawn: "Floats", axis: int = -1) -> "Floats":
        medians: Floats = numpy.median(drawn[0], axis=axis)
        return medians

    return draw([values], median)


class Statistic(Protocol):
    """A figure of resamples, along the axis that has the values of one resample."""

    def __call__(self, *drawn: "Floats", axis: int = -1) -> "Floats": ...


def draw(samples: "Sequence[Sequence[float] | Floats]", statistic: Statistic) -> list[float]:
    """Return low and high of the statistic, by percentiles; each sample is resampled by itself."""
    import numpy
    import scipy.stats

    drawing = {"confidence_level": CONFIDENCE, "n_resamples": RESAMPLES, "method": "percentile", "vectorized": True}
    found = scipy.stats.bootstrap(samples, statistic, rng=numpy.random.default_rng(SEED), **drawing).confidence_interval
    return [float(found.low), float(found.high)]
