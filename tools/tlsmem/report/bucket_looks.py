"""How a bucket looks on the page: its colour, the text on it, its hatch, and what it means."""

from tlsmem.plots.bucket_panel import BUCKET_STYLES, style_of_bucket, text_on
from tlsmem.profile.buckets import rules


def ordered_buckets() -> list[str]:
    """Return the buckets from below, as in the picture of buckets."""
    styled = [style.bucket for style in BUCKET_STYLES]
    return styled + [bucket for bucket in rules.buckets() if bucket not in styled]


def bucket_look(bucket: str) -> dict[str, str]:
    """Return the bucket's names, meaning and colours."""
    style = style_of_bucket(bucket)
    colours = {"colour": style.colour, "text": text_on(style.colour), "hatch": style.hatch}
    return {"bucket": bucket, "short": style.short, "means": rules.buckets().get(bucket, "")} | colours
