"""Stacks as releases of a library, in their order."""

import re
from collections.abc import Iterable, Sequence

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest

Key = tuple[tuple[int, int, str], ...]
BEFORE, END, LETTER, NUMBER = range(4)  # 1.0-dev.1 < 1.0 < 1.0a < 1.0.1


def library_with_variant(stack: str) -> str:
    """`rustls+ring` of `rustls+ring@0.22.0`: a library with what it is built of."""
    return stack.partition("@")[0]


def version(stack: str) -> str:
    return stack.partition("@")[2]


def series(name: str) -> str:
    """Return the release series of a version: 3.5 of 3.5.7, 1.1 of 1.1.1w."""
    return ".".join(name.split(".")[:2])


def is_stable(name: str) -> bool:
    """Return whether a version, or a stack of it, is no pre-release: 0.24.0-dev.2, 1.27rc1 and 4.1.0~beta1 are such."""
    return not re.search(r"\d[-~.]?(dev|alpha|beta|pre|rc)(\b|\d)", name.rpartition("@")[2])


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


def newest_of_each_build(stacks: Iterable[str]) -> set[str]:
    """Return the newest release of each build of a library; no pre-release, and no library of the system."""
    return {several[-1] for several in group_by_library(filter(is_stable, stacks)).values()}


def select_stacks(library: str, known: Iterable[str], versions: Sequence[str] | None = None) -> list[str]:
    """A library's stacks, in order of release. Raises Usage with a sentence where there are none of this name, and
    ValueError where there are fewer than two."""
    there = group_by_library(known)
    if library not in there:
        hint = suggest_nearest(library, there) or f"; there are: {', '.join(there) or 'none'}"
        raise Usage(f"the library {library} has no releases{hint}")
    named = {version(stack): stack for stack in there[library]}
    for one in versions or ():
        if one not in named:
            raise Usage(f"{library} has no release {one}; it has: {', '.join(named)}")
    kept = [stack for name, stack in named.items() if not versions or name in versions]
    if len(kept) < 2:
        raise ValueError(f"{kept[0]} is the only release of {library} here; comparing needs two")
    return kept


def final(stack: str) -> tuple[bool, Key]:
    """What was released comes after what was released to be tried."""
    number = version(stack)
    return "-" not in number, version_key(number)


def sort_newest_first(stacks: Iterable[str]) -> list[str]:
    """By release, whatever the library; of one release those of fewer variants first."""
    return sorted(sorted(dict.fromkeys(stacks), key=lambda stack: stack.count("+")), key=final, reverse=True)
