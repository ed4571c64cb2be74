"""How buckets look in pictures and on pages, and a bar of a session's bytes that is stacked by bucket."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tlsmem.plots.frame import THICK, Style, points
from tlsmem.plots.line_labels import Halo
from tlsmem.profile.buckets import rules

HATCHES = {  # of pictures, as paths in a tile of 8 by 8
    "": "",
    "//": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
    "\\\\": "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "---": "M0,2 h8 M0,6 h8",
    "++": "M0,4 h8 M4,0 v8",
    "..": "M1.3,2 h1.4 M5.3,6 h1.4",
}


def text_on(colour: str) -> str:
    """Black or white on `#rrggbb`: the one that differs more, at least by 4.5 as WCAG counts."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


class BucketStyle(NamedTuple):
    """Of a bucket. Colours are Okabe and Ito's, and one is Tol's; hatches tell those apart that are alike in grey."""

    bucket: str
    short: str
    colour: str
    hatch: str = ""


BUCKET_STYLES = (  # from below: what stays longest first
    BucketStyle("connection structure", "connection", "#0072B2"),
    BucketStyle("peer certificates", "certs", "#F0E442"),
    BucketStyle("keys and cipher contexts", "keys", "#D55E00", "---"),
    BucketStyle("session and tickets", "session", "#882255"),
    BucketStyle("context", "context", "#777777", "++"),
    BucketStyle("transport", "transport", "#BBBBBB", ".."),
    BucketStyle("caller's buffers", "caller's", "#CC79A7", ".."),
    BucketStyle("record buffers, read", "read", "#56B4E9", "//"),
    BucketStyle("record buffers, write", "write", "#009E73", "\\\\"),
    BucketStyle("handshake messages and transcript", "handshake", "#E69F00"),
)
LEFT = BucketStyle("other", "other", "#000000")


def style_of_bucket(bucket: str) -> BucketStyle:
    """That of `other`, under its own name, for one that has none."""
    return next((look for look in BUCKET_STYLES if look.bucket == bucket), LEFT._replace(bucket=bucket))


ROOM = 0.105  # of the longest bar: a part that has room for its figure
LEAST = 0.01  # of the longest bar: a bucket that is seen, and so in the legend

BucketSizes = Mapping[str, float]  # bytes of one session by bucket


def sort_buckets(parts: BucketSizes) -> list[tuple[BucketStyle, float]]:
    """Return the buckets that hold something in the order of a bar; those without a style of their own come last."""
    order = [style.bucket for style in BUCKET_STYLES]
    found = [(style_of_bucket(bucket), size) for bucket, size in parts.items() if size]
    return sorted(found, key=lambda pair: order.index(pair[0].bucket) if pair[0].bucket in order else len(order))


def list_buckets(bars: Iterable[BucketSizes], widest: float) -> list[Patch]:
    """Return the legend of all bars: the buckets that are seen in one."""
    largest: dict[str, float] = {}
    for parts in bars:
        for bucket, size in parts.items():
            largest[bucket] = max(size, largest.get(bucket, 0.0))
    seen = {bucket: size for bucket, size in largest.items() if size > LEAST * widest}
    return [Patch(label=style.bucket, **fill(style)) for style, _ in sort_buckets(seen)]


def fill(style: BucketStyle) -> Style:
    """Return how matplotlib fills a bucket."""
    return {"facecolor": style.colour, "hatch": style.hatch, "edgecolor": "white", "linewidth": 0.6}


def draw_parts(axes: Axes, row: float, parts: Sequence[tuple[BucketStyle, float]], widest: float) -> None:
    """Draw a bar from parts in bytes, with a figure in each of several that has room for it."""
    start, total = 0.0, sum(size for _, size in parts)
    for style, size in parts:
        axes.barh(row, size, left=start, height=THICK, zorder=2, **fill(style))
        if ROOM * widest < size < total:
            halo = [Halo(style.colour)] if style.hatch else []
            words: Style = {"ha": "center", "va": "center", "fontsize": points(0.85), "color": text_on(style.colour)}
            axes.text(start + size / 2, row, f"{size:,.0f} B", zorder=3, path_effects=halo, **words)
        start += size


def ordered_buckets() -> list[str]:
    """Return the buckets from below, as in the picture of buckets."""
    styled = [style.bucket for style in BUCKET_STYLES]
    return styled + [bucket for bucket in rules.buckets() if bucket not in styled]


def bucket_look(bucket: str) -> dict[str, str]:
    """Return the bucket's names, meaning, colours, and its hatch as a path in a tile of 8 by 8."""
    style = style_of_bucket(bucket)
    colours = {"colour": style.colour, "text": text_on(style.colour), "hatch": HATCHES[style.hatch]}
    return {"bucket": bucket, "short": style.short, "means": rules.buckets().get(bucket, "")} | colours
