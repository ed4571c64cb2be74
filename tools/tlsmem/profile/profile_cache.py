"""Profiles that took long to read, kept as they were read.

The cache of a file is build/profile-cache/NAME.pickle, which git ignores; without it the file is read as usual. It
begins with a digest of all that decides what reading gives: the file, Python, and the code of this package. Only this
module reads and writes these files. A failure to write one is not reported: the next reading is as slow as this one."""

import gc
import hashlib
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

from tlsmem.base import source_paths
from tlsmem.base.paths import ROOT
from tlsmem.profile import demangle
from tlsmem.profile.heap_profile import Profile

FOLDER = ROOT / "build/profile-cache"
LEAST_BYTES = 32 << 10  # a smaller file, even a packed one, is read again about as fast
DIGEST_BYTES = 32


def load(file: Path) -> Profile | None:
    """The profile in this file; None when it is not in the cache."""
    try:
        if file.stat().st_size < LEAST_BYTES:
            return None
        with cache_file(file).open("rb") as cached:
            if cached.read(DIGEST_BYTES) != compute_digest(file):
                return None
            profile = unpickle(cached.read())
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    profile.file = str(file)
    return profile


def unpickle(content: bytes) -> Profile:
    """Without looking for garbage meanwhile: none of so many new objects is."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return pickle.loads(content)
    finally:
        if was_enabled:
            gc.enable()


def store(file: Path, profile: Profile) -> None:
    """Keep what reading gave, unless another reading may give more: c++filt may be there next time."""
    if any(demangle.STAY_MANGLED in warning for warning in profile.warnings):
        return
    place = cache_file(file)
    partial = place.with_suffix(f".{os.getpid()}")
    try:
        if file.stat().st_size < LEAST_BYTES:
            return
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(compute_digest(file) + pickle.dumps(profile, pickle.HIGHEST_PROTOCOL))
        partial.replace(place)
    except OSError:
        with suppress(OSError):
            partial.unlink()


def cache_file(file: Path) -> Path:
    """One per file, so that a changed file replaces what was kept of it."""
    name = hashlib.blake2b(os.fsencode(file.resolve()), digest_size=8).hexdigest()
    return FOLDER / f"{name}.pickle"


def compute_digest(file: Path) -> bytes:
    """Of the file, and of the code that reads it."""
    digest = hashlib.blake2b(sys.version.encode(), digest_size=DIGEST_BYTES)
    for module in (*sorted(Path(__file__).parent.glob("*.py")), Path(source_paths.__file__)):
        digest.update(module.read_bytes())
    with file.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.digest()
