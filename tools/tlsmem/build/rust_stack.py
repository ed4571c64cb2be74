"""The harness of a stack written in Rust: cargo builds it, and the C inside it, with the flags of all."""

import os
import shlex
import shutil
from pathlib import Path

from tlsmem.build import commands, compiler_flags, shared_resources, stamps, tree_manifest
from tlsmem.config.definitions import Stack, TreeStack


def inputs(stack: Stack, root: Path) -> dict[str, str]:
    """Every source that cargo may read of ours; what it fetches is pinned by the lockfile among them."""
    places = {root / "harness-rust", (root / stack.manifest).parent}
    files = [place.glob(pattern) for place in places for pattern in ("*.toml", "*.lock", "*.rs", "src/**/*.rs")]
    return stamps.contents({file for found in files for file in found}, root)


def build(name: str, stack: Stack, binary: Path, root: Path, log: Path) -> None:
    if not isinstance(stack, TreeStack):
        target = root / "build/stacks" / name
        make(name, stack, ["--locked"], root / stack.manifest, target, binary, root, log)
        return
    target = root / "build/trees/cargo" / name.partition("@")[0]  # of all trees: what they stand on is the same
    with shared_resources.alone(root / "build/locks" / f"{target.name}.cargo", name):
        make(name, stack, [], tree_manifest.make(name, stack, root), target, binary, root, log)


def make(
    name: str, stack: Stack, locked: list[str], manifest: Path, target: Path, binary: Path, root: Path, log: Path
) -> None:
    features = ["--features", ",".join(stack.features)] if stack.features else []
    command = [
        *("cargo", "build", "--release", *locked, "--manifest-path", str(manifest), *features),
        *("--bin", stack.binary, "--target-dir", str(target), "--jobs", str(shared_resources.jobs())),
    ]
    rust, c = with_paths(str(root), os.environ.get("CARGO_HOME") or str(Path.home() / ".cargo"))
    more = {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(rust),
        "CFLAGS": shlex.join(c),
        "CC_SHELL_ESCAPED_FLAGS": "1",
        "MEMTEST_CORE": str(root / "build/core"),
    }
    commands.run(command, log, f"{name}: cargo build", root, **more)
    shutil.copy2(target / "release" / stack.binary, binary)


def with_paths(clone: str, cargo_home: str) -> tuple[list[str], list[str]]:
    """The flags of rustc and of gcc: a binary names neither place. The last that matches counts."""
    maps = f"{clone}=.", f"{cargo_home}=cargo"
    rust = [*shlex.split(compiler_flags.RUSTFLAGS), *(f"--remap-path-prefix={it}" for it in maps)]
    return rust, [*shlex.split(compiler_flags.CFLAGS), *(f"-ffile-prefix-map={it}" for it in maps)]


def compiled() -> dict[str, str]:
    """By what, and with which flags: the same in every clone and on every machine."""
    rust, c = map(" ".join, with_paths("CLONE", "CARGO_HOME"))
    said = f"RUSTFLAGS={shlex.quote(rust)} CFLAGS={shlex.quote(c)}"
    return {"compiler": f"{compiler_flags.rustc()}, {compiler_flags.version('gcc')}", "flags": said}
