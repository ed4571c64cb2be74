"""Flamegraphs of a heap profile: a .svg of one moment, drawn by inferno, or a .html of all (profile_page.py)."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tlsmem.base.paths import PACKAGE, ROOT
from tlsmem.base.printable import printable_text
from tlsmem.base.repository import require_clone
from tlsmem.build import commands, stamps
from tlsmem.build.commands import BuildFailed
from tlsmem.build.shared_resources import hold_lock
from tlsmem.config.choices import flamegraph_suffix
from tlsmem.explore import profile_output, profile_selection
from tlsmem.explore.diff.profile_diff import Diff
from tlsmem.explore.flamegraph import call_tree, profile_page
from tlsmem.explore.folded_stacks import frame_label
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import LiveHeap, Profile, add_live
from tlsmem.schema.roles import Owner

CRATE = PACKAGE / "explore/flamegraph/svg"
BINARY = ROOT / "build/cargo/release/flamegraph"


def write(
    profile: Profile,
    file: Path | str,
    moment: str | None = None,
    owner: Owner | None = None,
    pattern: profile_selection.Pattern = None,
) -> None:
    """Raises ValueError with a sentence for another suffix, an unknown moment, a pattern that finds nothing;
    BuildFailed without cargo or npm; OSError with the file's name."""
    if flamegraph_suffix(file) == ".html":
        picture = profile_page.page(profile, moment, owner, pattern)
    else:
        picture = moment_svg(profile, profile_selection.select_moment(profile, moment).name, owner, pattern)
    profile_output.write_text(picture, str(file))


def write_diff(diff: Diff, file: Path | str) -> None:
    """As write."""
    picture = profile_page.diff_page(diff) if flamegraph_suffix(file) == ".html" else diff_svg(diff)
    profile_output.write_text(picture, str(file))


def moment_svg(profile: Profile, name: str, owner: Owner | None, pattern: profile_selection.Pattern) -> str:
    tree = call_tree.tree_from_profile(profile, profile_selection.live_by_stack(profile, name, owner, pattern))
    sizes = ((stack, held.get(name)) for stack, held in folded(tree, [*profile.moments]))
    lines = [f"{stack} {held.bytes}" for stack, held in sizes if held and held.bytes]
    if not lines:
        raise ValueError(
            f"{profile.file}: nothing is live {profile_selection.describe_moment(name)}, so there is no picture of it"
        )
    about = profile_page.heading(profile)
    subtitle = f"{about['subtitle']}; live bytes {profile_page.describe_moment(name)}{f', {owner}' if owner else ''}"
    return render_svg(lines, about["title"], subtitle)


def diff_svg(diff: Diff) -> str:
    """Widths are the larger of both, which inferno takes to be the second: what NEW no longer has is seen too."""
    lines = []
    tree = call_tree.tree_from_diff(diff)
    stacks = folded_purposes(tree) if tree.known else folded(tree, profile_page.DIFF_MOMENTS)
    for stack, held in stacks:
        old, new = (held[side].bytes if side in held else 0 for side in profile_page.DIFF_MOMENTS[:2])
        lines.append(f"{stack} {max(old, new) + old - new} {max(old, new)}")
    if not lines:
        raise ValueError("neither OLD nor NEW holds anything then, so there is no picture of what changed")
    title = ", ".join(filter(None, [profile_page.diff_title(diff), profile_page.diff_suite(diff)]))
    of = ", ".join(profile_page.moment_and_role(diff))
    colours = f"{profile_page.describe_shared(diff)}; " if tree.known else ""
    colours += "red: NEW itself holds more there; blue: NEW holds less; the width is the larger of OLD and NEW"
    return render_svg(lines, title, f"live bytes {of}; {colours}")


def folded(tree: call_tree.CallTree, moments: Sequence[str]) -> Iterator[tuple[str, dict[str, LiveHeap]]]:
    """Functions, root first, joined by `;`, and what each itself holds, by moment."""
    names = [frame_label(Frame(key[0], None, None, None, None)) for key in tree.keys]
    for node in range(1, len(tree.keys)):
        if tree.held[node]:
            text = ";".join(names[at] for at in reversed([*path(tree, node)]))
            yield text, {moments[at]: held for at, held in tree.held[node].items()}


def folded_purposes(tree: call_tree.CallTree) -> Iterator[tuple[str, dict[str, LiveHeap]]]:
    """Of a difference by purpose: owner and bucket, joined by `;`, and what they hold, by moment."""
    sums: dict[str, dict[str, LiveHeap]] = {}
    for node in range(1, len(tree.keys)):
        *_, owner = path(tree, node)
        held = sums.setdefault(";".join(filter(None, [tree.keys[owner][0], tree.buckets[node]])), {})
        for at, size in tree.held[node].items():
            name = profile_page.DIFF_MOMENTS[at]
            held[name] = add_live(held.get(name, LiveHeap(0, 0)), size)
    yield from ((stack, held) for stack, held in sums.items() if held)


def path(tree: call_tree.CallTree, node: int) -> Iterator[int]:
    """Up to the first level."""
    while node:
        yield node
        node = tree.callers[node]


def render_svg(lines: Iterable[str], title: str, subtitle: str) -> str:
    """The SVG."""
    build()
    with open(os.memfd_create("stacks"), "wb+") as stacks:  # no pipe: what breaks it early would end this command
        stacks.write("\n".join(sorted(lines)).encode())
        stacks.seek(0)
        done = subprocess.run(
            [BINARY, printable_text(title), printable_text(subtitle), "bytes"], stdin=stacks, capture_output=True
        )
    if done.returncode:
        raise BuildFailed(f"not drawn: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def build() -> None:
    """The drawing program, once. Raises Usage outside a clone."""
    require_clone("a flamegraph")
    sources = [CRATE / name for name in ("Cargo.toml", "Cargo.lock", "src/main.rs")]
    stamp, made_of = BINARY.with_name("flamegraph.stamp"), stamps.hash_files(sources, ROOT)
    if stamps.is_current(stamp, made_of) and BINARY.is_file():
        return
    if not shutil.which("cargo"):
        raise BuildFailed(
            "cargo is not installed, and .svg files are drawn by a crate: see https://rustup.rs, or write a .html"
        )
    command = ["cargo", "build", "--release", "--locked", "--manifest-path", str(CRATE / "Cargo.toml")]
    command += ["--target-dir", str(ROOT / "build/cargo")]
    with hold_lock(ROOT / "build/flamegraph.lock"):
        if not (stamps.is_current(stamp, made_of) and BINARY.is_file()):
            commands.run(command, ROOT / "build/logs/flamegraph.log", "flamegraph: building what draws it", ROOT)
            stamps.write_stamp(stamp, made_of)
