"""What a plan needs and no recording has, from assumptions.toml."""

import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tlsmem.schema.roles import ROLES
from tlsmem.tables.table import Heading, Table, text_cell


class AssumedSize(NamedTuple):
    """A size that may be given instead."""

    value: int  # bytes
    source: str


class ProxyAssumptions(NamedTuple):
    """What HAProxy's automatic maxconn rests on; sizes in bytes."""

    version: str
    session_bytes: int
    handshake_bytes: int
    stream_bytes: int
    buffer_bytes: int
    cache_bytes: int
    stacks: list[str]  # whose constants are shown unless others are asked for
    usable: Fraction
    source: str


@cache
def table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("assumptions.toml").read_text())


def assumed_size(name: str) -> AssumedSize:
    return AssumedSize(table()[name]["value"], f"{table()[name]['what']}: {table()[name]['source']}")


def assumed_kernel_bytes(role: str) -> int:
    """Return what the kernel holds for an idle connection: at a server's end, at a client's, or for both of a proxy."""
    ends = table()["kernel_bytes"]
    return sum(ends[end] for end in ROLES if role in (end, "both"))


def describe_kernel_bytes() -> str:
    """Say what these are, and where they come from."""
    return f"{table()['kernel_bytes']['what']}. {table()['kernel_bytes']['source']}"


def haproxy_assumptions() -> ProxyAssumptions:
    return ProxyAssumptions(**table()["haproxy"] | {"usable": Fraction(table()["haproxy"]["usable"])})


def left_out_table(client_certificates: str | None) -> Table:
    """Return what no figure includes. `client_certificates`: what to do about them; None if they are included."""
    columns = [Heading("what", "left out", left=True), Heading("why", "why, or what to do", left=True)]
    made = Table("left-out", "What the figures leave out", "Add those that apply to you.", columns)
    made.rows = [[text_cell(one["what"]), text_cell(one["why"])] for one in table()["left_out"]]
    if client_certificates:
        made.rows.append([text_cell("client certificates"), text_cell(client_certificates)])
    return made
