"""The libraries that stacks are of, as people name them: memtest/libraries.toml."""

from collections.abc import Iterable
from functools import cache

from pydantic import Field

from tlsmem.config.campaigns import Definition
from tlsmem.config.releases import library_with_variant, version, version_key
from tlsmem.config.toml_tables import read_tables


class Library(Definition):
    """A library: its name, its colour in pictures, and its documented way to hold less memory at rest."""

    name: str
    colour: str = Field(pattern="^#[0-9a-f]{6}$")
    low_memory: str | None = None
    build: str | None = None  # the stacks that stand for it, as servers build it; None: those of its own name
    other_builds: dict[str, str] = Field(
        default_factory=dict
    )  # what titles call other builds, by stack name without release
    earlier_builds: dict[str, str] = Field(default_factory=dict)  # as `build`, by series with another default


@cache
def libraries() -> dict[str, Library]:
    """Return the libraries by the first word of their stacks' names."""
    return {name: Library.model_validate(entry) for name, entry in read_tables("libraries").items()}


def library_key(stack: str) -> str:
    """Return the key of a stack's library: `rustls` of rustls+aws-lc@0.23.46."""
    return stack.partition("@")[0].partition("+")[0]


def stack_title(stack: str) -> str:
    """Return a stack as people write it: `rustls 0.23.46 (aws-lc)`; one of no known library by its own name."""
    known = libraries().get(library_key(stack))
    if not known:
        return stack
    return f"{known.name} {version(stack)}{describe_variants(stack)}"


def describe_variants(stack: str) -> str:
    """Return what a stack's library is built of: ` (aws-lc)`; nothing where that is its only build."""
    name = library_with_variant(stack)
    known = libraries().get(library_key(stack))
    text = known.other_builds.get(name) if known else None
    text = text or ", ".join(name.split("+")[1:])
    return f" ({text})" if text else ""


def is_headline_build(stack: str) -> bool:
    """Return whether the stack's build represents its library; true if the library is not known."""
    known = libraries().get(library_key(stack))
    return not known or library_with_variant(stack) == (known.build or library_key(stack))


def library_name(stack: str) -> str:
    """Return the name of a stack's library, with the build if another one stands for the library: `wolfSSL`,
    `wolfSSL (default build)`; of one that is not known the stack itself."""
    known = libraries().get(library_key(stack))
    if not known:
        return stack
    return known.name + (describe_variants(stack) if library_with_variant(stack) in known.other_builds else "")


def library_title(stack: str) -> str:
    """Return the library of a stack with what it is built of, without the release: `rustls (aws-lc)`."""
    known = libraries().get(library_key(stack))
    return f"{known.name}{describe_variants(stack)}" if known else stack.partition("@")[0]


def sort_by_library(stacks: Iterable[str]) -> list[str]:
    """Return stacks in the order of memtest/libraries.toml: of each the build that servers use first, newest first.

    A release that is no number, as `system`, comes after the others of its build; null, which is no library, last."""
    order = list(libraries())

    def place(stack: str) -> tuple[int, bool, str]:
        key, name = library_key(stack), stack.partition("@")[0]
        known = key in order
        return order.index(key) if known else len(order), known and name != (libraries()[key].build or key), name

    newest_first = sorted(stacks, key=lambda one: (version(one)[:1].isdigit(), version_key(version(one))), reverse=True)
    return sorted(newest_first, key=place)
