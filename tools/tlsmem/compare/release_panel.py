"""One panel of the picture over releases: a bar for each release, stacked by bucket, and its peak as a mark."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from tlsmem.compare.release_walk import Release, ReleaseWalk
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import BucketSizes
from tlsmem.plots.frame import INK, points
from tlsmem.plots.rows import list_rows, write_in_column

TOTAL = "total"  # of a release without a sites run
STAGE_COLUMN, PEAK_COLUMN = 1.17, 1.36  # where their figures end, in parts of the scale
MARK: dict = {"color": INK, "marker": "|", "markersize": 10, "markeredgewidth": 1.6, "linestyle": "none"}


def peak_key() -> Line2D:
    """Return the peak's place in the legend."""
    return Line2D([], [], label="peak, one more of many, in the handshake", **MARK)


def bytes_by_bucket(one: Release, stage: str) -> BucketSizes:
    """Return the bytes of a session by bucket; without a sites run they are one part, and without a figure none."""
    size = one.size(stage)
    whole = {} if size is None else {TOTAL: size}
    return {bucket: float(held) for bucket, held in (one.buckets(stage) or whole).items()}


def longest_bar(walk: ReleaseWalk, stage: str) -> float:
    """Return the most bytes of any release, at the stage or at the peak."""
    sizes = [size for one in walk.releases for size in (one.size(stage), one.size("peak")) if size is not None]
    return max((float(size) for size in sizes), default=0.0)


def draw(axes: Axes, walk: ReleaseWalk, stage: str, versions: Sequence[str], widest: float) -> None:
    """Draw a row for each of these versions; one that the walk has not stays empty and says so."""
    there = {one.version: one for one in walk.releases}
    for row, version in enumerate(versions):
        one = there.get(version)
        size = one.size(stage) if one else None
        if one is None or size is None:
            style: dict = {"va": "center", "style": "italic", "fontsize": points(0.85), "color": INK}
            axes.text(0.01 * widest, row, "not measured in this suite", **style)
            continue
        parts = bytes_by_bucket(one, stage)
        bucket_panel.draw_parts(axes, row, bucket_panel.sort_buckets(parts), widest)
        write_in_column(axes, STAGE_COLUMN * widest, row, f"{float(size):,.0f} B", bold=True)
        peak = one.size("peak")
        if peak is not None:
            axes.plot([sum(parts.values()), float(peak)], [row, row], color="#666666", linewidth=0.9, zorder=1.5)
            axes.plot([float(peak)], [row], zorder=3, **MARK)
            write_in_column(axes, PEAK_COLUMN * widest, row, f"{float(peak):,.0f} B")
    list_rows(axes, versions, above=1.1)
    for end, heading in ((STAGE_COLUMN, stage), (PEAK_COLUMN, "peak")):
        write_in_column(axes, end * widest, -0.8, heading, bold=True)
    axes.set_xlim(0, 1.01 * PEAK_COLUMN * widest)
