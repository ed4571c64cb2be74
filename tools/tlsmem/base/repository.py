"""The git clone: its commit, whether its tree is clean, and which directories take new runs. Standard library only."""

import os
import subprocess
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.paths import IS_WHEEL, ROOT

DATA, LOCAL = "data", "data/local"  # recordings of the repository, and the user's own, which git ignores
MANIFEST = "manifest.json"  # beside the files of a recording that is sealed: it takes no more runs


def require_clone(what: str) -> None:
    """Raise Usage in an installed package, which has no harnesses, sources and call stacks, for what needs them."""
    if IS_WHEEL:
        raise Usage(f"{what}: needs a clone of the repository of tls-memtest; this is the installed package")


def git(*words: str) -> str:
    """Run git in the repository and return its output.

    Raises CalledProcessError when git fails, as outside a clone, and FileNotFoundError without git."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def changed_files() -> list[str]:
    """Return the files outside data/ that differ from the commit. Raises as `git` does."""
    lines = git("status", "--porcelain", "--", ".", f":(exclude){DATA}").splitlines()
    return [line.strip().partition(" ")[2].strip() for line in lines]


def is_committed(directory: str) -> bool:
    """Return whether git has files in the directory; False outside a clone."""
    try:
        return bool(git("--literal-pathspecs", "ls-files", "--", directory))
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False


def is_sealed(recording: Path) -> bool:
    """Return whether the recording has a manifest, so that it takes no more runs."""
    return os.path.exists(recording / MANIFEST)  # Path.exists() raises where the directory cannot be searched


def is_no_directory(place: Path) -> bool:
    """Return whether something is there, and no directory."""
    return os.path.exists(place) and not os.path.isdir(place)


def check_recording(recording: Path, named: bool = True, option: str = "OUT") -> None:
    """Raise Usage with one sentence when runs must not be added to this directory, which the option names.

    Recordings of the repository take runs only when the user named them, and only from a clean tree."""
    elsewhere = f"{option}={LOCAL}/NAME records elsewhere"
    if file := next((one for one in (recording, *recording.parents) if is_no_directory(one)), None):
        raise Usage(f"{option}={recording}: {file} is a file, and a recording is a directory; {elsewhere}")
    place, data, local = map(os.path.realpath, (recording, ROOT / DATA, ROOT / LOCAL))
    if place in (data, local):
        raise Usage(f"{recording} is where recordings are, not one of them; {elsewhere}")
    if is_sealed(recording):
        raise Usage(f"{recording} is sealed, so it takes no more runs; {elsewhere}")
    outside = place.startswith(f"{local}/") or not place.startswith(f"{data}/")
    if outside and not is_committed(place):
        return
    if not named:
        raise Usage(f"{recording} is committed, so only {option}= by this name adds runs to it; {elsewhere}")
    try:
        changed = changed_files()
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise Usage(f"{recording} takes runs from a git clone only, and this is none; {elsewhere}") from None
    if changed:
        files = changed[0] + (f" and {len(changed) - 1} more" if changed[1:] else "")
        raise Usage(f"{recording} takes runs from a clean tree only: commit or stash {files}; {elsewhere}")
