"""One stack's harness: build/harness/STACK with its manifest STACK.json. What has not changed is kept.

Its library is made here, or is one of the user's own, as it was installed below PREFIX=."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Protocol

from tlsmem.base.paths import ROOT
from tlsmem.build import (
    c_stack,
    cache,
    compiler_flags,
    go_stack,
    rust_stack,
    shared_resources,
    sources,
    stamps,
    system_packages,
)
from tlsmem.build.c_stack import BuiltLibrary
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.build.stamps import sha256
from tlsmem.config.definitions import Stack

FOLDERS = ("lib64", "lib")
ENDINGS = (".a", ".so")  # the first that is there: a harness with its library in it does not change when that does
KEPT, CACHED, BUILT = "up to date", "from the cache", "built"


def build(name: str, stack: Stack, root: Path = ROOT, at: Path | None = None) -> str:
    """Return KEPT, CACHED or BUILT; `at` is PREFIX=. Raises BuildFailed or ValueError with a sentence, and then leaves
    no harness."""
    folder = root / "build/harness"
    folder.mkdir(parents=True, exist_ok=True)
    why_not = folder / f"{name}.unavailable"
    with shared_resources.alone(root / "build/locks" / name, name):
        try:
            why_not.unlink(missing_ok=True)
            return Harness(name, stack, root, at).build()
        except (BuildFailed, ValueError) as error:
            for old in (".stamp", ".json"):
                (folder / f"{name}{old}").unlink(missing_ok=True)
            if isinstance(error, Unavailable):
                why_not.write_text(f"{str(error).removeprefix(f'{name}: ')}\n")
            raise


class Builder(Protocol):
    """A module that builds a harness in one piece, library and all."""

    def hash_inputs(self, stack: Stack, root: Path, /) -> dict[str, str]: ...

    def build(self, name: str, stack: Stack, binary: Path, root: Path, log: Path, /) -> None: ...

    def toolchain_record(self, root: Path, manifest: str, /) -> dict[str, str]: ...


BUILDERS: dict[str, Builder] = {"rust": rust_stack, "go": go_stack}


class Harness:
    """What is made, and where."""

    def __init__(self, name: str, stack: Stack, root: Path, at: Path | None) -> None:
        self.name, self.stack, self.root, self.at = name, stack, root, at
        self.folder, self.log = root / "build/harness", root / "build/logs" / f"{name}.log"
        self.binary, self.manifest, self.stamp = (self.folder / f"{name}{end}" for end in ("", ".json", ".stamp"))

    def build(self) -> str:
        self.log.unlink(missing_ok=True)
        system_packages.require_packages([self.stack.compiler])
        library = self.library() if self.stack.harness == "c" else None
        made_of = self.describe_ingredients(library)
        key = cache.entry_key(self.name, made_of)
        made = KEPT
        if not (stamps.is_current(self.stamp, made_of) and self.binary.is_file() and self.manifest.is_file()):
            for old in (self.stamp, self.manifest):  # from here on until the end, there is no harness
                old.unlink(missing_ok=True)
            made = self.make(library, key)
            self.manifest.write_text(json.dumps(self.manifest_fields(), indent=1) + "\n")
            stamps.write_stamp(self.stamp, made_of)
        cache.store("harness", key, self.folder, [self.binary])
        return made

    def make(self, library: c_stack.BuiltLibrary | None, key: str) -> str:
        """The binary, of the cache when it is there."""
        with tempfile.TemporaryDirectory(prefix=f"{self.name}.", dir=self.folder) as made:
            partial = Path(made) / self.name
            cached = cache.restore("harness", key, partial.parent, self.name)
            if not cached and library:
                c_stack.link(self.name, self.stack, library, partial, self.root, self.log)
            elif not cached:
                BUILDERS[self.stack.harness].build(self.name, self.stack, partial, self.root, self.log)
            partial.replace(self.binary)
        return CACHED if cached or (library and self.stack.source and not library.made) else BUILT

    def library(self) -> c_stack.BuiltLibrary:
        if self.stack.prefix:
            return find_library(self.name, self.stack, self.at)
        return c_stack.provide_library(self.name, self.stack, self.root, self.log)

    def describe_ingredients(self, library: c_stack.BuiltLibrary | None) -> dict[str, object]:
        core = [self.root / "build/core/libmemtest.a", *(self.root / "memtest").glob("*.h")]
        core.append(self.root / c_stack.WRAPPED_FLAGS)
        if library:
            families = (self.root / "harness-c/families").glob("*.h") if self.stack.family else ()
            ours = [self.root / "harness-c/main.c", *c_stack.driver_files(self.stack, self.root), *families]
            made: dict[str, object] = {
                "library": library.identity,
                "driver": compiler_flags.driver_cflags(self.stack.compiler),
            }
        else:
            ours, made = [], {"sources": BUILDERS[self.stack.harness].hash_inputs(self.stack, self.root)}
        files = stamps.hash_files([*core, *ours], self.root)
        return made | self.compiled() | {"table": self.stack.how_built, "files": files}

    def compiled(self) -> dict[str, str]:
        """By what and how: the part that a manifest repeats."""
        if self.stack.harness != "c":
            return BUILDERS[self.stack.harness].toolchain_record(self.root, self.stack.manifest_target.manifest)
        said = (compiler_flags.cflags if self.stack.source else compiler_flags.driver_cflags)(self.stack.compiler)
        return {"compiler": compiler_flags.compiler_version(self.stack.compiler), "flags": said}

    def manifest_fields(self) -> dict[str, object]:
        """What the manifest of the built harness says."""
        source = {"prefix": str(self.at)} if self.stack.prefix else sources.source_fields(self.stack.source)
        made: dict[str, object] = {"stack": self.name, "binary_sha256": sha256(self.binary), "source": source}
        return made | self.compiled() | {"licence": self.stack.licence}


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
