"""Stacks by the names that people give them: a library, a release series, capitals. Standard library only."""

import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from tlsmem.base.nearest import ask
from tlsmem.base.venv import is_active
from tlsmem.config.releases import group_by_library, is_stable, library_with_variant, version
from tlsmem.config.toml_tables import read_tables


def newest_releases(stacks: Iterable[str]) -> dict[str, str]:
    """Return the newest release among the stacks of each library that has one, as servers build it."""
    releases = group_by_library(filter(is_stable, stacks))
    found = {key: releases.get(library.get("build", key)) for key, library in read_tables("libraries").items()}
    return {key: several[-1] for key, several in found.items() if several}


def match_stack(name: str, there: Iterable[str]) -> str | None:
    """Return the stack of this name; of a library, a library with variants, or a release series as openssl@3.5, its
    newest release among `there`; None where there is none. Capitals do not count, and a library may have the name that
    people write."""
    there = list(dict.fromkeys(there))
    releases, newest = group_by_library(there), newest_releases(there)
    name = fold_name(name, [*newest, *releases, *there])
    if name in there:
        return name
    if name in newest:
        return newest[name]
    if name in releases:
        return choose_newest(releases[name])
    library = library_with_variant(name)
    entry = read_tables("libraries").get(library, {})
    usual = entry.get("build", library)  # of a library's builds the one that servers use
    series = ".".join(version(name).split(".")[:2])
    for one in (entry.get("earlier_builds", {}).get(series, usual), usual, library):
        if begun := [stack for stack in releases.get(one, ()) if begins_version(stack, version(name))]:
            return choose_newest(begun)
    return None


def choose_newest(releases: Sequence[str]) -> str:
    """Return the last of several releases in their order; a pre-release only where there are no others."""
    return next(filter(is_stable, reversed(releases)), releases[-1])


def suggest_releases(name: str, there: Iterable[str]) -> str:
    """Return "; did you mean ...?" with other builds of the same release and the nearest releases; "" where there are
    none."""
    there = list(there)
    same = [one for one in there if version(name) and one.partition("@")[2] == version(name) and is_of(name, one)]
    nearest = list(dict.fromkeys([*same, *nearest_releases(name, there)]))
    return ask(nearest) if nearest else ""


def nearest_releases(name: str, there: Iterable[str]) -> list[str]:
    """Return the other stacks of the same library: of the same series, the nearest release first or the one with a key
    pressed twice, the system's and the newest."""
    releases = [one for one in there if library_with_variant(one) == library_with_variant(name) and version(one)]
    series = version(name).rpartition(".")[0]
    nearest = [one for one in releases if series and version(one).startswith(f"{series}.")]
    nearest.sort(key=lambda one: (not name.startswith(one), abs(last_number(one) - last_number(name))))
    nearest += [one for one in releases if version(one) == "system"]
    nearest += newest_releases(releases).values()
    return [one for one in dict.fromkeys(nearest) if one != name]


def is_of(name: str, stack: str) -> bool:
    """Return whether both are of one library, in whatever builds."""
    return re.split("[+@]", name)[0] == re.split("[+@]", stack)[0] and name != stack


def last_number(stack: str) -> int:
    """Return the last number of a version: 13 of openssl@3.0.13."""
    return int((re.findall(r"\d+", version(stack)) or ["0"])[-1])


def resolve_names(text: str) -> str:
    """Return a list of names, separated by spaces or commas, as the stacks of memtest/stacks.toml that they stand for.

    A name that stands for none stays as it is: whoever checks it refuses it."""
    try:
        known = read_tables("stacks")
        return re.sub(r"[^\s,]+", lambda found: resolve_name(found[0], known), text)
    except ValueError:
        return text  # the check of the definitions says it


def resolve_name(name: str, known: Iterable[str]) -> str:
    """Return the known stack that the name stands for; stderr has it unless the name is exactly its own. A name that
    stands for none is returned."""
    stack = match_stack(name, known) or name
    if stack != name and is_active():
        announce(name, stack)
    return stack


@cache
def announce(name: str, stack: str) -> None:
    """Say once which stack is used: several functions select by the same names."""
    print(f"memtest: {name}: using {stack}", file=sys.stderr)


def fold_name(name: str, known: Iterable[str]) -> str:
    """Return the known name that equals this one without case, spaces and hyphens, with its version; else the name."""
    libraries = read_tables("libraries")
    titles: dict[str, str] = {fold(library.get("name", key)): key for key, library in libraries.items()}
    exact = {fold(one): one for one in known}
    if found := exact.get(fold(name)):
        return found
    library, at, release = name.partition("@")
    return (exact | titles).get(fold(library), library) + at + release.lower()


def fold(name: str) -> str:
    """Return a name in small letters, without spaces, hyphens and slashes."""
    return re.sub(r"[ /_-]", "", name.lower())


def begins_version(stack: str, series: str) -> bool:
    """Return whether the stack's version is of the series: 3.5.5 is of 3.5, 3.50.1 is not."""
    return re.match(rf"{re.escape(series)}(?!\d).", version(stack)) is not None if series else False
