"""How a bucket looks on the page: its colour, the text on it, its hatch, and what it means."""

from tlsmem.plots.bucket_panel import BUCKET_STYLES, style_of_bucket, text_on
from tlsmem.profile.buckets import rules

HATCHES = {  # of pictures, as paths in a tile of 8 by 8
    "": "",
    "//": "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
    "\\\\": "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
    "---": "M0,2 h8 M0,6 h8",
    "++": "M0,4 h8 M4,0 v8",
    "..": "M1.3,2 h1.4 M5.3,6 h1.4",
}


def ordered_buckets() -> list[str]:
    """Return the buckets from below, as in the picture of buckets."""
    styled = [style.bucket for style in BUCKET_STYLES]
    return styled + [bucket for bucket in rules.buckets() if bucket not in styled]


def bucket_look(bucket: str) -> dict[str, str]:
    """Return the bucket's names, meaning, colours, and its hatch as a path in a tile of 8 by 8."""
    style = style_of_bucket(bucket)
    colours = {"colour": style.colour, "text": text_on(style.colour), "hatch": HATCHES[style.hatch]}
    return {"bucket": bucket, "short": style.short, "means": rules.buckets().get(bucket, "")} | colours
