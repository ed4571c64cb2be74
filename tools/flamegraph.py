"""Flamegraphs of a heap profile: a .svg of one moment, drawn by inferno, or a .html of all moments (flame_page.py)."""

import shutil
import subprocess
from pathlib import Path

import choice
import commands
import flame_page
import stamps
from commands import Failed
from definitions import ROOT
from folded import folded, lines
from frames import Owner
from heap_profile import Profile
from profile_diff import Diff

CRATE = ROOT / "tools/flamegraph"
BINARY = ROOT / "build/cargo/release/flamegraph"
SUFFIXES = (".html", ".svg")


def write(
    profile: Profile,
    file: Path | str,
    moment: str | None = None,
    owner: Owner | None = None,
    pattern: choice.Pattern = None,
) -> None:
    """ValueError with a sentence for another suffix, an unknown moment, a pattern that finds nothing; Failed without
    cargo or npm; OSError with the file's name."""
    if suffix(file) == ".html":
        picture = flame_page.page(profile, moment, owner, pattern)
    else:
        name = choice.moment(profile, moment).name
        about = flame_page.heading(profile)
        subtitle = f"{about['subtitle']}; live bytes {choice.when(name)}{f', {owner}' if owner else ''}"
        stacks = folded(profile, name, owner, pattern)
        if not stacks:
            raise ValueError(f"{profile.file}: nothing is live {choice.when(name)}, so there is no picture of it")
        picture = drawn(lines(stacks), about["title"], subtitle, file)
    Path(file).write_text(picture, encoding="utf-8")


def write_diff(diff: Diff, file: Path | str) -> None:
    """As write."""
    if suffix(file) == ".html":
        picture = flame_page.diff_page(diff)
    else:
        subtitle = "red: NEW itself holds more there; blue: NEW holds less; the width is what NEW holds"
        text = "".join(f"{stack} {old} {new}\n" for stack, old, new in sorted(diff.folded()))
        picture = drawn(text, f"OLD: {diff.old.label}, NEW: {diff.new.label}", subtitle, file)
    Path(file).write_text(picture, encoding="utf-8")


def suffix(file: Path | str) -> str:
    if (found := Path(file).suffix.lower()) not in SUFFIXES:
        raise ValueError(f"{file}: a flamegraph is a .svg of one moment or a .html of all: name the file so")
    return found


def drawn(stacks: str, title: str, subtitle: str, file: Path | str) -> str:
    """The SVG."""
    build()
    done = subprocess.run([BINARY, title, subtitle, "bytes"], input=stacks.encode(), capture_output=True)
    if done.returncode:
        raise Failed(f"{file}: not drawn: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def build() -> None:
    """The drawing program, once."""
    sources = [CRATE / name for name in ("Cargo.toml", "Cargo.lock", "src/main.rs")]
    stamp, made_of = BINARY.with_name("flamegraph.stamp"), stamps.contents(sources, ROOT)
    if stamps.holds(stamp, made_of) and BINARY.is_file():
        return
    if not shutil.which("cargo"):
        raise Failed(
            "cargo is not installed, and .svg files are drawn by a crate: see https://rustup.rs, or write a .html"
        )
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", str(CRATE / "Cargo.toml")]
    command += ["--target-dir", str(ROOT / "build/cargo")]
    commands.run(command, ROOT / "build/logs/flamegraph.log", "flamegraph: building what draws it", ROOT)
    stamps.write(stamp, made_of)
