"""Servers that people run, from memtest/live_servers.toml: how each is started, and what its clients say."""

from collections.abc import Callable, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt, model_validator

from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition
from tlsmem.config.definitions import Source
from tlsmem.config.servers import check_library_pattern
from tlsmem.config.toml_tables import DEFINITIONS

FILE = "live_servers"
FILLED = (
    *("folder", "plain", "tls", "backend", "chain", "key", "both", "most"),
    *("protocol", "protocol_lower", "minor", "modules"),
)
Pattern = Annotated[str, AfterValidator(check_library_pattern)]


def make_check(filled: Sequence[str]) -> Callable[[str], str]:
    """Return what returns a text, and raises ValueError with half a sentence where it has a name that is not filled
    in."""

    def check(text: str) -> str:
        try:
            text.format(**dict.fromkeys(filled, ""))
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"{{...}} must be one of {', '.join(filled)}, not {error}") from None
        return text

    return check


Template = Annotated[str, AfterValidator(make_check(FILLED))]


class StaticLibrary(Definition):
    """How a program that has its TLS library inside says what it is."""

    asked: str
    says: Pattern


class LiveServer(Definition):
    """A table of live_servers.toml, whose head explains the keys."""

    what: str
    package: str | None = None
    source: Source | None = None
    needs: dict[str, str] = Field(default={})
    link_to: str | None = None
    program: str
    asked: str
    says: Pattern
    linked: str | None = None
    library: StaticLibrary | None = None
    arguments: list[Template]
    files: dict[str, Template] = Field(default={})
    ports: list[PositiveInt] = Field(default=[8080, 8443], min_length=2, max_length=2)
    user: str | None = None
    prepare: list[list[Template]] = Field(default=[])
    largest: PositiveInt | None = None
    backend: bool = False
    no_plain: str | None = None
    unseen: str | None = None
    unmetered: str | None = None
    unnamed: str | None = None
    at_once: PositiveInt | None = None
    still_s: PositiveFloat = 0.3
    client: dict[str, str | bool]

    @model_validator(mode="after")
    def check_origin(self) -> Self:
        if bool(self.package) == bool(self.source):
            raise ValueError("needs package, which is installed, or source, which is pinned, and not both")
        return self


def live_servers() -> dict[str, LiveServer]:
    """Return the servers by name; raises UserError when the file is wrong."""
    return definitions.read(DEFINITIONS / f"{FILE}.toml", LiveServer.model_validate)
