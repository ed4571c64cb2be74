"""Which function holds what is in a bucket: the one by which the bucket's rules know most of its bytes."""

from collections import Counter

from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import Rule
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame, skip_containers
from tlsmem.schema.roles import Role
from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import Holder


def find_bucket_holder(run: Record, role: Role, phase: str, bucket: str) -> Holder | Missing:
    """Return the function below which most of the bucket's live bytes of one session were allocated, and the bytes of
    the whole bucket."""
    profile = sites_reader.profile_from_record(run)
    sums, held = BucketSums(profile), Counter[Frame]()
    for stack, live in profile.live_of_sessions(phase, role).items():
        rule = sums.rule(stack)
        if rule and rule.bucket == bucket:
            held[find_known_frame(profile.stacks.frames(stack), rule)] += live.bytes
    if not held:
        return Missing(f"no live bytes in the bucket {bucket}")
    ((frame, _),) = held.most_common(1)
    return Holder(frame, round(sums.each(sums.live_by_bucket(phase, role)[bucket])))


def find_known_frame(frames: tuple[Frame, ...], rule: Rule) -> Frame:
    """Return the outermost function that the rule asks for; of a rule that asks who allocated, that one."""
    named = (frame for frame in reversed(frames) if rule.within and rule.within.fullmatch(frame.function or ""))
    found = next(named, skip_containers(frames)[0])
    return found._replace(line=None, address=None)  # whatever it called
