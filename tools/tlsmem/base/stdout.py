"""Results that cannot be written on stdout, because it is closed or a full disk, are a sentence and not a traceback."""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from tlsmem.base.errors import UserError

PLAIN = str.maketrans(
    {"–": "-", "−": "-", "·": "-", "×": "x", "≈": "~", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "█": "#"}
    | dict.fromkeys("▏▎▍▌▋▊▉", "")  # the end of a bar
)


def write_plain_signs() -> None:
    """Where the encoding of stdout lacks a sign, write a plain one for it from now on: `x` for `×`, else `?`."""
    codecs.register_error("plain", plain_signs)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="plain")


def plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the signs that cannot be encoded, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end].translate(PLAIN)
    return signs.encode("ascii", "replace").decode("ascii"), error.end


is_paged = False  # stdout leads to a pager, which shows it on the terminal


@contextmanager
def raise_write_errors() -> Iterator[None]:
    """Flush stdout when the block ends, and raise UserError when stdout cannot be written.

    Errors that name a file concern another file, so they pass through."""
    require_open()
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.filename:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again when it exits
        raise UserError(f"stdout: {error.strerror}") from None


def is_terminal() -> bool:
    """Return whether stdout is open and a terminal, or a pager on one."""
    return sys.stdout is not None and (sys.stdout.isatty() or is_paged)


def require_open() -> TextIO:
    """Return stdout; raise UserError when whoever started the command closed it."""
    if sys.stdout is None:
        raise UserError("stdout: it is closed; redirect it to a file, or to /dev/null")
    return sys.stdout
