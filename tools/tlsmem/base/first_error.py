"""One error in place of the group that asyncio makes of those of its tasks."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raise_first(*kinds: type[Exception]) -> Iterator[None]:
    """Where all errors of a group are of these kinds, the first one is raised.

    Not by `except*`: Python 3.11.2, which Debian 12 has, puts what is raised there into a group again."""
    try:
        yield
    except ExceptionGroup as group:
        named, others = group.split(kinds)
        if others or not named:
            raise
        raise named.exceptions[0] from None
