"""One panel of the picture over releases: a bar a release, stacked by bucket, and its peak as a mark above it."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from tlsmem.compare.release_walk import Release, ReleaseWalk
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import INK, BucketSizes
from tlsmem.plots.line_labels import HALO
from tlsmem.stats.session_cost import KIB

WIDE = 0.45  # half a bar
TOTAL = "total"  # of a release without a sites run


def stack_buckets(walk: ReleaseWalk, stage: str) -> BucketSizes:
    """KiB by bucket, by release; what has no sites run is one part."""
    return {one.version: parts(one, stage) for one in walk.releases}


def parts(one: Release, stage: str) -> dict[str, float]:
    size = one.size(stage)
    whole = {} if size is None else {TOTAL: size}
    return {bucket: float(held) / KIB for bucket, held in (one.buckets(stage) or whole).items()}


def peaks(walk: ReleaseWalk) -> list[float | None]:
    sizes = [one.size("peak") for one in walk.releases]
    return [None if size is None else float(size) / KIB for size in sizes]


def highest_bar(walk: ReleaseWalk, stage: str) -> float:
    return max([bucket_panel.tallest_bar(stack_buckets(walk, stage)), *(peak or 0.0 for peak in peaks(walk))])


def draw(axes: Axes, walk: ReleaseWalk, stage: str, versions: Sequence[str], top: float) -> None:
    """A place for each of these versions; one that the walk has not stays empty and says so."""
    there = stack_buckets(walk, stage)
    axes.set_ylim(0, top)
    axes.set_xlim(-0.6, len(versions) - 0.4)
    bucket_panel.bars(axes, {version: there.get(version, {}) for version in versions}, top)
    at = {version: place for place, version in enumerate(versions)}
    for one, peak in zip(walk.releases, peaks(walk), strict=True):
        mark(axes, at[one.version], peak, top)
    for version in versions:
        if not there.get(version):
            empty(axes, at[version], top)
    axes.set_xticks(range(len(versions)), [version.replace("-", "\n-") for version in versions], fontsize=8.5)
    axes.grid(visible=False, axis="x")


def mark(axes: Axes, at: int, peak: float | None, top: float) -> None:
    if peak is None:
        return
    axes.hlines(peak, at - WIDE, at + WIDE, color=INK, linewidth=2, zorder=3)
    style = {"ha": "center", "va": "bottom", "fontsize": 7.5, "color": INK, "path_effects": HALO}
    axes.text(at, peak + 0.008 * top, f"{peak:.1f}", **style)


def empty(axes: Axes, at: int, top: float) -> None:
    """Instead of the nought that a bar of nothing has."""
    for text in [one for one in axes.texts if one.get_text() == "0.0" and one.get_position()[0] == at]:
        text.remove()
    style = {"ha": "center", "va": "bottom", "fontsize": 7.5, "style": "italic", "rotation": 90, "color": INK}
    axes.text(at, 0.02 * top, "not in this suite", **style)
