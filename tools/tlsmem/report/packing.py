"""What a page carries and does not show at once: deflated, as text that a browser inflates when it is asked for."""

import base64
import zlib


def deflated(text: str) -> str:
    """zlib's format (RFC 1950) as base64; a browser's DecompressionStream("deflate") reads it."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
