"""The files of a source tree (a commit or a directory): their hash, as git computes it, and a copy to build."""

import hashlib
import os
import posixpath
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.build import commands
from tlsmem.config import toml_tables

FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
ITS_OWN = ".git"
RECORDED = re.compile(r"@[^/]*\.jsonl(\.zst)?$")  # runs of a stack, in a recording


class Entry(NamedTuple):
    """A file of a tree: git's mode, the hash of its contents, and the repository that has them (None: a directory)."""

    mode: str
    hash: str
    repository: Path | None = None


Listing = dict[str, Entry]  # by path, with slashes


def git(where: Path, *words: str, given: bytes | None = None) -> bytes:
    """What git prints; ValueError with its own sentence when it fails.

    A tree's own configuration may name a program as file-system monitor, which `ls-files` would run."""
    command = ["git", "-C", str(where), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(command, env=commands.environment(), input=given, capture_output=True, check=True)
    except FileNotFoundError:
        raise ValueError("git is not installed") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.decode(errors="replace").strip().splitlines() or ["no word"])[0]
        raise ValueError(f"{where}: git {words[0]} failed: {last}") from None
    return done.stdout


def work_tree(folder: Path) -> Path | None:
    """The top of the git work tree that this directory is in; raises ValueError where git may not tell."""
    try:
        return Path(os.fsdecode(git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
    except ValueError as error:
        if "not a git repository" in str(error) or "must be run in a work tree" in str(error):
            return None
        raise


def is_repository(folder: Path) -> bool:
    """A bare one too."""
    try:
        return bool(git(folder, "rev-parse", "--git-dir"))
    except ValueError as error:
        if "not a git repository" in str(error):
            return False
        raise


def list_commit(clone: Path, commit: str) -> Listing:
    """Submodules too, where they are checked out in this clone and have their commit."""
    found: Listing = {}
    for line in filter(None, git(clone, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")):
        told, _, name = line.partition(b"\t")
        mode, _, sum = told.decode().split()
        found |= entered(clone, os.fsdecode(name), Entry(mode, sum, clone))
    return found


def entered(clone: Path, path: str, entry: Entry) -> Listing:
    """An entry, or in place of a submodule what is in it."""
    below = clone / path
    if entry.mode == SUBMODULE and (below / ITS_OWN).exists():
        try:
            return {f"{path}/{name}": one for name, one in list_commit(below, entry.hash).items()}
        except ValueError:  # it has not this commit
            pass
    return {path: entry}


def list_directory(folder: Path) -> Listing:
    """As it stands. Raises ValueError where it cannot be read."""
    found: Listing = {}
    for path, submodule in list_paths(folder):
        here = folder / path
        try:
            mode = here.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[path] = Entry(LINK, hash_blob(os.fsencode(here.readlink())))
            elif stat.S_ISREG(mode):
                found[path] = Entry(PROGRAM if mode & stat.S_IXUSR else FILE, hash_blob(here.read_bytes()))
            elif stat.S_ISDIR(mode) and (here / ITS_OWN).exists():
                found |= {f"{path.rstrip('/')}/{name}": one for name, one in list_directory(here).items()}
            elif submodule:
                found[path] = Entry(SUBMODULE, submodule)
        except FileNotFoundError:  # removed, and git has not been told
            pass
        except OSError as error:
            raise ValueError(f"{here} cannot be read: {error.strerror}") from None
    return found


def list_paths(folder: Path) -> Iterable[tuple[str, str | None]]:
    """Of a work tree what git has or would add, of another directory, or one that git ignores, all files; with the
    commit of a submodule."""
    return (list(by_git(folder)) if work_tree(folder) else []) or every_file(folder)


def every_file(folder: Path) -> Iterator[tuple[str, None]]:
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != ITS_OWN]
        links = [one for one in folders if Path(place, one).is_symlink()]
        yield from ((os.path.relpath(Path(place, one), folder), None) for one in [*files, *links])


def by_git(folder: Path) -> Iterator[tuple[str, str | None]]:
    for line in filter(None, git(folder, "ls-files", "-c", "-s", "-z").split(b"\0")):
        told, _, name = line.partition(b"\t")
        mode, sum, _ = told.decode().split()
        yield os.fsdecode(name), sum if mode == SUBMODULE else None
    for name in filter(None, git(folder, "ls-files", "-o", "-z", "--exclude-standard").split(b"\0")):
        yield os.fsdecode(name), None


def hash_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tree_hash(listing: Listing) -> str:
    """That of git's tree of the same contents, by SHA-1 or by SHA-256, as the contents' are."""
    below: dict[str, Listing] = {}
    lines: dict[bytes, bytes] = {}
    for path, entry in listing.items():
        first, inside, rest = path.partition("/")
        if inside:
            below.setdefault(first, {})[rest] = entry
        else:
            name = os.fsencode(first)
            lines[name] = entry.mode.encode() + b" " + name + b"\0" + bytes.fromhex(entry.hash)
    for first, entries in below.items():
        name = os.fsencode(first)
        lines[name + b"/"] = b"40000 " + name + b"\0" + bytes.fromhex(tree_hash(entries))
    content = b"".join(lines[name] for name in sorted(lines))
    wide = any(len(entry.hash) == 64 for entry in listing.values())
    made = hashlib.sha256 if wide else hashlib.sha1
    return made(b"tree %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def leave_out_budgets(listing: Listing, folder: Path | None) -> Listing:
    """The listing without budget files of the gate, the baselines that they name, and recordings beside these.

    They are no part of a library: a limit or a baseline that changes is no other build."""
    left: set[str] = set()
    candidates = {path: one for path, one in listing.items() if path.endswith(".toml") and one.mode in (FILE, PROGRAM)}
    recordings = {posixpath.dirname(path) for path in listing if RECORDED.search(path)}
    for path, content in read_contents(candidates, folder):
        if b"[[budget]]" in content and (baseline := find_baseline(path, content)) is not None:
            beside = {one for one in recordings if posixpath.dirname(one) == posixpath.dirname(baseline)}
            left |= {path, baseline, *(beside if baseline else ())}
    return {path: one for path, one in listing.items() if not left & {path, *ancestors(path)}}


def find_baseline(path: str, content: bytes) -> str | None:
    """Of a budget file the directory of its baseline in the tree; empty without one. None of any other file."""
    try:
        tables = toml_tables.parse_toml(content)
    except ValueError:
        return None
    if not isinstance(tables.get("budget"), list):
        return None
    named = tables.get("baseline")
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), named)) if isinstance(named, str) else ""


def ancestors(path: str) -> Iterator[str]:
    """The directories that a path is in, the nearest first."""
    while path := posixpath.dirname(path):
        yield path


def submodules(listing: Listing) -> list[str]:
    """Those without contents."""
    return [path for path, entry in listing.items() if entry.mode == SUBMODULE]


def copy_tree(listing: Listing, folder: Path | None, to: Path) -> None:
    """All of it into `to`, which appears whole. Raises ValueError when a file of `folder` is another meanwhile."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{to.name}.", dir=to.parent) as made:
        partial = Path(made) / to.name
        partial.mkdir()
        for path, content in read_contents(listing, folder):
            write(partial, path, listing[path].mode, content)
        shutil.rmtree(to, ignore_errors=True)
        partial.rename(to)


def read_contents(listing: Listing, folder: Path | None) -> Iterator[tuple[str, bytes]]:
    for repository in dict.fromkeys(entry.repository for entry in listing.values()):
        paths = [p for p, one in listing.items() if one.repository == repository and one.mode != SUBMODULE]
        if repository:
            yield from zip(paths, blobs(repository, [listing[path].hash for path in paths]), strict=True)
            continue
        for path in paths:
            assert folder  # in which is what no repository has
            here = folder / path
            content = os.fsencode(here.readlink()) if here.is_symlink() else here.read_bytes()
            if hash_blob(content) != listing[path].hash:
                raise ValueError(f"{here} changed while it was copied; try again when nothing writes there")
            yield path, content


def blobs(repository: Path, sums: list[str]) -> Iterator[bytes]:
    """As git keeps them, in this order."""
    said = memoryview(git(repository, "cat-file", "--batch", given="".join(f"{sum}\n" for sum in sums).encode()))
    at = 0
    for sum in sums:
        head, _, _ = bytes(said[at : at + 120]).partition(b"\n")
        if not head.split()[1:2] == [b"blob"]:
            raise ValueError(f"{repository}: the object {sum} is missing; is this a partial clone?")
        size = int(head.split()[2])
        at += len(head) + 1 + size + 1
        yield bytes(said[at - size - 1 : at - 1])


def write(to: Path, path: str, mode: str, content: bytes) -> None:
    """A link that leads out of the tree is left out: what is there is no part of its hash."""
    file = to / path
    if ".." in file.parts:
        raise ValueError(f"{path}: the name leads out of its tree")
    file.parent.mkdir(parents=True, exist_ok=True)
    if mode == LINK:
        target = Path(os.path.normpath(file.parent / os.fsdecode(content)))
        if target.is_relative_to(to):
            file.symlink_to(os.fsdecode(content))
        else:
            print(f"memtest: {path}: a link out of its tree; it is left out", file=sys.stderr)
        return
    file.write_bytes(content)
    file.chmod(0o755 if mode == PROGRAM else 0o644)
