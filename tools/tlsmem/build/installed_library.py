"""A library of the user's own, as it was installed below PREFIX=: what is linked with it, and by what it is known."""

import hashlib
from pathlib import Path

from tlsmem.build.c_stack import BuiltLibrary
from tlsmem.build.commands import BuildFailed
from tlsmem.build.stamps import sha256
from tlsmem.config.definitions import Stack

FOLDERS = ("lib64", "lib")
ENDINGS = (".a", ".so")  # the first that is there: a harness with its library in it does not change when that does


def find_library(name: str, stack: Stack, at: Path | None) -> BuiltLibrary:
    if not at:
        raise BuildFailed(f"{name}: PREFIX=DIRECTORY is missing: where the library that it is linked with is installed")
    include = at / "include"
    if not include.is_dir():
        raise BuildFailed(f"{name}: there is no {include}; PREFIX= is where `make install` put include/ and lib/")
    files = [installed(name, at, library) for library in stack.libraries]
    return BuiltLibrary(
        [f"-I{include}"], [*map(str, files), *loaded(files)], {str(file): sha256(file) for file in files}
    )


def installed(name: str, at: Path, library: str) -> Path:
    candidates = [at / folder / f"{library}{ending}" for folder in FOLDERS for ending in ENDINGS]
    for file in candidates:
        if file.is_file():
            return file
    sought = ", ".join(str(file.relative_to(at)) for file in candidates)
    raise BuildFailed(f"{name}: no {library} below PREFIX={at}; looked for were {sought}")


def loaded(files: list[Path]) -> list[str]:
    """Of shared libraries, where they are, and a build id made of theirs: the harness's own bytes would not tell that
    they are others now."""
    shared = [file for file in files if file.suffix == ".so"]
    if not shared:
        return []
    build_id = hashlib.sha256("".join(map(sha256, shared)).encode()).hexdigest()[:40]
    places = {str(file.parent) for file in shared}
    return [*(f"-Wl,-rpath,{place}" for place in sorted(places)), f"-Wl,--build-id=0x{build_id}"]
