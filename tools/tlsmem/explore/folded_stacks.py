"""Heap profiles for other tools: folded stacks, one line each, and the file that speedscope opens."""

import json
import re
from collections import Counter
from collections.abc import Mapping

from tlsmem.base.printable import printable_text
from tlsmem.explore import profile_selection
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import Frame, format_place
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema.roles import Owner
from tlsmem.tables import render

NO_CALLSTACK = "[no call stack]"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def folded(
    profile: Profile, moment: str, owner: Owner | None = None, pattern: Pattern = None, blocks: bool = False
) -> dict[str, int]:
    """Live bytes by stack, root first, joined by `;`; they add up to what is live. Or blocks, where they are counted.

    Raises PatternNotFound with a sentence when the pattern finds nothing."""
    found: Counter[str] = Counter()
    for stack, held in profile_selection.live_by_stack(profile, moment, owner, pattern).items():
        found[";".join(map(frame_label, reversed(profile.stacks.frames(stack)))) or NO_CALLSTACK] += held[blocks] or 0
    return {stack: size for stack, size in found.items() if size}


def frame_label(frame: Frame) -> str:
    """A name that neither ends a frame nor a line, nor looks like the number that does."""
    text = frame.function or format_place((frame.module or "?").rpartition("/")[2], frame)
    text = printable_text(" ".join(text.replace(";", ":").split())) or "?"
    return re.sub(r" (?=[0-9.]+$)", "_", text)


def lines(stacks: Mapping[str, int]) -> str:
    """As flamegraph.pl, inferno and speedscope read them, in the order of their names."""
    return "".join(f"{stack} {size}\n" for stack, size in sorted(stacks.items()))


def speedscope(profile: Profile, shown: str, owner: Owner | None = None, pattern: Pattern = None) -> str:
    """JSON: every moment that has something is a profile, of bytes, and `shown` is what is seen first.

    Raises PatternNotFound with a sentence when the pattern finds nothing at any moment."""
    frames: dict[Frame, int] = {}
    made = [speedscope_profile(profile, name, owner, pattern, frames) for name in profile.moments]
    if not any(one["weights"] for one in made):
        profile_selection.live_by_stack(profile, shown, owner, pattern)  # says so when it is the pattern's fault
    written = {
        "$schema": SCHEMA,
        "exporter": "tls-memtest",
        "name": profile.file,
        "activeProfileIndex": list(profile.moments).index(shown),
        "shared": {"frames": [speedscope_frame(frame) for frame in frames]},
        "profiles": made,
    }
    return render.escape_control_characters(json.dumps(written, ensure_ascii=False)) + "\n"


def speedscope_profile(
    profile: Profile, name: str, owner: Owner | None, pattern: Pattern, frames: dict[Frame, int]
) -> dict[str, object]:
    """One moment; `frames` are numbered as they are met."""
    live = profile_selection.filter_stacks(profile.stacks, profile.live(name, owner), pattern)
    stacks = [stack for stack, held in live.items() if held.bytes > 0]
    nobody = (Frame(NO_CALLSTACK, None, None, None, None),)
    samples = [
        [frames.setdefault(frame, len(frames)) for frame in reversed(profile.stacks.frames(stack) or nobody)]
        for stack in stacks
    ]
    weights = [live[stack].bytes for stack in stacks]
    kind = {"type": "sampled", "name": name, "unit": "bytes", "startValue": 0, "endValue": sum(weights)}
    return kind | {"samples": samples, "weights": weights}


def speedscope_frame(frame: Frame) -> dict[str, str | int]:
    """What is not known is left out."""
    places = {"file": frame.file or frame.module, "line": frame.line}
    return {"name": frame.function or frame_label(frame)} | {key: value for key, value in places.items() if value}
