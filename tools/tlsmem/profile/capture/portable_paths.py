"""Profiles without the places of this machine: what lies in the clone is named from its root, and what lies in a
registry of packages from its package on."""

import re
from pathlib import Path

REGISTRY = re.compile(rb"(?:[^\s=()\"]*/)?\.?cargo/registry/src/[^/\s]+/")  # of whichever host; the innermost


def make_portable(text: bytes, root: Path) -> bytes:
    """As symbols.shorter() has it, for files that a profiler wrote."""
    return REGISTRY.sub(b"", below(root).sub(b"", text))


def below(root: Path) -> re.Pattern[bytes]:
    """The start of a path in `root`, where no longer path ends so."""
    return re.compile(rb"(?<![\w.@+/-])" + re.escape(bytes(root)) + b"/")
