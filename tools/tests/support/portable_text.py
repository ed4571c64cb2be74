"""Texts that are the same on every machine, for snapshots: a directory of this machine stands as a name in capitals.

`TMP` is the directory of the test, `TMP/NAME` one that tests of a module share, `ROOT` the repository."""

import re
from collections.abc import Callable
from pathlib import Path

from tlsmem.base.paths import ROOT


def replace_places(text: str, own: Path, shared: Path) -> str:
    """Replace the test's own directory, those in the directory that all tests share, and the repository in `text`."""
    text = text.replace(str(own), "TMP")
    text = re.sub(rf"{re.escape(str(shared))}/([\w.-]*?)\d+\b", r"TMP/\1", text)  # pytest numbers them
    text = re.sub(r"(; data/ has ).*", r"\1NAMES", text)  # of the recordings that are there today
    return text.replace(str(ROOT), "ROOT")


def build_matcher(own: Path, shared: Path) -> Callable[..., object]:
    """Return what syrupy calls for each value of a snapshot."""

    def match(*, data: object, path: object) -> object:
        return replace_places(data, own, shared) if isinstance(data, str) else data

    return match


def drop_table_rows(markdown: str) -> str:
    """Keep titles, captions, notes and sentences, for a test of which the figures are asserted or stand elsewhere."""
    text = "".join(line for line in markdown.splitlines(keepends=True) if not line.startswith("|"))
    return re.sub(r"\n{3,}", "\n\n", text)
