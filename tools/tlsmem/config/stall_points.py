"""The points at which a peer stops: memtest/stall_points.toml. Standard library only."""

from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.toml_tables import Unreadable, read_tables
from tlsmem.schema.roles import ROLES, Role

FILE = "memtest/stall_points.toml"
UINT16_MAX = 0xFFFF


@dataclass(frozen=True)
class StallPoint:
    """Where a peer stops. The head of the file says what each key means; an empty string is none."""

    waits: Role
    sent: str
    prepare: str = ""
    deliver: str = ""
    bytes: int = 0
    extension: int = 0
    names: int = 0
    answers: bool = False
    completes: bool = False
    large_chain: bool = False
    protocol: str = ""
    auth: str = ""
    ticket: bool = False


REQUIRED = [field.name for field in fields(StallPoint) if field.default is MISSING]  # texts, both
TYPES = {field.name: str if field.name in REQUIRED else type(field.default) for field in fields(StallPoint)}
WORDS = {str: "a text", int: "a whole number", bool: "true or false"}


@cache
def stall_points() -> dict[str, StallPoint]:
    """Return the points by name, in the order of the file. Raises Unreadable with a sentence that names file, table and
    key."""
    return {name: parse_point(name, table) for name, table in read_tables("stall_points").items()}


def parse_point(name: str, table: dict[str, Any]) -> StallPoint:
    """Return the point that a table describes. Raises Unreadable."""
    for key, value in table.items():
        if key not in TYPES:
            raise Unreadable(f"{FILE}: [{name}]: unknown key {key}{suggest_nearest(key, TYPES)}")
        if type(value) is not TYPES[key]:
            raise Unreadable(f"{FILE}: [{name}]: {key} must be {WORDS[TYPES[key]]}")
    for key in REQUIRED:
        if key not in table:
            raise Unreadable(f"{FILE}: [{name}]: {key} is missing")
    point = StallPoint(**table)
    if point.waits not in ROLES:
        raise Unreadable(f"{FILE}: [{name}]: waits must be {' or '.join(ROLES)}, not {point.waits}")
    if not 0 <= point.extension <= UINT16_MAX or point.bytes < 0 or point.names < 0:
        raise Unreadable(f"{FILE}: [{name}]: bytes and names must not be negative, extension at most {UINT16_MAX}")
    return point
