"""The kinds of values that options take, each with its check. Standard library only.

`check` raises ValueError with one sentence that names the option, the value, and what is allowed. `describe` says in a
few words what is allowed, for the reference page."""

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tlsmem.base.nearest import ask, suggest_beginning, suggest_nearest
from tlsmem.config import releases
from tlsmem.config.amounts import COUNTS, SIZES, write_digits
from tlsmem.config.stack_names import fold_name, resolve_names
from tlsmem.config.toml_tables import ALL_STACKS, read_tables, split_names

FEW = 8  # names that a sentence lists
TREES_ELSEWHERE = "a tree of a library is built by make mem (STACKS=), profile (STACK=) and compare (A=, B=) only"
TREE_STACK_NAME = re.compile(r"([^@]*)@(git|path):(.*)", re.DOTALL)  # LIBRARY(+VARIANT)*, and where its tree is


def join_words(words: tuple[str, ...]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


@dataclass(frozen=True)
class Kind:
    """Any text."""

    def normalise(self, value: str) -> str:
        """Return the value as `check` takes it: a count in digits, a stack by its exact name. A value that cannot be
        stays as it is."""
        return value

    def check(self, option: str, value: str) -> None:
        """Whoever reads the value checks it."""

    def describe(self) -> str:
        return "text"


@dataclass(frozen=True)
class Flag(Kind):
    """Given or not: of make 0 or 1, of a command no value."""

    def check(self, option: str, value: str) -> None:
        Choice(("0", "1")).check(option, value)

    def describe(self) -> str:
        return "0 or 1; of a command without a value"


@dataclass(frozen=True)
class Choice(Kind):
    values: tuple[str, ...]

    def check(self, option: str, value: str) -> None:
        if value not in self.values:
            near = suggest_nearest(value, self.values)
            raise ValueError(f"{option}={value} must be {join_words(self.values)}{near}")

    def describe(self) -> str:
        return join_words(tuple(f"`{value}`" for value in self.values))


@dataclass(frozen=True)
class ServerName(Kind):
    """A server of live runs, or `path:` and the file of its configuration."""

    values: tuple[str, ...]

    def check(self, option: str, value: str) -> None:
        prefix, colon, file = value.partition(":")
        if prefix == "path" and colon:
            if not file:
                raise ValueError(f"{option}={value}: name a configuration file after path:")
            if not Path(file).is_file():
                raise ValueError(f"{option}={value}: {file} is no file")
        elif value not in self.values:
            near = suggest_nearest(value, self.values)
            raise ValueError(f"{option}={value} must be {join_words((*self.values, 'path:CONFIGURATION'))}{near}")

    def describe(self) -> str:
        return join_words((*(f"`{value}`" for value in self.values), "`path:CONFIGURATION`"))


@dataclass(frozen=True)
class Number(Kind):
    """A whole number, or `word`."""

    least: int = 1
    most: int = 10**9
    even: bool = False
    word: str = ""

    def normalise(self, value: str) -> str:
        return write_digits(value)

    def check(self, option: str, value: str) -> None:
        if self.word and value == self.word:
            return
        if re.fullmatch(r"-[0-9]+", value):
            raise ValueError(f"{option}={value} is negative; the minimum is {self.least}")
        if not re.fullmatch(r"[0-9]+", value):
            near = suggest_nearest(value, [self.word]) if self.word else ""
            raise ValueError(f"{option}={value} is not {self.describe().replace('`', '')}{near}")
        if len(value.lstrip("0")) > 10 or int(value.lstrip("0") or "0") > self.most:
            raise ValueError(f"{option}={value} is too large; the maximum is {self.most}")
        if self.even and (int(value) < self.least or int(value) % 2):
            pairs = f"sessions come in pairs of client and server, so {option} is a positive even number"
            raise ValueError(f"{option}={value}: {pairs}")
        if int(value) < self.least:
            raise ValueError(f"{option}={value} must be at least {self.least}")

    def describe(self) -> str:
        numbers = f"{'an even' if self.even else 'a whole'} number from {self.least:,} to {self.most:,}"
        return numbers + (f", or `{self.word}`" if self.word else "")


@dataclass(frozen=True)
class Numbers(Kind):
    """One or several, separated by spaces or commas; each is a number or `word`."""

    most: int
    word: str = ""
    are_bytes: bool = False  # 16K: 16,384

    def normalise(self, value: str) -> str:
        units = SIZES if self.are_bytes else COUNTS
        return re.sub(r"[^\s,]+", lambda found: write_digits(found[0], units), value)

    def check(self, option: str, value: str) -> None:
        if not split_names(value):
            raise ValueError(f"{option}={value} has no number; it must be {self.describe()}")
        for one in split_names(value):
            Number(1, self.most, word=self.word).check(option, one)

    def describe(self) -> str:
        return f"whole numbers from 1 to {self.most:,}" + (f", or `{self.word}`" if self.word else "")


@dataclass(frozen=True)
class Multiplier(Kind):
    def check(self, option: str, value: str) -> None:
        if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", value) or not 0 < float(value) <= 1000:
            raise ValueError(f"{option}={value} is not a positive number of at most 1000, such as 4 or 0.5")

    def describe(self) -> str:
        return "a positive number of at most 1000"


@dataclass(frozen=True)
class Names(Kind):
    """Tables of memtest/TABLEs.toml. `single` says why only one may be named; `all` is a word for every one."""

    table: str
    single: str = ""
    all_too: bool = False
    trees: bool = False  # LIBRARY@git:REVISION and LIBRARY@path:DIRECTORY too, for the targets that build them

    @property
    def file(self) -> str:
        return f"memtest/{self.table}s.toml"

    def normalise(self, value: str) -> str:
        return resolve_names(value) if self.table == "stack" else value

    def check(self, option: str, value: str) -> None:
        known, names = read_tables(f"{self.table}s"), split_names(value)
        if self.all_too and ALL_STACKS in names:
            if names != [ALL_STACKS]:
                raise ValueError(f"{option}={value}: {ALL_STACKS} includes every {self.table}; leave the others out")
            return
        if not names:
            raise ValueError(f"{option} is empty; name a {self.table} of {self.file}")
        if self.single and len(names) > 1:
            raise ValueError(f"{option}={value}: give one name only; {self.single}")
        for name in names:
            if self.table == "stack" and TREE_STACK_NAME.fullmatch(name):
                if not self.trees:
                    raise ValueError(f"{option}: {name}: {TREES_ELSEWHERE}")
                Build().check(option, name)
                continue
            if name not in known:
                near = self.suggest(name, [*known, ALL_STACKS] if self.all_too else [*known])
                near = near or f"; there are: {', '.join(known)}" * (len(known) <= FEW)
                near = near or f"; the names stand in {self.file}, as [NAME]"
                raise ValueError(f"{option}: {self.file} has no {self.table} {name}{near}")

    def suggest(self, name: str, known: list[str]) -> str:
        """Names that begin so, or the nearest; of a library first the release that campaigns measure."""
        usual = usual_stacks() if self.table == "stack" else []
        if (self.table, name) == ("allocator", "malloc"):
            return f"{ask(['system', *(one for one in known if name in one)])} system is the malloc of the C library"
        return suggest_beginning(name, known, usual)

    def describe(self) -> str:
        number = f"one {self.table}" if self.single else f"{self.table}s"
        trees = ", `LIBRARY@git:REVISION`, `LIBRARY@path:DIRECTORY`" * self.trees
        return f"{number} of `{self.file}`{trees}{f', or `{ALL_STACKS}`' * self.all_too}"


STACKS = Names("stack", all_too=True, trees=True)


def usual_stacks() -> list[str]:
    """The stacks that campaigns measure unless others are named, those of `make mem` first."""
    campaigns = read_tables("campaigns")
    named = [one for name in ("mem", *campaigns) for one in campaigns.get(name, {}).get("stacks", [])]
    return [*dict.fromkeys(named)]


NAME_DIRECTORY = "name a directory that is there, or a new one"


def check_can_be_written(option: str, directory: str) -> None:
    """Raise ValueError when no files can be written into the directory, or it cannot be made."""
    place = Path(directory).absolute()
    nearest = next(one for one in (place, *place.parents) if one.exists())
    if not nearest.is_dir():
        raise ValueError(f"{option}={directory}: {nearest} is a file; {NAME_DIRECTORY}")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"{option}={directory}: {nearest} is not writable")
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".memtest-", dir=nearest))  # only trying tells of /proc, quotas and full disks
    except OSError as error:
        raise ValueError(f"{option}={directory}: {nearest} takes no directory: {error.strerror}") from None


