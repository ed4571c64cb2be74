"""Where the repository is, or what an installed package has in its place, and how messages name a path."""

import os
from pathlib import Path

# By the path that this module was imported by: a project of a test has a link to tools/tlsmem.
PACKAGE = Path(__file__).absolute().parents[1]
# A wheel has memtest/*.toml, summaries of the recordings and the heap meter here, each where a clone has it.
PUBLISHED = PACKAGE / "published"
IS_WHEEL = PUBLISHED.is_dir()
ROOT = PUBLISHED if IS_WHEEL else PACKAGE.parents[1]
IS_CLONE = (ROOT / "tools/tlsmem").is_dir()
CACHES = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
DERIVED = ROOT / "build" if IS_CLONE else CACHES / "tls-memtest"  # what is computed, and can be computed again
HEAP_METER = "build/core/libheapmeter.so"  # below ROOT
HEAP_WALK = "build/core/heapwalk"  # below ROOT
FETCH_CORE = "install the package again" if IS_WHEEL else "run `make core` in the repository"  # where these are missing


def shorten(path: Path) -> str:
    """Return the path relative to the current directory when it lies below it, else the absolute path."""
    relative = os.path.relpath(path)
    return str(path.resolve()) if relative.startswith("..") else relative
