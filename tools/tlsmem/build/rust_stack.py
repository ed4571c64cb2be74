"""The harness of a stack in Rust: cargo builds it and the C inside it; a user's rustls tree gets its own manifest."""

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

from tlsmem.build import commands, compiler_flags, shared_resources, sources, stamps
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import SOURCES_FOLDER, Stack, TreeStack, tree_place
from tlsmem.config.toml_tables import parse_toml


def write_manifest(name: str, stack: TreeStack, root: Path) -> Path:
    """The manifest, beside a lock file in which cargo changes what it must. Its files are those of harness-rust/."""
    ours = root / stack.manifest_target.manifest
    crates = packages(sources.source_tree(stack.source, root / "build" / SOURCES_FOLDER))
    text = ours.read_text().replace('"../', f'"{ours.parent.parent}/')
    for crate, (_, version) in crates.items():
        text = re.sub(rf'(?m)^({re.escape(crate)} = \{{ version = )"[^"]*"', rf'\1"={version}"', text)
    patches = "".join(f'{crate} = {{ path = "{place}" }}\n' for crate, (place, _) in crates.items())
    folder = tree_place(root / "build", stack.source.tree) / name.partition("@")[0]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ours.with_name("Cargo.lock"), folder / "Cargo.lock")
    made = folder / "Cargo.toml"
    made.write_text(f"{text}\n[patch.crates-io]\n{patches}")
    return made


def packages(tree: Path) -> dict[str, tuple[Path, str]]:
    """rustls and what is released with it: the places of these crates, and their versions."""
    found = {}
    for manifest in (tree / "Cargo.toml", *sorted(tree.glob("rustls*/Cargo.toml"))):
        package = read(manifest).get("package", {}) if manifest.is_file() else {}
        crate, version = package.get("name", ""), package.get("version")
        if crate.split("-")[0] == "rustls" and package.get("publish") is not False:
            if not isinstance(version, str):  # the workspace's
                version = read(tree / "Cargo.toml").get("workspace", {}).get("package", {}).get("version", "")
            found[crate] = manifest.parent, version
    return found


def read(manifest: Path) -> dict[str, Any]:
    try:
        return parse_toml(manifest.read_bytes())
    except (OSError, ValueError) as error:
        raise BuildFailed(f"{manifest}: {error}") from None


def hash_inputs(stack: Stack, root: Path) -> dict[str, str]:
    """Every source that cargo may read of ours; what it fetches is pinned by the lockfile among them."""
    places = {root / "harness-rust", (root / stack.manifest_target.manifest).parent}
    files = [place.glob(pattern) for place in places for pattern in ("*.toml", "*.lock", "*.rs", "src/**/*.rs")]
    return stamps.hash_files({file for found in files for file in found}, root)


def build(name: str, stack: Stack, binary: Path, root: Path, log: Path) -> None:
    if not isinstance(stack, TreeStack):
        target = root / "build/stacks" / name
        make(name, stack, ["--locked"], root / stack.manifest_target.manifest, target, binary, root, log)
        return
    target = root / "build/trees/cargo" / name.partition("@")[0]  # of all trees: what they stand on is the same
    with shared_resources.alone(root / "build/locks" / f"{target.name}.cargo", name):
        make(name, stack, [], write_manifest(name, stack, root), target, binary, root, log)


def make(
    name: str, stack: Stack, locked: list[str], manifest: Path, target: Path, binary: Path, root: Path, log: Path
) -> None:
    program = stack.manifest_target.binary
    features = ["--features", ",".join(stack.features)] if stack.features else []
    command = [
        *("cargo", "build", "--release", *locked, "--manifest-path", str(manifest), *features),
        *("--bin", program, "--target-dir", str(target)),
    ]
    rust, c = with_paths(str(root), os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"))
    more = {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(rust),
        "CFLAGS": shlex.join(c),
        "CC_SHELL_ESCAPED_FLAGS": "1",
        "MEMTEST_CORE": str(root / "build/core"),
    }
    commands.run(command, log, f"{name}: cargo build", root, more=more)
    shutil.copy2(target / "release" / program, binary)


def with_paths(clone: str, cargo_home: str) -> tuple[list[str], list[str]]:
    """The flags of rustc and of gcc: a binary names neither place. The last that matches counts."""
    maps = f"{clone}=.", f"{cargo_home}=cargo"
    rust = [*shlex.split(compiler_flags.RUSTFLAGS), *(f"--remap-path-prefix={it}" for it in maps)]
    return rust, [*shlex.split(compiler_flags.CFLAGS), *(f"-ffile-prefix-map={it}" for it in maps)]


def toolchain_record(_root: Path, _manifest: str) -> dict[str, str]:
    """By what, and with which flags: the same in every clone and on every machine."""
    rust, c = map(" ".join, with_paths("CLONE", "CARGO_HOME"))
    said = f"RUSTFLAGS={shlex.quote(rust)} CFLAGS={shlex.quote(c)}"
    return {"compiler": f"{compiler_flags.rustc()}, {compiler_flags.compiler_version('gcc')}", "flags": said}
