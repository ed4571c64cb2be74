"""How much of a profile is held by functions without a name, and how to get them one."""

from collections import Counter
from pathlib import PurePath

from frames import Frame, callers
from heap_profile import END, PEAK, Moment, Profile

TOO_MUCH = 0.1  # of the bytes of the moment
NAMED = 3  # modules
ADVICE = (
    "build it with -g1 -fno-omit-frame-pointer, install its -dbgsym package of Debian, or profile a stack that is "
    "built from source (openssl@3.5.5 for openssl@system)"
)


def warnings(profile: Profile) -> list[str]:
    """A sentence when more than TOO_MUCH of the bytes at the peak were asked for by functions without a name; none
    else. Of a profile without a peak, at its end; or where most is live."""
    moment = fullest(profile)
    held = by_module(profile, moment) if moment else Counter()
    if not moment or held.total() <= TOO_MUCH * max(moment.bytes, 1):
        return []
    modules = [f"{module} ({share / moment.bytes:.0%})" for module, share in held.most_common(NAMED)]
    modules += ["others"] * (len(held) > NAMED)
    share = f"{held.total() / moment.bytes:.0%} of the bytes at {moment.name}"
    return [f"{profile.file}: no names for the functions that hold {share}, in {', '.join(modules)}: {ADVICE}"]


def fullest(profile: Profile) -> Moment | None:
    found = [profile.moments[name] for name in (PEAK, END) if name in profile.moments]
    return (found or sorted(profile.moments.values(), key=lambda moment: -moment.bytes) or [None])[0]


def by_module(profile: Profile, moment: Moment) -> Counter[str]:
    """Bytes of the stacks whose first frame that is no allocator's has no name."""
    held: Counter[str] = Counter()
    for stack, live in moment.live.items():
        inner = callers(profile.stacks.frames(stack))[:1]
        if inner and inner[0].function is None:
            held[named(inner[0])] += live.bytes
    return held


def named(frame: Frame) -> str:
    return PurePath(frame.module).name if frame.module else "no module"