@dataclass(frozen=True)
class Directory(Kind):
    """One that is there or can be made; `must_exist` says what it is where it must be there."""

    must_exist: str = ""

    def check(self, option: str, value: str) -> None:
        if not value.strip():
            raise ValueError(f"{option} is empty; name a directory")
        if value.startswith("-") or not value.isprintable():
            raise ValueError(f"{option}={value!r} begins with a dash or contains a line break; name a directory")
        try:
            there, is_directory = Path(value).exists(), Path(value).is_dir()
        except OSError as error:
            raise ValueError(f"{option}={value}: {error.strerror}") from None
        if there and not is_directory:
            way_out = f"it must be {self.must_exist}" if self.must_exist else NAME_DIRECTORY
            raise ValueError(f"{option}={value} is a file; {way_out}")
        if self.must_exist and not there:
            raise ValueError(f"{option}={value} does not exist; it must be {self.must_exist}")
        if not self.must_exist:
            check_can_be_written(option, value)

    def describe(self) -> str:
        return "a directory that is there" if self.must_exist else "a directory"


@dataclass(frozen=True)
class File(Kind):
    """One that is there or can be written; who opens it tells what is wrong with it."""

    def check(self, option: str, value: str) -> None:
        if not value.strip():
            raise ValueError(f"{option} is empty; name a file")

    def describe(self) -> str:
        return "a file"


