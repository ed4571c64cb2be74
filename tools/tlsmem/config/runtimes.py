"""Managed runtimes, from memtest/runtimes.toml: how a program of each is started, and what its heap figure is."""

from typing import Annotated

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from tlsmem.base.paths import IS_WHEEL
from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition
from tlsmem.config.live_servers import Pattern, make_check
from tlsmem.config.toml_tables import DEFINITIONS

FILE = "runtimes"
PROGRAMS = DEFINITIONS / "runtimes"
FILLED = ("folder", "programs", "built")


def check_file(name: str) -> str:
    """Return the name of a file. Raises ValueError with half a sentence where memtest/runtimes has no such file; an
    installed package has none of them, as it starts no programs."""
    if not IS_WHEEL and not (PROGRAMS / name).is_file():
        raise ValueError(f"memtest/runtimes has no file {name}")
    return name


File = Annotated[str, AfterValidator(check_file)]
Argument = Annotated[str, AfterValidator(make_check(FILLED))]


class Runtime(Definition):
    """A table of runtimes.toml, whose head explains the keys."""

    what: str
    package: str
    program: str
    asked: list[str]
    says: Pattern
    versions: list[Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")]] = Field(default=[], max_length=2)
    linked: str | None = None
    files: list[File]
    build: list[list[Argument]] = Field(default=[])
    builders: dict[str, str] = Field(default={})
    jars: File | None = None
    libraries: list[str] = Field(default=[])
    arguments: list[Argument]
    heap: str
    still_s: PositiveFloat = 0.3
    is_client: bool = False
    largest: PositiveInt | None = None
    machine: str | None = None


def runtimes() -> dict[str, Runtime]:
    """Return the runtimes by name; raises UserError when the file is wrong."""
    return definitions.read(DEFINITIONS / f"{FILE}.toml", Runtime.model_validate)
