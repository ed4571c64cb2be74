"""Servers as they run a TLS library, from memtest/servers.toml: options, tickets, and how they are built."""

import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainValidator

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition, check_pattern
from tlsmem.config.definitions import Source, Stack, parse_tickets, step
from tlsmem.config.releases import library_with_variant, version
from tlsmem.config.suite_variants import LOW_MEMORY
from tlsmem.config.toml_tables import DEFINITIONS


def check_library_pattern(text: str) -> str:
    """Return the text. Raises ValueError with half a sentence where it is no regular expression with a group."""
    check_pattern(text)
    if not re.compile(text).groups:
        raise ValueError(f"{text!r} needs a group, which is the library with its version")
    return text


class ServerBuild(Definition):
    """How a server is built from source on a stack's own library: [SERVER.build]."""

    source: Source
    program: str  # below the build directory
    steps: list[Annotated[str, AfterValidator(step)]] = Field(min_length=1)
    asked: str  # the option by which it says what it runs on
    says: Annotated[str, AfterValidator(check_library_pattern)]  # the library: the last group that matches
    on: dict[str, str] = Field(min_length=1)  # {options} of the steps, by library
    tried: list[str] = Field(default=[])  # stacks that STACK=all means
    refuses: dict[str, str] = Field(default={})  # why it cannot be had, by library, or library@beginning of a version

    def options(self, stack: str, table: Stack) -> str:
        """Return {options} for a stack. Raises ValueError with a sentence where the server cannot be built on it."""
        name = library_with_variant(stack)
        found = [key for key in self.on if key == name or name.startswith(f"{key}+")]
        reason = next((why for key, why in self.refuses.items() if is_of(stack, key)), None)
        if reason:
            raise ValueError(f"cannot be built on {stack}: {reason}; it builds on {', '.join(self.on)}")
        if not found:
            raise ValueError(f"is not built on {stack}; it builds on {', '.join(self.on)}")
        if not table.source or not table.libraries:
            raise ValueError(f"is not built on {stack}, which has no source tree here; a pinned release of it has one")
        return self.on[max(found, key=len)]

    def find_library(self, answer: str) -> str | None:
        """Return what the server says that it runs on; None where its answer has no such line."""
        found = re.search(self.says, answer, re.MULTILINE)
        return " ".join(found[found.lastindex or 0].split()) if found else None


class Server(Definition):
    """A table of servers.toml, whose head explains the keys."""

    what: str
    version: str
    libraries: list[str] = Field(min_length=1)
    releases: list[str]
    tickets: Annotated[int | str, PlainValidator(parse_tickets)]
    phase: Literal["blocked", "idle"]
    packaged: str | None = None
    build: ServerBuild | None = None
    table: Annotated[Fraction, PlainValidator(Fraction)] = Fraction(0)
    sources: list[str] = Field(min_length=1)

    def options(self, stack: str) -> str:
        """Return the suite's `options` that this server runs the stack with."""
        return LOW_MEMORY if library_name(stack) in self.releases else "default"

    def can_run(self, stack: str) -> bool:
        """Return whether the server can run on the stack's library, in the build that it needs."""
        return any(stack.startswith((f"{name}@", f"{name}+")) for name in self.libraries)


def is_of(stack: str, key: str) -> bool:
    """Return whether a stack is of this library, or of library@beginning of a version, in whatever variant."""
    library, _, beginning = key.partition("@")
    return library_name(stack) == library and version(stack).startswith(beginning)


def library_name(stack: str) -> str:
    """Return `openssl` for `openssl+clang@3.5.5`."""
    return re.split("[+@]", stack, maxsplit=1)[0]


def servers() -> dict[str, Server]:
    """Return the servers by name; raises UserError when the file is wrong."""
    return definitions.read(DEFINITIONS / "servers.toml", Server.model_validate)


def find_server(name: str) -> Server:
    """Return the server of this name. Raises ValueError with a sentence where there is none."""
    known = servers()
    if name not in known:
        near = suggest_nearest(name, known) or f"; there are: {', '.join(known)}"
        raise ValueError(f"memtest/servers.toml has no server {name}{near}")
    return known[name]
