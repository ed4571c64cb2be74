"""A bound on how long a regular expression is tried: some never end."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_S = 5.0


@contextmanager
def limit_search_time(wanted: re.Pattern[str] | str) -> Iterator[None]:
    """Raise ValueError with a sentence when the block takes longer than LIMIT_S seconds.

    Python's `re` looks at signals while it searches."""
    if threading.current_thread() is not threading.main_thread():  # which alone has signals
        yield
        return

    text = wanted if isinstance(wanted, str) else wanted.pattern

    def late(*_: object) -> None:
        raise ValueError(f"--filter {text}: not matched within {LIMIT_S:g} s; it tries too many ways: make it simpler")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
