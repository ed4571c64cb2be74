"""How much of a profile cannot be attributed: functions without a name, and call stacks that end before main."""

import posixpath
from collections import Counter
from collections.abc import Iterable

from tlsmem.profile.frames import Frame, is_allocator_frame
from tlsmem.profile.heap_profile import END, PEAK, CallstackTree, Moment, Profile

TOO_MUCH = 0.1  # of the bytes of the moment
NAMED = 3  # modules
ADVICE = "build it with -g1 -fno-omit-frame-pointer, or install its -dbgsym package of Debian"
OPENSSL_ADVICE = (
    "build it with -g1 -fno-omit-frame-pointer, install its -dbgsym package of Debian, or profile a stack that is "
    "built from source (openssl@3.5.5 for openssl@system)"
)
OPENSSL = ("libssl.so", "libcrypto.so")
RUST_ADVICE = "build it with `debug = 1` in [profile.release] of Cargo.toml, and do not strip it"


def unnamed_function_warnings(profile: Profile) -> list[str]:
    """A sentence when more than TOO_MUCH of the bytes at the peak were asked for by functions without a name; none
    else. Of a profile without a peak, at its end; or where most is live."""
    moment = fullest_moment(profile)
    if not moment:
        return []
    held = by_module(profile, moment)
    if held.total() <= TOO_MUCH * max(moment.bytes, 1):
        return []
    modules = [f"{module} ({share / moment.bytes:.0%})" for module, share in held.most_common(NAMED)]
    modules += ["others"] * (len(held) > NAMED)
    share = f"{held.total() / moment.bytes:.0%} of the bytes at {moment.name}"
    return [f"no names for the functions that hold {share}, in {', '.join(modules)}: {how_to_name(profile, held)}"]


def how_to_name(profile: Profile, modules: Iterable[str]) -> str:
    """Return how functions of these modules get names, in the language of the program where the tool tells it."""
    if (profile.mode or "").startswith(RUST):
        return RUST_ADVICE
    return OPENSSL_ADVICE if any(module.startswith(OPENSSL) for module in modules) else ADVICE


def fullest_moment(profile: Profile) -> Moment | None:
    for name in (PEAK, END):
        if name in profile.moments:
            return profile.moments[name]
    return max(profile.moments.values(), key=lambda moment: moment.bytes, default=None)


def by_module(profile: Profile, moment: Moment) -> Counter[str]:
    """Bytes of the stacks whose first frame that is no allocator's has no name, without heaptrack's own: it brings
    libstdc++, which allocates a pool as it is loaded."""
    held: Counter[str] = Counter()
    for stack, live in moment.live.items():
        frame = first_caller(profile.stacks, stack)
        if frame is None or frame.function is not None:
            continue
        module = posixpath.basename(frame.module or "no module")
        if not (profile.tool == "heaptrack" and module.startswith("libstdc++.")):
            held[module] += live.bytes
    return held


def first_caller(stacks: CallstackTree, stack: int) -> Frame | None:
    """As frames.callers() tells it, without reading a whole stack: there may be millions."""
    inner = None
    for place in stacks.walk(stack):
        for frame in stacks.places[place]:
            if not is_allocator_frame(frame):
                return frame
            inner = inner or frame
    return inner


RUST = "rust"  # begins the mode of a profile that a crate wrote
RUST_LONGER = "call trim_backtraces(None) on dhat::Profiler::builder()"
FEW = 3  # stacks: by chance as deep as the deepest
HEAPTRACK_FRAMES = 60  # it records 64, some of them its own; a shorter stack was not ended by it
OUTERMOST = {"main", "(below main)", "_start", "_dl_start", "start_thread", "clone", "clone3", None}
LONGER = {
    "dhat": "run DHAT with --num-callers=128",
    "massif": "run massif with --depth=100",
    "heaptrack": "heaptrack records 64 frames at most; massif with --depth=100 and DHAT with --num-callers=128 more",
}


def truncated_stack_warnings(profile: Profile) -> list[str]:
    """A sentence when more than TOO_MUCH of the bytes at the peak are of call stacks that end as the deepest does, and
    not where a program or a thread begins; none else."""
    moment = fullest_moment(profile)
    if not moment:
        return []
    depths = {stack: depth(profile.stacks, stack) for stack in moment.live}
    deepest = max(depths.values(), default=0)
    ended = [
        stack for stack in depths if depths[stack] == deepest and not is_outermost(outermost(profile.stacks, stack))
    ]
    held = sum(moment.live[stack].bytes for stack in ended)
    is_chance = deepest < HEAPTRACK_FRAMES if profile.tool == "heaptrack" else len(ended) <= FEW
    if is_chance or held <= TOO_MUCH * moment.bytes:
        return []
    share = f"{held / moment.bytes:.0%} of the bytes at {moment.name} have call stacks that end after {deepest} calls"
    return [f"{share}, before main: {how_to_lengthen(profile)}"]


def how_to_lengthen(profile: Profile) -> str:
    """Return how its tool records longer call stacks."""
    return RUST_LONGER if (profile.mode or "").startswith(RUST) else LONGER[profile.tool]


def depth(stacks: CallstackTree, stack: int) -> int:
    """Calls, without those that were inlined."""
    found, nodes = 0, stacks.nodes
    while stack:  # not by walk(): there may be millions
        found, stack = found + 1, nodes[stack][1]
    return found


def is_outermost(function: str | None) -> bool:
    """Whether a program or a thread begins there; Rust's main has its crate before it."""
    return function in OUTERMOST or (function or "").endswith("::main")


def outermost(stacks: CallstackTree, stack: int) -> str | None:
    frames = stacks.frames(stack)
    return frames[-1].function if frames else None
