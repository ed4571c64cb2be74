"""Stacks as releases of a library, in their order."""

import re
from collections.abc import Iterable

Key = tuple[tuple[int, int, str], ...]
BEFORE, END, LETTER, NUMBER = range(4)  # 1.0-dev.1 < 1.0 < 1.0a < 1.0.1


def library_with_variant(stack: str) -> str:
    """`rustls+ring` of `rustls+ring@0.22.0`: a library with what it is built of."""
    return stack.partition("@")[0]


def version(stack: str) -> str:
    return stack.partition("@")[2]


def version_key(name: str) -> Key:
    """Of a version among others."""
    found = []
    for dash, number, letters in re.findall(r"(-?)(?:(\d+)|([A-Za-z]+))", name):
        found.append((BEFORE if dash else NUMBER if number else LETTER, int(number or 0), letters))
    return (*found, (END, 0, ""))


def group_by_library(stacks: Iterable[str], least: int = 1) -> dict[str, list[str]]:
    """Libraries of which there are so many releases, each with its stacks by version; a version begins with a digit."""
    found: dict[str, list[str]] = {}
    for stack in stacks:
        if version(stack)[:1].isdigit():
            found.setdefault(library_with_variant(stack), []).append(stack)
    return {
        name: sorted(several, key=lambda stack: version_key(version(stack)))
        for name, several in found.items()
        if len(several) >= least
    }
