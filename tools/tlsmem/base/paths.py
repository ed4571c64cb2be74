"""Where the repository is, and how messages name a path."""

import os
from pathlib import Path

# Of the repository, by the path that this module was imported by: a project of a test has a link to tools/tlsmem.
ROOT = Path(__file__).absolute().parents[3]
HEAP_METER = "build/core/libheapmeter.so"  # below ROOT
HEAP_WALK = "build/core/heapwalk"  # below ROOT


def shorten(path: Path) -> str:
    """Return the path relative to the current directory when it lies below it, else the absolute path."""
    relative = os.path.relpath(path)
    return str(path.resolve()) if relative.startswith("..") else relative
