"""The tables of memtest/*.toml as they stand there, before anything is installed. Standard library only.

What their keys may be is checked by the models of definitions.py, once the environment exists. A table may say
only in what it differs from another: `like = "openssl@3.5.5"`."""

import pickle
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT

try:
    import tomllib
except ModuleNotFoundError:
    raise UserError(f"Python 3.11 or later is needed; python3 is {sys.version.split()[0]}") from None


from tlsmem.config.suite_variants import Suites

DEFINITIONS = ROOT / "memtest"
ALL_STACKS = "all"  # as a list of stacks
MOST_LEVELS = 32  # of tables and lists in each other; more would exhaust Python's stack somewhere later


Tables = dict[str, Any]  # of TOML, by name; what they may have is checked where they are read


class Unreadable(UserError, ValueError):
    """A file of memtest/*.toml that cannot be read, or is not TOML."""


def parse_toml(content: bytes) -> Tables:
    """The tables of a file. Raises ValueError with half a sentence, which goes after the file's name."""
    try:
        tables = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8: byte {content[error.start]:#04x}") from None
    except RecursionError:
        raise ValueError(too_deep()) from None
    check_depth(tables)
    return tables


def too_deep() -> str:
    return f"tables or lists stand in each other more than {MOST_LEVELS} levels deep"


def check_depth(tables: Tables) -> None:
    level: list[dict[str, Any] | list[Any]] = [tables]
    for _ in range(MOST_LEVELS):
        inner = chain.from_iterable(entry.values() if isinstance(entry, dict) else entry for entry in level)
        level = [value for value in inner if isinstance(value, dict | list)]
    if level:
        raise ValueError(too_deep())


def read_tables(kind: str) -> Tables:
    """The tables of memtest/KIND.toml by name, whole; raises Unreadable naming file and place when they cannot be
    read."""
    path = DEFINITIONS / f"{kind}.toml"
    try:
        tables: Tables = pickle.loads(pickled(path.read_bytes()))
    except ValueError as error:
        raise Unreadable(f"memtest/{path.name}: {error}") from None
    except OSError as error:
        raise Unreadable(f"memtest/{path.name} cannot be read: {error.strerror}") from None
    for name, entry in tables.items():
        if kind != "buckets" and not isinstance(entry, dict):
            raise Unreadable(f"memtest/{path.name}: [{name}] must be a table")
    return Suites(tables) if kind == "suites" else tables


@cache
def pickled(content: bytes) -> bytes:
    """Its resolved tables, pickled: each caller gets tables of its own. A command asks for the same text some ten
    times."""
    return pickle.dumps(resolve_tables(parse_toml(content)))


def split_names(names: str) -> list[str]:
    """`a b` and `a,b` alike."""
    return [name for name in re.split(r"[\s,]+", names) if name]


def expand_stacks(names: Sequence[str], prefix: object = None) -> list[str]:
    """These stacks, each once; `all` are all but, without a prefix, what is linked with a library there."""
    if list(names) != [ALL_STACKS]:
        return list(dict.fromkeys(names))
    return [name for name, entry in read_tables("stacks").items() if prefix or not entry.get("prefix")]


def resolve_tables(tables: Tables) -> Tables:
    """Every table with the keys of the one it is like, and of that one's; its own keys count.

    A table `expect` inherits key by key: from the table that it names by a `like` of its own, else from that of the
    table around it. Raises ValueError when a named table is not there, or goes back to itself."""
    expectations = {name: own_expectations(entry) for name, entry in tables.items()}
    resolved = {name: merged(name, tables) for name in tables}
    for name, entry in resolved.items():
        if isinstance(entry, dict) and isinstance(entry.get("expect"), dict):
            resolved[name] = {**entry, "expect": merged(name, expectations)}
    return resolved


def own_expectations(entry: object) -> dict[str, object]:
    """What the table itself says in `expect`, and which table that inherits from."""
    if not isinstance(entry, dict):
        return {}
    own = entry.get("expect", {})
    return {key: entry[key] for key in ["like"] if key in entry} | (own if isinstance(own, dict) else {})


def merged(name: str, tables: Mapping[str, object]) -> object:
    entry = tables[name]
    last, seen = name, {name}  # not by recursion: a chain may be longer than Python's stack
    while isinstance(entry, dict) and isinstance(like := entry.get("like"), str):
        if like not in tables:
            raise ValueError(f"[{last}]: like: no table {like}")
        if like in seen:
            raise ValueError(f"[{last}]: like: {like} inherits from this table in turn")
        above = tables[like]
        if not isinstance(above, dict):
            raise ValueError(f"[{last}]: like: {like} is not a table")
        entry = {**above, **{key: value for key, value in entry.items() if key != "like"}}
        last = like
        seen.add(like)
    return entry
