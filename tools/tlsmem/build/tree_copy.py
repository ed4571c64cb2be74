"""The copy of a tree that a build reads: nothing that is written to it, or where it came from, is mixed with it."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tlsmem.build import tree_files
from tlsmem.build.tree_files import LINK, PROGRAM, SUBMODULE, Listing


def copy(listing: Listing, folder: Path | None, to: Path) -> None:
    """All of it into `to`, which appears whole. ValueError when a file of `folder` is another meanwhile."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{to.name}.", dir=to.parent) as made:
        partial = Path(made) / to.name
        partial.mkdir()
        for path, content in contents(listing, folder):
            write(partial, path, listing[path].mode, content)
        shutil.rmtree(to, ignore_errors=True)
        partial.rename(to)


def contents(listing: Listing, folder: Path | None) -> Iterator[tuple[str, bytes]]:
    for repository in dict.fromkeys(entry.repository for entry in listing.values()):
        paths = [p for p, one in listing.items() if one.repository == repository and one.mode != SUBMODULE]
        if repository:
            yield from zip(paths, blobs(repository, [listing[path].hash for path in paths]), strict=True)
            continue
        for path in paths:
            here = folder / path
            content = os.fsencode(here.readlink()) if here.is_symlink() else here.read_bytes()
            if tree_files.of_blob(content) != listing[path].hash:
                raise ValueError(f"{here} was changed while it was copied: try again when nothing writes there")
            yield path, content


def blobs(repository: Path, sums: list[str]) -> Iterator[bytes]:
    """As git keeps them, in this order."""
    said = memoryview(
        tree_files.git(repository, "cat-file", "--batch", given="".join(f"{sum}\n" for sum in sums).encode())
    )
    at = 0
    for sum in sums:
        head, _, _ = bytes(said[at : at + 120]).partition(b"\n")
        if not head.split()[1:2] == [b"blob"]:
            raise ValueError(f"{repository}: the repository lacks {sum}; is it a partial clone?")
        size = int(head.split()[2])
        at += len(head) + 1 + size + 1
        yield bytes(said[at - size - 1 : at - 1])


def write(to: Path, path: str, mode: str, content: bytes) -> None:
    """A link that leads out of the tree is left out: what is there is no part of its hash."""
    file = to / path
    if ".." in file.parts:
        raise ValueError(f"{path}: a name that leads out of its tree")
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
