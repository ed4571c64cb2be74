"""The checksum at the end of a record's line: the start of the SHA-256 of the line without it."""

import hashlib
import re

DIGITS = 16
ENDING = re.compile(rb',"checksum":"([0-9a-f]{%d})"\}$' % DIGITS)
ENDING_BYTES = len(',"checksum":""}') + DIGITS


def add_checksum(line: bytes) -> bytes:
    """Return the line, a JSON object without a newline, with `checksum` as its last key."""
    return line[:-1] + b',"checksum":"%b"}' % checksum(line)


def remove_checksum(line: bytes) -> bytes:
    """Return a line that ends in its checksum without it."""
    return line[:-ENDING_BYTES] + b"}"


def checksum(line: bytes) -> bytes:
    """Return the first 16 hexadecimal digits of the SHA-256 of the line."""
    return hashlib.sha256(line).hexdigest()[:DIGITS].encode()


def matches_checksum(line: bytes) -> bool | None:
    """Return whether the checksum that ends the line is that of the rest; None where no checksum ends it."""
    ending = ENDING.search(line, max(0, len(line) - ENDING_BYTES))
    return ending and ending[1] == checksum(line[: ending.start()] + b"}")
