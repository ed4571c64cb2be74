"""Files below build/ that keep what took long to compute. Standard library only.

A file begins with a key, which stands for all that decides its content, and a checksum of the rest. One that is
missing, damaged or of another key is as good as none. A failure to write is not reported: it only costs time."""

import hashlib
import mmap
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tlsmem.base.paths import ROOT

PACKAGE = ROOT / "tools/tlsmem"
REQUIREMENTS = ROOT / "tools/requirements.txt"  # the versions of all packages
DEFINITIONS = ROOT / "memtest"
TABLE_READER = "config/toml_tables.py"  # the module that reads memtest/*.toml
NAMED = re.compile(r"(tlsmem(?:\.\w+)*)(?: import (\([^)]*\)|.*))?")  # a module, and the names imported from it
KEY_BYTES = CHECKSUM_BYTES = 32


def read_cache(place: Path, key: bytes) -> memoryview | None:
    """Return what was written with this key; None when there is no such file. The content is read when it is used."""
    try:
        with place.open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # not there; empty
        return None
    content = whole[KEY_BYTES + CHECKSUM_BYTES :]
    return content if whole[: KEY_BYTES + CHECKSUM_BYTES] == key + compute_digest(content) else None


def write_cache(place: Path, key: bytes, content: bytes) -> None:
    """Write the content completely or not at all. Another key's is replaced."""
    partial = place.with_suffix(f".{os.getpid()}")
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(key + compute_digest(content) + content)
        partial.replace(place)
    except OSError:
        with suppress(OSError):
            partial.unlink()


def cache_place(folder: Path, file: Path) -> Path:
    """Return where the cache of a file is: one for each, so that a changed file replaces what was kept of it."""
    return folder / f"{hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:16]}.cache"


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
    memtest/*.toml where one of them reads it, of more files, of all packages' versions and of Python's."""
    modules = import_closure(module for pattern in patterns for module in PACKAGE.glob(pattern))
    tables = sorted(DEFINITIONS.glob("*.toml")) if PACKAGE / TABLE_READER in modules else []
    return compute_digest(sys.version.encode(), digest_files([*sorted(modules), *tables, *more, REQUIREMENTS]))


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
