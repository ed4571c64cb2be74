"""One panel of the picture of buckets: what a session of one stack and role holds at the end of each phase, stacked."""

from typing import NamedTuple

from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tlsmem.base.phase_names import READABLE_NAMES, order_key
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Owner
from tlsmem.stats.session_cost import KIB

INK = "#222222"


def text_on(colour: str) -> str:
    """Black or white on `#rrggbb`: the one that differs more, at least by 4.5 as WCAG counts."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#ffffff"


class BucketStyle(NamedTuple):
    """Of a bucket. Colours are Okabe and Ito's; in grey, adjacent ones differ in luminance, and some are hatched."""

    bucket: str
    short: str
    colour: str
    text: str = INK
    hatch: str = ""


BUCKET_STYLES = (  # from below: what stays longest first
    BucketStyle("connection structure", "connection", "#0072B2", "white"),
    BucketStyle("peer certificates", "certs", "#F0E442"),
    BucketStyle("keys and cipher contexts", "keys", "#D55E00", "white"),
    BucketStyle("session and tickets", "session", "#DDDDDD"),
    BucketStyle("context", "context", "#777777", "white"),
    BucketStyle("transport", "transport", "#BBBBBB"),
    BucketStyle("caller's buffers", "caller's", "#CC79A7"),
    BucketStyle("record buffers, read", "read", "#56B4E9", INK, "//"),
    BucketStyle("record buffers, write", "write", "#009E73", "white", "\\\\"),
    BucketStyle("handshake messages and transcript", "handshake", "#E69F00"),
)
LEFT = BucketStyle("other", "other", "#000000", "white")


def style_of_bucket(bucket: str) -> BucketStyle:
    """That of `other`, under its own name, for one that has none."""
    return next((look for look in BUCKET_STYLES if look.bucket == bucket), LEFT._replace(bucket=bucket))


LAST = "idle"  # what comes after it is nobody's session
THICK, ROOM = 0.04, 0.075  # of the axis: a part that has room for a name, and for its figure below the name
SMALL, PALE = 0.4, 0.75  # of the axis: bars that are drawn again, enlarged and paler, where the panel is empty

BucketSizes = dict[str, dict[str, float]]  # KiB of one session by bucket, by phase


def bucket_sizes(sums: BucketSums, role: Owner) -> BucketSizes:
    """In order of time, from the first phase that has sessions to LAST."""
    phases = sums.phases()
    phases = sorted(phases[: phases.index(LAST) + 1] if LAST in phases else phases, key=order_key)
    found = {name: sums.live_by_bucket(name, role) for name in phases}
    return {name: {bucket: float(sums.each(one)) / KIB for bucket, one in held.items()} for name, held in found.items()}


def tallest_bar(parts: BucketSizes) -> float:
    return max((sum(of.values()) for of in parts.values()), default=0.0)


def looks(parts: BucketSizes) -> list[BucketStyle]:
    """Of the buckets that hold something, from below; those that have no look of their own are like `other`."""
    there = {bucket for of in parts.values() for bucket, size in of.items() if size}
    known = {look.bucket for look in BUCKET_STYLES}
    return [look for look in BUCKET_STYLES if look.bucket in there] + [
        style_of_bucket(one) for one in sorted(there - known)
    ]


def keys(panels: list[BucketSizes]) -> list[Patch]:
    """The legend of all panels, from above, as the bars are."""
    found = {look: None for parts in panels for look in looks(parts)}
    ordered = sorted(found, key=lambda look: BUCKET_STYLES.index(look) if look in BUCKET_STYLES else len(BUCKET_STYLES))
    return [Patch(label=look.bucket, **fill(look)) for look in reversed(ordered)]


def fill(look: BucketStyle) -> dict:
    return {"facecolor": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.6}


def draw(axes: Axes, parts: BucketSizes, top: float) -> None:
    """On an axis that ends at `top`, which may be that of other panels."""
    axes.set_ylim(0, top)
    bars(axes, parts, top)
    names = [READABLE_NAMES.get(name, name) for name in parts]
    axes.set_xticks(range(len(parts)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
    axes.grid(visible=False, axis="x")
    if 0 < tallest_bar(parts) < SMALL * top:
        enlarge(axes, parts, top)


def bars(axes: Axes, parts: BucketSizes, top: float, share: float = 1.0, alpha: float = 1.0) -> None:
    """With a figure above each, and names in those parts that have room for them; the axis has this share of the
    panel's height."""
    below = [0.0] * len(parts)
    for look in looks(parts):
        sizes = [of.get(look.bucket, 0.0) for of in parts.values()]
        axes.bar(range(len(parts)), sizes, 0.9, bottom=below, zorder=2, alpha=alpha, **fill(look))
        for at, size in enumerate(sizes):
            if size * share > THICK * top:
                label_inside(axes, at, below[at] + size / 2, look, size if size * share > ROOM * top else None, alpha)
        below = [low + size for low, size in zip(below, sizes, strict=True)]
    for at, height in enumerate(below):
        text, style = f"{height:.1f}", {"ha": "center", "va": "bottom", "fontsize": 8 if share == 1 else 7}
        axes.text(at, height + 0.01 * top / share, text, weight="bold", color=INK, **style)


def label_inside(axes: Axes, at: float, height: float, look: BucketStyle, size: float | None, alpha: float) -> None:
    """Lines of a hatch end before the text."""
    text = look.short if size is None else f"{look.short}\n{size:.1f}"
    halo = [patheffects.withStroke(linewidth=3, foreground=look.colour)] if look.hatch and alpha == 1 else []
    style = {"ha": "center", "va": "center", "fontsize": 6.5, "linespacing": 1.05, "color": look.text}
    axes.text(at, height, text, zorder=3, path_effects=halo, **style)


def enlarge(axes: Axes, parts: BucketSizes, top: float) -> None:
    """The same bars once more in a frame above themselves, so that they can be told apart."""
    low, high = max(tallest_bar(parts) / top + 0.16, 0.42), 0.98
    inner = axes.inset_axes((0.0, low, 1.0, high - low), sharex=axes)
    own = 1.3 * tallest_bar(parts)
    inner.set_ylim(0, own)
    bars(inner, parts, own, high - low, PALE)
    times = (high - low) / own * top
    inner.text(
        0.01, 0.96, f"magnified {times:.1f} times", transform=inner.transAxes, va="top", fontsize=8, style="italic"
    )
    inner.tick_params(labelbottom=False, bottom=False, labelleft=False, left=False)
    inner.grid(visible=False)
    inner.set_facecolor("#f4f4f4")
    for spine in inner.spines.values():
        spine.set(visible=True, color="#777777", linestyle=(0, (4, 3)), linewidth=0.8)
