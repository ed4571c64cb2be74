"""A cache outside the clone, at MEMTEST_CACHE: what was built, by what it was made of, and archives of sources.

An entry's name ends with the SHA-256 of its file, so one that was damaged is known, and made again. Entries appear
whole, by a rename, so any number of clones may use one cache at once.
"""

import hashlib
import json
import os
import platform
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from backports import zstd

from tlsmem.build.commands import CONSOLE, BuildFailed
from tlsmem.build.stamps import sha256

ENDING = ".tar.zst"
READABLE = 0o644  # by others whose cache it is too


def directory() -> Path | None:
    """Where it is; None when nobody asked for one."""
    asked = os.environ.get("MEMTEST_CACHE")
    return Path(asked).expanduser().absolute() if asked else None


def check_writable() -> None:
    """Raises BuildFailed with a sentence where nothing could be kept."""
    if place := directory():
        try:
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except OSError as error:
            raise BuildFailed(f"MEMTEST_CACHE={place}: nothing can be kept there: {error.strerror}") from None


def entry_key(name: str, made_of: Mapping[str, object]) -> str:
    """Of what is made, where such a thing runs."""
    here = [platform.machine(), *platform.libc_ver()]
    return hashlib.sha256(json.dumps([name, made_of, here], sort_keys=True).encode()).hexdigest()[:32]


def restore(kind: str, key: str, folder: Path, title: str) -> bool:
    """Fills `folder`, new, with an entry; False when there is none that is whole."""
    for entry in find_entries(kind, key):
        if sha256(entry) != entry.name.removesuffix(ENDING).partition("-")[2]:
            CONSOLE.print(f"{title}: {entry} is damaged: it is removed from the cache, and built again", markup=False)
            entry.unlink(missing_ok=True)
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with (
            zstd.open(entry) as packed,
            tarfile.open(fileobj=packed, mode="r|") as archive,
        ):
            if hasattr(tarfile, "data_filter"):
                archive.extraction_filter = keep_inside
            archive.extractall(folder)
        CONSOLE.print(f"{title}: {kind}: from the cache", markup=False)
        return True
    return False


def keep_inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """Leave out links to sources, which are beside what was built: no driver needs them."""
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.LinkOutsideDestinationError:
        return None


def find_entries(kind: str, key: str) -> list[Path]:
    place = directory()
    return sorted((place / kind).glob(f"{key}-*{ENDING}")) if place else []


def store(kind: str, key: str, folder: Path, files: Iterable[Path]) -> None:
    """Adds these files of `folder`; what cannot be kept is a sentence, and no failure."""
    place = directory()
    if not place or find_entries(kind, key):
        return
    try:
        with partial(place / kind) as made:
            pack(made, folder, files)
            made.replace(made.with_name(f"{key}-{sha256(made)}{ENDING}"))
    except OSError as error:
        CONSOLE.print(f"MEMTEST_CACHE={place}: {error.strerror}; this build is not kept there", markup=False)


def pack(made: Path, folder: Path, files: Iterable[Path]) -> None:
    with (
        zstd.open(made, "wb") as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        for one in sorted(files):
            archive.add(one, one.relative_to(folder), recursive=False, filter=nobodys)


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same files are the same entry, whoever made them and when."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


@contextmanager
def partial(folder: Path) -> Iterator[Path]:
    """A file that is not there afterwards unless it was renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(prefix="partial-", dir=folder)
    os.close(number)
    os.chmod(name, READABLE)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def library_files(folder: Path) -> Iterator[Path]:
    """Of a library's build directory what somebody may be linked or compiled with: all but objects and a tool's own."""
    left_out = {".o", ".d"}
    for file in folder.rglob("*"):
        tools_own = "CMakeFiles" in file.parts or file.name.startswith(".ninja")
        if (file.is_file() or file.is_symlink()) and file.suffix not in left_out and not tools_own:
            yield file


def restore_source(sum: str, archive: Path, title: str) -> bool:
    """An upstream archive by its SHA-256, into `archive`."""
    place = directory()
    entry = place and place / "sources" / sum
    if not entry or not entry.is_file():
        return False
    if sha256(entry) != sum:
        CONSOLE.print(f"{title}: {entry} is damaged: it is removed from the cache, and fetched again", markup=False)
        entry.unlink(missing_ok=True)
        return False
    shutil.copyfile(entry, archive)
    return True


def store_source(sum: str, archive: Path) -> None:
    place = directory()
    if not place or not archive.is_file() or (place / "sources" / sum).is_file():
        return
    try:
        with partial(place / "sources") as made:
            shutil.copyfile(archive, made)
            made.replace(place / "sources" / sum)
    except OSError as error:
        CONSOLE.print(f"MEMTEST_CACHE={place}: {error.strerror}; {archive.name} is not kept there", markup=False)
