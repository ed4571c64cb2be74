"""The intervals of a part, as a record keeps them: HdrHistogram's own text, which other programs read too."""

import base64
import binascii
import zlib
from collections.abc import Iterable

from hdrh.histogram import HdrHistogram

LONGEST_NS = 3_600 * 10**9
DIGITS = 3  # as in memtest/histogram.c
ENVELOPE_BYTES = 8  # a cookie and a length


def text(counts: Iterable[tuple[int, int]]) -> str:
    """Of nanoseconds and how many intervals took them; a longer one than an hour counts as an hour."""
    made = HdrHistogram(1, LONGEST_NS, DIGITS)
    for value_ns, count in counts:
        made.record_value(min(value_ns, LONGEST_NS), count)
    return made.encode().decode()


def intact(text: str) -> str:
    """ValueError when it is no such text: what it holds is compressed, with a checksum."""
    try:
        content = base64.b64decode(text, validate=True)
        zlib.decompress(content[ENVELOPE_BYTES:])
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"not the text of an HdrHistogram: {error}") from None
    return text
