"""What a harness was asked, by key: the words of `argv` in a record."""

from functools import lru_cache
from typing import Protocol

DEFAULTS = {"tickets": "0", "store": "off", "options": "default", "data": "short", "certs": "none"}
RENAMED = {"knobs": "options", "knobs=best": "options=low-memory"}  # up to schema 5


class HasArgv(Protocol):
    """A record."""

    @property
    def argv(self) -> list[str]: ...


def harness_arguments(record: HasArgv) -> dict[str, str]:
    """Return the arguments by key, as they are called today and with defaults; `certs` is the directory's name."""
    return dict(parse_arguments(tuple(record.argv)))


@lru_cache(maxsize=1024)  # tables ask for several arguments of one record
def parse_arguments(argv: tuple[str, ...]) -> dict[str, str]:
    """Return the arguments of a command line by key. Callers must not change the result."""
    words = (RENAMED.get(word, word) for word in argv if "=" in word)
    given = {RENAMED.get(name, name): value for name, value in (word.split("=", 1) for word in words)}
    found = DEFAULTS | {"client_groups": given.get("group", "")} | given
    return found | {"certs": found["certs"].rpartition("/")[2]}


def has_full_records(record: HasArgv) -> bool:
    """Return whether sessions sent and received a full record each, beside the short payloads of every run."""
    return "data=full" in record.argv
