"""A manifest of harness-rust/ for a rustls of a tree: cargo takes its crates from there, and the rest as locked."""

import re
import shutil
import tomllib
from pathlib import Path

from tlsmem.build import sources
from tlsmem.build.commands import Failed
from tlsmem.config.definitions import SOURCES, TreeStack, tree_place


def make(name: str, stack: TreeStack, root: Path) -> Path:
    """The manifest, beside a lock file in which cargo changes what it must. Its files are those of harness-rust/."""
    ours = root / stack.manifest
    crates = packages(sources.tree(stack.source, root / "build" / SOURCES))
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


def read(manifest: Path) -> dict:
    try:
        return tomllib.loads(manifest.read_text())
    except (OSError, ValueError) as error:
        raise Failed(f"{manifest}: {error}") from None
