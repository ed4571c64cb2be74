"""What was compiled before is not compiled again, where ccache is installed: most of a patched tree is as it was."""

import os
import shutil
from pathlib import Path

from tlsmem.build import cache

LINKS = Path("/usr/lib/ccache")  # commands of the compilers' names, as Debian has them
HEADERS = {".h", ".hpp", ".inc", ".in", ".def"}


def ccache_variables(root: Path, tree: Path) -> dict[str, str]:
    """Of a build's environment; none without ccache.

    A result is known by what was read for it, which cannot tell of a header that is new and would be found first:
    so the headers' names are a part of it too. No settings of the user's count."""
    if not shutil.which("ccache") or not LINKS.is_dir():
        return {}
    place = (cache.directory() or root / "build") / "ccache"
    return {
        "PATH": f"{LINKS}:{os.environ.get('PATH', os.defpath)}",
        "CCACHE_DIR": str(place),
        "CCACHE_CONFIGPATH": os.devnull,
        "CCACHE_SLOPPINESS": "",
        "CCACHE_MAXSIZE": "2G",
        "CCACHE_EXTRAFILES": str(headers(tree)),
    }


def headers(tree: Path) -> Path:
    """The file that lists them, beside the tree's copy."""
    listed = tree.with_name(f"{tree.name}.headers")
    found = sorted(str(file.relative_to(tree)) for file in tree.rglob("*") if file.suffix in HEADERS)
    listed.write_text("".join(f"{name}\n" for name in found))
    return listed


def drop_objects(folder: Path) -> None:
    """Of a library that is made: its archives and headers stay."""
    for file in folder.rglob("*"):
        if file.suffix in (".o", ".d") and file.is_file():
            file.unlink()
