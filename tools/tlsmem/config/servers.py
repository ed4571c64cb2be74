"""Servers as they run a TLS library, from memtest/servers.toml: options, tickets, and their live runs."""

import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, PlainValidator

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition
from tlsmem.config.definitions import parse_tickets
from tlsmem.config.suite_variants import LOW_MEMORY
from tlsmem.config.toml_tables import DEFINITIONS


class LiveRuns(Definition):
    """Where the live runs of a server are, and what its sessions were there."""

    recording: str
    stack: str
    suite: str


class Server(Definition):
    """A table of servers.toml, whose head explains the keys."""

    what: str
    version: str
    libraries: list[str] = Field(min_length=1)
    releases: list[str]
    tickets: Annotated[int | str, PlainValidator(parse_tickets)]
    phase: Literal["blocked", "idle"]
    live: LiveRuns | None = None
    table: Annotated[Fraction, PlainValidator(Fraction)] = Fraction(0)
    sources: list[str] = Field(min_length=1)

    def options(self, stack: str) -> str:
        """Return the suite's `options` that this server runs the stack with."""
        return LOW_MEMORY if library_name(stack) in self.releases else "default"

    def can_run(self, stack: str) -> bool:
        """Return whether the server can run on the stack's library, in the build that it needs."""
        return any(stack.startswith((f"{name}@", f"{name}+")) for name in self.libraries)


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
