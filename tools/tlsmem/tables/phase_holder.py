"""Who holds most of what a role's sessions allocated in one phase: a function of a sites run, and its bytes;
and who holds what is in a bucket."""

from collections import Counter
from functools import partial
from typing import NamedTuple

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import Rule
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame, format_frame, skip_containers
from tlsmem.profile.heap_profile import CallstackTree
from tlsmem.schema.roles import Role
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import phase_of
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell


class Holder(NamedTuple):
    """A function outside the library's own containers, and the bytes of one session's live blocks that it allocated."""

    frame: Frame
    bytes: int


def find_holder(run: Record, owner: str | None, phase: str) -> Holder | Missing:
    """Return who allocated most of the blocks of one session, or context, that are of a phase and live at its end."""
    held = sum_by_function(run, owner, phase, since=phase)
    return max(held.values(), key=lambda one: one.bytes, default=Missing(f"nothing allocated in `{phase}` is live"))


def find_increase(more: Record, less: Record, owner: str, phase: str) -> Holder | Missing:
    """Return whose live blocks at the end of a phase are so much larger in one run than in another: most of it."""
    before, none = sum_by_function(less, owner, phase), Missing("no function holds more")
    grown = [
        one._replace(bytes=one.bytes - (before[name].bytes if name in before else 0))
        for name, one in sum_by_function(more, owner, phase).items()
    ]
    return max((one for one in grown if one.bytes > 0), key=lambda one: one.bytes, default=none)


def sum_by_function(run: Record, owner: str | None, phase: str, since: str | None = None) -> dict[str, Holder]:
    """Return what each function allocated of the blocks that are live at the end of a phase; or only since another.

    Cached by the record and by code."""

    def make() -> dict[str, tuple[Frame, int]]:
        return {name: (one.frame, one.bytes) for name, one in add_by_function(run, owner, phase, since).items()}

    code = digest_code(("tables/phase_holder.py",))
    found = memo.recall("live bytes by function", [run.digest, owner, phase, since], code, make)
    return {name: Holder(Frame(*frame), size) for name, (frame, size) in found.items()}


def add_by_function(run: Record, owner: str | None, phase: str, since: str | None) -> dict[str, Holder]:
    """Return what `sum_by_function` does, from the call stacks of the record."""
    recorded, sites, held = run.sites, phase_of(run, phase).sites, dict[str, Holder]()
    assert recorded and sites  # a measured sites run has them
    stacks, every = CallstackTree(), sites.live
    numbers = sites_reader.add_stacks(recorded, stacks, {live.stack for live in every})
    for live in every:
        if since in (None, live.since) and live.role == owner:
            frame = skip_containers(stacks.frames(numbers[live.stack]))[0]
            name = frame.function or format_frame(frame, whole=True)
            before = held.get(name, Holder(frame, 0))
            held[name] = before._replace(bytes=before.bytes + live.bytes)
    return held


def holder_cell(holder: Holder) -> Cell:
    """The function; with its whole place in the library's source for programs."""
    return Cell(
        f"{format_frame(holder.frame, whole=False)}, {holder.bytes:,} B", format_frame(holder.frame, whole=True)
    )


def find_bucket_holder(run: Record, role: Role, phase: str, bucket: str) -> Holder | Missing:
    """Return the function below which most of the bucket's live bytes of one session were allocated, and the bytes of
    the whole bucket. Cached as `sum_by_function` is."""
    code = digest_code(("tables/phase_holder.py",))
    compute = partial(largest_of_bucket, run, role, phase, bucket)
    found = memo.recall("holder of a bucket", [run.digest, role, phase, bucket], code, compute)
    return Holder(Frame(*found[0]), found[1]) if found else Missing(f"no live bytes in the bucket {bucket}")


def largest_of_bucket(run: Record, role: Role, phase: str, bucket: str) -> Holder | None:
    """Return what `find_bucket_holder` does, from the call stacks of the record; None without live bytes."""
    profile = sites_reader.profile_from_record(run)
    sums, held = BucketSums(profile), Counter[Frame]()
    for stack, live in profile.live_of_sessions(phase, role).items():
        rule = sums.rule(stack)
        if rule and rule.bucket == bucket:
            held[find_known_frame(profile.stacks.frames(stack), rule)] += live.bytes
    if not held:
        return None
    ((frame, _),) = held.most_common(1)
    return Holder(frame, round(sums.each(sums.live_by_bucket(phase, role)[bucket])))


def find_known_frame(frames: tuple[Frame, ...], rule: Rule) -> Frame:
    """Return the outermost function that the rule asks for; of a rule that asks who allocated, that one."""
    named = (frame for frame in reversed(frames) if rule.within and rule.within.fullmatch(frame.function or ""))
    found = next(named, skip_containers(frames)[0])
    return found._replace(line=None, address=None)  # whatever it called
