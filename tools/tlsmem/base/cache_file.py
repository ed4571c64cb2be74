"""Digests of what decides a result that is kept below build/: input, code, packages. Standard library only."""

import hashlib
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tlsmem.base.paths import IS_WHEEL, PACKAGE, ROOT

REQUIREMENTS = (ROOT / "tools/requirements-core.txt", ROOT / "tools/requirements.txt")  # the versions of all packages
DEFINITIONS = ROOT / "memtest"
TABLE_READER = "config/toml_tables.py"  # the module that reads memtest/*.toml
NAMED = re.compile(r"^ *(?:from|import) (tlsmem(?:\.\w+)*)(?: import (\([^)]*\)|.*))?", re.MULTILINE)  # and names
KEY_BYTES = 32


def compute_digest(*parts: bytes | memoryview) -> bytes:
    """Return a digest of KEY_BYTES bytes of the parts, one after the other."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def digest_files(files: Iterable[Path]) -> bytes:
    """Return a digest of the contents of these files. Raises OSError when one cannot be read."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    for file in files:
        with file.open("rb") as content:
            while chunk := content.read(1 << 20):
                digest.update(chunk)
    return digest.digest()


@cache
def digest_code(patterns: tuple[str, ...], more: tuple[Path, ...] = ()) -> bytes:
    """Return a digest of the modules that match the patterns (relative to tools/tlsmem) and of all that they import, of
    memtest/*.toml where one of them reads it, of more files, of all packages' versions and of Python's.

    In a wheel not of the last two: it has results that were computed when it was built."""
    modules = import_closure(module for pattern in patterns for module in PACKAGE.glob(pattern))
    tables = sorted(DEFINITIONS.glob("*.toml")) if PACKAGE / TABLE_READER in modules else []
    found = digest_files([*sorted(modules), *tables, *more, *([] if IS_WHEEL else REQUIREMENTS)])
    return found if IS_WHEEL else compute_digest(sys.version.encode(), found)


def import_closure(modules: Iterable[Path]) -> set[Path]:
    """Return these modules of the package and all modules of it that they import, directly or not."""
    found = set(modules)
    waiting = list(found)
    while waiting:
        new = find_imported(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@cache
def find_imported(module: Path) -> frozenset[Path]:
    """Return the modules of the package that a module names: those that it imports, and some more perhaps.

    One search of the text takes a hundredth of the time of parsing it."""
    names = set[str]()
    for name, members in NAMED.findall(module.read_text(encoding="utf-8")):
        names.add(name)
        names |= {f"{name}.{member}" for member in re.findall(r"\w+", members)}
    return frozenset(file for name in names if (file := find_module(name)))


@cache
def find_module(name: str) -> Path | None:
    """Return the file of a module or package by its dotted name; None when it has none, being a function, say."""
    place = str(PACKAGE.parent / name.replace(".", "/"))
    files = (f"{place}.py", f"{place}/__init__.py")
    return next((Path(file) for file in files if os.path.isfile(file)), None)
