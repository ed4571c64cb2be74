"""What ends a command: an error that the user can act on, raised anywhere, and printed by tlsmem.cli.main alone."""

from collections.abc import Iterator
from contextlib import contextmanager

from tlsmem.base.printable import printable_text


class UserError(Exception):
    """One sentence for the user: what happened, where, and what to do. It does not begin with `memtest: `.

    A command that does not catch it prints the sentence and exits with `status`: 2 where what was named cannot be used
    (the command line, a name, a file that is not there, of another kind or damaged), 1 where the work failed or its
    result is not whole. An empty sentence prints nothing.
    What it quotes of a file may hold anything: signs that would move a terminal's cursor become question marks."""

    status = 1

    def __init__(self, sentence: str = "", status: int | None = None) -> None:
        super().__init__(printable_text(sentence))
        if status is not None:
            self.status = status


class Usage(UserError, ValueError):
    """What was asked for cannot be, or what was named cannot be used; exit status 2."""

    status = 2


@contextmanager
def raise_user_errors(place: object) -> Iterator[None]:
    """Raise UserError in place of ValueError and OSError; `place` is where an OSError happened that names no file."""
    try:
        yield
    except UserError:
        raise
    except ValueError as error:
        raise UserError(str(error)) from error
    except OSError as error:
        raise UserError(f"{error.filename or place}: {error.strerror}") from error


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
