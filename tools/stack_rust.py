"""The harness of a stack written in Rust: cargo builds it, and the C inside it, with the flags of all."""

import shlex
import shutil
from pathlib import Path

import commands
import flags
import stamps
from definitions import Stack


def inputs(stack: Stack, root: Path) -> dict[str, str]:
    """Every source that cargo may read of ours; what it fetches is pinned by the lockfile among them."""
    places = {root / "harness-rust", (root / stack.manifest).parent}
    files = [place.glob(pattern) for place in places for pattern in ("*.toml", "*.lock", "*.rs", "src/**/*.rs")]
    return stamps.contents({file for found in files for file in found}, root)


def build(name: str, stack: Stack, binary: Path, root: Path, log: Path) -> None:
    target = root / "build/stacks" / name
    features = ["--features", ",".join(stack.features)] if stack.features else []
    command = [
        *("cargo", "build", "--release", "--locked", "--manifest-path", str(root / stack.manifest), *features),
        *("--bin", stack.binary, "--target-dir", str(target)),
    ]
    more = {"RUSTFLAGS": flags.RUSTFLAGS, "CFLAGS": flags.CFLAGS, "MEMTEST_CORE": str(root / "build/core")}
    commands.run(command, log, f"{name}: cargo build", root, **more)
    shutil.copy2(target / "release" / stack.binary, binary)


def flags_said() -> str:
    return f"RUSTFLAGS={shlex.quote(flags.RUSTFLAGS)} CFLAGS={shlex.quote(flags.CFLAGS)}"
