"""The colours of stacks in pictures: by the language of their harness, as libraries are written in."""

from matplotlib.patches import Patch

from tlsmem.config import definitions
from tlsmem.plots.bucket_panel import INK

LANGUAGES = {"c": ("C and C++", "#0072B2"), "rust": ("Rust", "#E69F00"), "go": ("Go", "#009E73")}  # by harness
UNKNOWN = ("not known", "#999999")


def stack_language(stack: str) -> tuple[str, str]:
    """Return the language and its colour; a stack that is not in stacks.toml any more is of none."""
    known = definitions.stacks().get(stack)
    return LANGUAGES[known.harness] if known else UNKNOWN


def stack_colour(stack: str) -> str:
    """Return the colour of the stack's bars."""
    return stack_language(stack)[1]


def colour_legend(stacks: list[str]) -> list[Patch]:
    """Return an entry for each language of these stacks."""
    there = dict.fromkeys(map(stack_language, stacks))
    return [Patch(facecolor=colour, edgecolor=INK, linewidth=0.5, label=name) for name, colour in there]
