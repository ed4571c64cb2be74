"""Results that cannot be written on stdout, because it is a full disk, are a sentence and not a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def checked() -> Iterator[None]:
    """Around what prints; everything is written when it ends. An error that names a file is another's."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.filename:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again when it exits
        sys.exit(f"memtest: stdout: {error.strerror}")
