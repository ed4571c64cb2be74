"""Where the repository is, and how messages name a path."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # of the repository


def shorten(path: Path) -> str:
    """Return the path relative to the current directory when it lies below it, else the absolute path."""
    relative = os.path.relpath(path)
    return str(path.resolve()) if relative.startswith("..") else relative
