"""Profiles that took long to read, kept as they were read.

The cache of a file is build/profile-cache/NAME.cache, which git ignores; see base/cache_file.py. Its key stands for the
file and the code that reads it."""

import gc
import pickle
from pathlib import Path

from tlsmem.base.cache_file import cache_place, compute_digest, digest_code, digest_files, read_cache, write_cache
from tlsmem.base.paths import ROOT
from tlsmem.profile import demangle
from tlsmem.profile.heap_profile import Profile

FOLDER = ROOT / "build/profile-cache"
LEAST_BYTES = 32 << 10  # a smaller file, even a packed one, is read again about as fast
CODE = ("profile/open_profile.py",)


def load(file: Path) -> Profile | None:
    """Return the profile in this file; None when it is not in the cache."""
    try:
        kept = None if is_small(file) else read_cache(cache_place(FOLDER, file), compute_key(file))
    except OSError:
        return None
    if kept is None:
        return None
    profile = unpickle(kept)
    profile.file = str(file)
    return profile


def unpickle(content: memoryview) -> Profile:
    """Return the profile, without looking for garbage meanwhile: none of so many new objects is."""
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
    try:
        if not is_small(file):
            content = pickle.dumps(profile, pickle.HIGHEST_PROTOCOL)
            write_cache(cache_place(FOLDER, file), compute_key(file), content)
    except OSError:  # the file is gone
        return


def is_small(file: Path) -> bool:
    """Return whether reading the file again is as fast as reading the cache. Raises OSError."""
    return file.stat().st_size < LEAST_BYTES


def compute_key(file: Path) -> bytes:
    """Return a digest of the file and of the code that reads it. Raises OSError."""
    return compute_digest(digest_code(CODE), digest_files([file]))
