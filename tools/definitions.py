"""What can be measured and how: the tables of memtest/*.toml, validated."""

import shlex
import string
import sys
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    RootModel,
    ValidationError,
    model_validator,
)

from likeness import whole
from lines import Cpu, Env, Roles, Window, sentence

ROOT = Path(__file__).resolve().parent.parent
DEFINITIONS = ROOT / "memtest"
FILLED = ("source", "cflags", "maps", "cc", "cxx", "uses", "jobs")  # in, by stack_c.py


def fraction(text: str) -> str:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a fraction such as 1/10") from None
    if not 0 < value <= 1:
        raise ValueError(f"{text!r} is not above 0 and at most 1")
    return text


def step(text: str) -> str:
    """A command that stack_c.py can split and fill in."""
    try:
        words = shlex.split(text)
        holes = [hole for word in words for _, *hole in string.Formatter().parse(word) if hole[0] is not None]
    except ValueError as error:
        raise ValueError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise ValueError("an empty command")
    for name, detail, conversion in holes:
        if name not in FILLED or detail or conversion:
            there = ", ".join(f"{{{one}}}" for one in FILLED)
            raise ValueError(f"{text!r}: nothing is filled in for {{{name}}}; there are: {there}")
    return text


class Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Kind = TypeVar("Kind", bound=Definition)


class Source(Definition):
    """A crate, or a source package of Debian's with its suite there; `tree` is the upstream tree's place in it."""

    crate: str | None = None
    debian: str | None = None
    suite: str | None = None
    version: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")  # of the .crate file, or of Debian's .orig archive
    tree: str = "."

    @model_validator(mode="after")
    def whole(self) -> Self:
        if bool(self.crate) == bool(self.debian):
            raise ValueError("it is either of a crate or of debian; one of them is needed")
        if bool(self.debian) != bool(self.suite):
            raise ValueError("debian and suite come together")
        return self


class Stack(Definition):
    """A TLS implementation and how its harness is made."""

    harness: Literal["c", "rust", "go"]
    licence: str
    what: str = ""  # it is, for people
    tls: bool = True  # false: of no protocol, and no suite but `none`
    driver: str | None = None
    family: str | None = None  # what its driver shares with others: a file of harness-c/families/
    compiler: Literal["gcc", "clang"] = "gcc"
    uses: str | None = None  # another stack, whose build directory is {uses} in the steps
    mask: str | None = None  # how CPU= reaches the library: a table of memtest/cpus.toml
    cpu_seconds: PositiveInt | None = None  # that a build takes on one core: for the time left, and nothing else
    prefix: bool = False  # linked with what is installed at PREFIX=
    manifest: str | None = None
    binary: str | None = None
    features: list[str] = []
    needs: list[str] = []
    include: list[str] = []
    libraries: list[str] = []
    link: list[str] = []
    steps: list[Annotated[str, AfterValidator(step)]] = []
    pkg_config: str | None = None
    package: str | None = None
    brings: str | None = None  # an allocator of its own, by the name of its books, which the heap meter cannot see
    source: Source | None = None

    @model_validator(mode="after")
    def whole(self) -> Self:
        for key in {"c": ["driver"], "rust": ["manifest", "binary"], "go": ["manifest", "binary"]}[self.harness]:
            if not getattr(self, key):
                raise ValueError(f"{key} is missing; a stack with harness = {self.harness!r} needs it")
        if self.steps and not self.source:
            raise ValueError("source is missing; steps need it")
        if self.pkg_config and not self.package:
            raise ValueError("package is missing; pkg_config needs it")
        return self


class Suite(Definition):
    """A protocol configuration; its fields are the harness's keys."""

    protocol: str
    cipher: str
    group: str
    certs: str
    auth: Literal["server", "mutual", "none"] = "server"
    tickets: int = Field(default=0, ge=0)
    store: Literal["off", "on"] = "off"
    resume: Literal["off", "on"] = "off"
    knobs: Literal["default", "best"] = "default"


class Allocator(Definition):
    """The system's (no library), or a library to preload."""

    library: str | None = None
    package: str | None = None
    settings: str | None = None

    @model_validator(mode="after")
    def whole(self) -> Self:
        if bool(self.library) != bool(self.package):
            there, missing = ("library", "package") if self.library else ("package", "library")
            raise ValueError(f"{missing} is missing; {there} needs it")
        return self


class Mask(RootModel[dict[Cpu, dict[str, str]]]):
    """How a library is kept from features of the CPU: by what CPU= takes, the variables of its process."""


class Campaign(Definition):
    """What to record; sessions are fractions of n."""

    scenario: Literal["memory"]
    stacks: list[str] = Field(min_length=1)
    suites: list[str] = Field(min_length=1)
    allocators: list[str] = Field(min_length=1)
    n: int = Field(ge=2, le=10**9, multiple_of=2)
    sessions: list[Annotated[str, AfterValidator(fraction)]] = Field(min_length=1)
    heap: NonNegativeInt | Literal["all"] = 2
    windows: list[Window] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=1000)
    roles: list[Roles] = Field(default=["together"], min_length=1)
    peers: list[str] = []  # clients: every stack is run as server against each; none: each stack with itself
    envs: list[Env] = Field(default=["lab"], min_length=1)
    cpus: list[Cpu] = Field(default=["all"], min_length=1)
    sites: Annotated[str, AfterValidator(fraction)] | None = None  # of n: where one sites run is made
    built_only: bool = False  # stacks that are not built are left out, and said

    @model_validator(mode="after")
    def whole(self) -> Self:
        if self.peers and self.roles != ["split"]:
            raise ValueError('roles must be ["split"]; peers need it')
        return self


def read(file: Path, kind: type[Kind]) -> dict[str, Kind]:
    """The tables of one file by name; exits with a sentence that names file, table and key."""
    try:
        tables = whole(tomllib.loads(file.read_text()))
    except (OSError, ValueError) as error:
        sys.exit(f"{file}: {getattr(error, 'strerror', None) or error}")
    return {name: table(file, name, entry, kind) for name, entry in tables.items()}


def table(file: Path, name: str, entry: object, kind: type[Kind]) -> Kind:
    try:
        return kind.model_validate(entry)
    except ValidationError as error:
        sys.exit(f"{file}: [{name}]: {sentence(error)}")


def check() -> None:
    """All of them: exits with a sentence at the first that is wrong, before time is spent on the others."""
    for definitions in (stacks, suites, allocators, cpus, campaigns):
        definitions()


def stacks() -> dict[str, Stack]:
    return read(DEFINITIONS / "stacks.toml", Stack)


def suites() -> dict[str, Suite]:
    return read(DEFINITIONS / "suites.toml", Suite)


def allocators() -> dict[str, Allocator]:
    return read(DEFINITIONS / "allocators.toml", Allocator)


def cpus() -> dict[str, Mask]:
    return read(DEFINITIONS / "cpus.toml", Mask)


def campaigns() -> dict[str, Campaign]:
    return read(DEFINITIONS / "campaigns.toml", Campaign)
