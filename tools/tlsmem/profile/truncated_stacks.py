"""Whether valgrind was told to end call stacks before they reach main: then nobody knows whose the memory is."""

from tlsmem.profile import unnamed_functions
from tlsmem.profile.heap_profile import Profile, Stacks, called

TOO_MUCH = 0.1  # of the bytes of the moment
FEW = 3  # stacks: by chance as deep as the deepest
OUTERMOST = {"main", "(below main)", "_start", "_dl_start", "start_thread", "clone", "clone3", None}
OPTIONS = {"dhat": "--num-callers=128", "massif": "--depth=100"}


def warnings(profile: Profile) -> list[str]:
    """A sentence when more than TOO_MUCH of the bytes at the peak are of call stacks that end as the deepest does, and
    not where a program or a thread begins; none else."""
    moment = unnamed_functions.fullest(profile)
    depths = {stack: depth(profile.stacks, stack) for stack in (moment.live if moment else ())}
    deepest = max(depths.values(), default=0)
    ended = [
        stack for stack in depths if depths[stack] == deepest and outermost(profile.stacks, stack) not in OUTERMOST
    ]
    held = sum(moment.live[stack].bytes for stack in ended)
    if len(ended) <= FEW or held <= TOO_MUCH * moment.bytes:
        return []
    share = f"{held / moment.bytes:.0%} of the bytes at {moment.name} have call stacks that end after {deepest} calls"
    return [f"{share}, before main: run {called(profile.tool)} with {OPTIONS[profile.tool]}"]


def depth(stacks: Stacks, stack: int) -> int:
    """Calls, without those that were inlined."""
    return sum(1 for _ in stacks.walk(stack))


def outermost(stacks: Stacks, stack: int) -> str | None:
    frames = stacks.frames(stack)
    return frames[-1].function if frames else None