def check_sources(option: str, value: str, directory: str) -> None:
    """Raise ValueError when this is no directory that can hold a library's sources; `value` has it in it."""
    if directory.startswith("-") or not directory.isprintable():
        raise ValueError(f"{option}={value!r}: the directory begins with a dash or contains a line break; rename it")
    place = os.path.expanduser(directory)
    if not os.path.isdir(place):
        wrong = "is a file" if os.path.exists(place) else "does not exist"
        raise ValueError(f"{option}={value}: {directory} {wrong}; it must be the directory of a library's sources")


@dataclass(frozen=True)
class Build(Kind):
    """One side of a comparison; whether its tree is there is found when it is read."""

    def normalise(self, value: str) -> str:
        return resolve_names(value)

    def check(self, option: str, value: str) -> None:
        known, found = read_tables("stacks"), TREE_STACK_NAME.fullmatch(value)
        if not found:
            if value in known:
                return
            hint = suggest_beginning(value, known, usual_stacks())
            hint = hint or "; or it is LIBRARY@git:REVISION or LIBRARY@path:DIRECTORY"
            raise ValueError(f"{option}: memtest/stacks.toml has no stack {value}{hint}")
        library, how, what = found.groups()
        libraries = list(dict.fromkeys(name.partition("@")[0] for name in known))
        if library not in libraries:
            near = suggest_nearest(library, libraries)
            raise ValueError(f"{option}={value}: memtest/stacks.toml has no library {library}{near}")
        if not what.strip():
            wanted = "a revision" if how == "git" else "a directory"
            raise ValueError(f"{option}={value}: {wanted} is missing after {how}:")
        if how == "path":
            check_sources(option, value, what)

    def describe(self) -> str:
        return "a stack, `LIBRARY@git:REVISION` or `LIBRARY@path:DIRECTORY`"


@dataclass(frozen=True)
class Library(Kind):
    """One with several releases."""

    def normalise(self, value: str) -> str:
        try:
            return fold_name(value, releases.group_by_library(read_tables("stacks"), least=2))
        except ValueError:
            return value  # the check of the definitions says it

    def check(self, option: str, value: str) -> None:
        known = releases.group_by_library(read_tables("stacks"), least=2)
        if value not in known:
            hint = suggest_nearest(value, known) or f"; there are: {', '.join(known)}"
            raise ValueError(f"{option}={value}: memtest/stacks.toml lists fewer than two releases of it{hint}")

    def describe(self) -> str:
        return "a library with several releases in `memtest/stacks.toml`"


@dataclass(frozen=True)
class Parsed(Kind):
    """What one of the functions of amounts.py, or a type of Python's, makes of it; of commands only."""

    parse: Callable[[str], object]
    words: str

    def describe(self) -> str:
        return self.words
