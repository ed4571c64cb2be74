"""The kinds of values that options take: how a word of the command line becomes a value. Standard library only.

`parse` raises ValueError with one sentence that names the option, the word, and what is allowed. `describe` says in a
few words what is allowed, for the reference page."""

import os
import re
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlsmem.base.nearest import ask, suggest_beginning, suggest_nearest
from tlsmem.config import choices, releases
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

    def parse(self, option: str, text: str) -> Any:
        """Return the value of a word. Raises ValueError with a sentence where the word is none."""
        if not text.strip():
            raise ValueError(f"{option} is empty; give it a value, or leave it out")
        return text

    def describe(self) -> str:
        return "text"


@dataclass(frozen=True)
class Flag(Kind):
    """Given or not: of make 0 or 1, of a command no value."""

    def parse(self, option: str, text: str) -> bool:
        return Choice(("0", "1")).parse(option, text) == "1"

    def describe(self) -> str:
        return "given or not; of make 0 or 1"


@dataclass(frozen=True)
class Choice(Kind):
    values: tuple[str, ...]

    def parse(self, option: str, text: str) -> str:
        if text not in self.values:
            near = suggest_nearest(text, self.values)
            raise ValueError(f"{option}={text} must be {join_words(self.values)}{near}")
        return text

    def describe(self) -> str:
        return join_words(tuple(f"`{value}`" for value in self.values))


@dataclass(frozen=True)
class Choices(Kind):
    """One or several, separated by spaces or commas; each once."""

    values: tuple[str, ...]

    def parse(self, option: str, text: str) -> list[str]:
        names = list(dict.fromkeys(split_names(text)))
        if not names:
            raise ValueError(f"{option} is empty; it must be {join_words(self.values)}")
        return [Choice(self.values).parse(option, name) for name in names]

    def describe(self) -> str:
        return f"{Choice(self.values).describe()}, several with commas"


@dataclass(frozen=True)
class ServerNames(Kind):
    """Servers of live runs, separated by spaces or commas; or `path:` and the file of a configuration."""

    values: tuple[str, ...]

    def parse(self, option: str, text: str) -> list[str]:
        prefix, colon, file = text.partition(":")
        if prefix == "path" and colon:
            if not file:
                raise ValueError(f"{option}={text}: name a configuration file after path:")
            if not Path(file).is_file():
                raise ValueError(f"{option}={text}: {file} is no file")
            return [text]
        names = list(dict.fromkeys(split_names(text)))
        if not names:
            raise ValueError(f"{option} is empty; it must be {self.describe().replace('`', '')}")
        if names == [choices.ALL_SERVERS]:
            return names
        for name in names:
            if name not in self.values:
                near = suggest_nearest(name, self.values)
                words = (*self.values, "path:CONFIGURATION", "all alone")
                raise ValueError(f"{option}={name} must be {join_words(words)}{near}")
        return names

    def describe(self) -> str:
        return join_words((*(f"`{value}`" for value in self.values), "`path:CONFIGURATION`", "`all` alone"))


@dataclass(frozen=True)
class Number(Kind):
    """A whole number, or `word`."""

    least: int = 1
    most: int = 10**9
    even: bool = False
    word: str = ""

    def parse(self, option: str, text: str) -> int | str:
        value = write_digits(text)
        if self.word and value == self.word:
            return value
        if re.fullmatch(r"-[0-9]+", value):
            raise ValueError(f"{option}={value} is negative; the minimum is {self.least}")
        if not re.fullmatch(r"[0-9]+", value):
            near = suggest_nearest(value, [self.word]) if self.word else ""
            raise ValueError(f"{option}={value} is not {self.describe().replace('`', '')}{near}")
        if len(value.lstrip("0")) > 10 or int(value.lstrip("0") or "0") > self.most:
            raise ValueError(f"{option}={value} is too large; the maximum is {self.most}")
        number = int(value)
        if self.even and (number < self.least or number % 2):
            pairs = f"sessions come in pairs of client and server, so {option} is a positive even number"
            raise ValueError(f"{option}={value}: {pairs}")
        if number < self.least:
            raise ValueError(f"{option}={value} must be at least {self.least}")
        return number

    def describe(self) -> str:
        numbers = f"{'an even' if self.even else 'a whole'} number from {self.least:,} to {self.most:,}"
        return numbers + (f", or `{self.word}`" if self.word else "")


@dataclass(frozen=True)
class Numbers(Kind):
    """One or several, separated by spaces or commas; each is a number or `word`."""

    most: int
    word: str = ""
    are_bytes: bool = False  # 16K: 16,384

    def parse(self, option: str, text: str) -> list[int | str]:
        """Each once, in the order of the words."""
        units = SIZES if self.are_bytes else COUNTS
        words = [write_digits(word, units) for word in split_names(text)]
        if not words:
            raise ValueError(f"{option}={text} has no number; it must be {self.describe()}")
        return list(dict.fromkeys(Number(1, self.most, word=self.word).parse(option, word) for word in words))

    def describe(self) -> str:
        return f"whole numbers from 1 to {self.most:,}" + (f", or `{self.word}`" if self.word else "")


