"""What a built thing was made of: equal stamp, nothing to do. Written last, so an interrupted build is no build."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tlsmem.base.atomic_file import replace_file


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(files: Iterable[Path], root: Path) -> dict[str, str]:
    """Path below root to SHA-256; a file that is not there fails in the compiler, with its name."""
    return {str(file.relative_to(root)): sha256(file) for file in sorted(files) if file.is_file()}


def is_current(stamp: Path, made_of: Mapping[str, object]) -> bool:
    try:
        return bool(json.loads(stamp.read_text()) == made_of)
    except (OSError, ValueError):
        return False


def write_stamp(stamp: Path, made_of: Mapping[str, object]) -> None:
    with replace_file(stamp) as beside:
        beside.write_text(json.dumps(made_of, indent=1) + "\n")
