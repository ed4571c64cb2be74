"""Results that cannot be written on stdout, because it is closed or a full disk, are a sentence and not a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def exit_on_write_error() -> Iterator[None]:
    """Flush stdout when the block ends, and exit with a sentence when stdout cannot be written.

    Errors that name a file concern another file, so they pass through."""
    require_open()
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.filename:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again when it exits
        sys.exit(f"memtest: stdout: {error.strerror}")


def is_terminal() -> bool:
    """Return whether stdout is open and a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def require_open() -> TextIO:
    """Return stdout; exit with a sentence when whoever started the script closed it."""
    if sys.stdout is None:
        sys.exit("memtest: stdout: it is closed; redirect it to a file, or to /dev/null")
    return sys.stdout