@dataclass(frozen=True)
class Multiplier(Kind):
    def parse(self, option: str, text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", text) or not 0 < float(text) <= 1000:
            raise ValueError(f"{option}={text} is not a positive number of at most 1000, such as 4 or 0.5")
        return float(text)

    def describe(self) -> str:
        return "a positive number of at most 1000"


@dataclass(frozen=True)
class Names(Kind):
    """Tables of memtest/TABLEs.toml. `single` says why only one may be named; `all` is a word for every one."""

    table: str
    single: str = ""
    all_too: bool = False
    also: tuple[str, ...] = ()  # files of memtest whose tables may be named too
    trees: bool = False  # LIBRARY@git:REVISION and LIBRARY@path:DIRECTORY too, for the targets that build them

    @property
    def file(self) -> str:
        return f"memtest/{self.table}s.toml"

    def parse(self, option: str, text: str) -> Any:
        """A list of names, each once, or `[all]`; where one alone may be named, that name."""
        value = resolve_names(text) if self.table == "stack" else text
        known: Mapping[str, object] = read_tables(f"{self.table}s")
        if self.also:
            known = {name: one for file in self.also for name, one in read_tables(file).items()} | {**known}
        names = list(dict.fromkeys(split_names(value)))
        if self.all_too and ALL_STACKS in names:
            if names != [ALL_STACKS]:
                raise ValueError(f"{option}={value}: {ALL_STACKS} includes every {self.table}; leave the others out")
            return names
        if not names:
            raise ValueError(f"{option} is empty; name a {self.table} of {self.file}")
        if self.single and len(names) > 1:
            raise ValueError(f"{option}={value}: give one name only; {self.single}")
        for name in names:
            self.check(option, name, known)
        return names[0] if self.single else names

    def check(self, option: str, name: str, known: Mapping[str, object]) -> None:
        """Raise ValueError where no table has this name."""
        if self.table == "stack" and TREE_STACK_NAME.fullmatch(name):
            if not self.trees:
                raise ValueError(f"{option}: {name}: {TREES_ELSEWHERE}")
            Build().parse(option, name)
        elif name not in known:
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


@dataclass(frozen=True)
class ServerStacks(Names):
    """Stacks that servers are built on, or `system`: the server as its package has it."""

    def parse(self, option: str, text: str) -> list[str]:
        words = split_names(text)
        if words == [choices.ALL_SERVERS]:
            return words
        others = [word for word in words if word != choices.PACKAGED]
        found = super().parse(option, " ".join(others)) if others or not words else []
        return list(dict.fromkeys([*([choices.PACKAGED] if len(others) < len(words) else []), *found]))

    def describe(self) -> str:
        return f"{super().describe()}, `{choices.PACKAGED}`, or `{choices.ALL_SERVERS}` alone"


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

    def parse(self, option: str, text: str) -> Path:
        if not text.strip():
            raise ValueError(f"{option} is empty; name a directory")
        if text.startswith("-") or not text.isprintable():
            raise ValueError(f"{option}={text!r} begins with a dash or contains a line break; name a directory")
        try:
            there, is_directory = Path(text).exists(), Path(text).is_dir()
        except OSError as error:
            raise ValueError(f"{option}={text}: {error.strerror}") from None
        if there and not is_directory:
            way_out = f"it must be {self.must_exist}" if self.must_exist else NAME_DIRECTORY
            raise ValueError(f"{option}={text} is a file; {way_out}")
        if self.must_exist and not there:
            raise ValueError(f"{option}={text} does not exist; it must be {self.must_exist}")
        if not self.must_exist:
            check_can_be_written(option, text)
        return Path(text)

    def describe(self) -> str:
        return "a directory that is there" if self.must_exist else "a directory"


@dataclass(frozen=True)
class File(Kind):
    """One that is there or can be written; who opens it tells what is wrong with it."""

    def parse(self, option: str, text: str) -> Path:
        if not text.strip():
            raise ValueError(f"{option} is empty; name a file")
        return Path(text)

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

    def parse(self, option: str, text: str) -> str:
        value = resolve_names(text)
        known, found = read_tables("stacks"), TREE_STACK_NAME.fullmatch(value)
        if not found:
            if value in known:
                return value
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
        return value

    def describe(self) -> str:
        return "a stack, `LIBRARY@git:REVISION` or `LIBRARY@path:DIRECTORY`"


@dataclass(frozen=True)
class Library(Kind):
    """One with several releases."""

    def parse(self, option: str, text: str) -> str:
        known = releases.group_by_library(read_tables("stacks"), least=2)
        value = fold_name(text, known)
        if value not in known:
            near = "" if value in releases.group_by_library(read_tables("stacks")) else suggest_nearest(value, known)
            hint = near or f"; there are: {', '.join(known)}"
            raise ValueError(f"{option}={value}: memtest/stacks.toml lists fewer than two releases of it{hint}")
        return value

    def describe(self) -> str:
        return "a library with several releases in `memtest/stacks.toml`"


@dataclass(frozen=True)
class Parsed(Kind):
    """What one of the functions of amounts.py, or a type of Python's, makes of the word."""

    function: Callable[[str], object]
    words: str

    def parse(self, option: str, text: str) -> object:
        try:
            return self.function(text)
        except ArgumentTypeError as error:
            raise ValueError(f"{option}: {error}") from None
        except ValueError:
            raise ValueError(f"{option}: {text!r} is not {self.words.replace('`', '')}") from None

    def describe(self) -> str:
        return self.words
