"""How a bucket looks, in every picture and on every page."""

from typing import NamedTuple

from tlsmem.base.text_colours import INK


class Look(NamedTuple):
    """Of a bucket. Colours are Okabe and Ito's; for grey neighbours differ in luminance, and some are hatched."""

    bucket: str
    short: str
    colour: str
    text: str = INK
    hatch: str = ""


LOOKS = (  # from below: what stays longest first
    Look("connection structure", "connection", "#0072B2", "white"),
    Look("peer certificates", "certs", "#F0E442"),
    Look("keys and cipher contexts", "keys", "#D55E00", "white"),
    Look("session and tickets", "session", "#DDDDDD"),
    Look("context", "context", "#777777", "white"),
    Look("transport", "transport", "#BBBBBB"),
    Look("caller's buffers", "caller's", "#CC79A7"),
    Look("record buffers, read", "read", "#56B4E9", INK, "//"),
    Look("record buffers, write", "write", "#009E73", "white", "\\\\"),
    Look("handshake messages and transcript", "handshake", "#E69F00"),
)
LEFT = Look("other", "other", "#000000", "white")


def look_of(bucket: str) -> Look:
    """That of `other`, under its own name, for one that has none."""
    return next((look for look in LOOKS if look.bucket == bucket), LEFT._replace(bucket=bucket))
