"""The colours of stacks in pictures: a hue for each library (memtest/libraries.toml), paler for its older releases."""

from collections.abc import Iterable

from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.releases import version, version_key

UNKNOWN = "#999999"  # of a library that libraries.toml does not have
STEP, PALEST = 0.25, 0.6  # of the way to white: from a release to the one before it, and at most


def library_colour(stack: str) -> str:
    """Return the hue of the stack's library, as `#rrggbb`."""
    known = libraries().get(library_key(stack))
    return known.colour if known else UNKNOWN


def lighten(colour: str, share: float) -> str:
    """Return the colour, this share of the way to white."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)


def stack_colours(stacks: Iterable[str]) -> dict[str, str]:
    """Return the colour of each stack of a picture: the newest release of a library has its hue, older ones are paler.

    Builds of one release, such as rustls+ring@0.23.46 and rustls+aws-lc@0.23.46, have one colour."""
    releases: dict[str, dict[str, list[str]]] = {}
    for stack in stacks:
        releases.setdefault(library_key(stack), {}).setdefault(version(stack), []).append(stack)
    found: dict[str, str] = {}
    for versions in releases.values():
        newest_first = sorted(versions, key=version_key, reverse=True)
        step = min(STEP, PALEST / max(1, len(newest_first) - 1))
        for age, name in enumerate(newest_first):
            found |= {stack: lighten(library_colour(stack), age * step) for stack in versions[name]}
    return found
