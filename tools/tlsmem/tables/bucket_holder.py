"""Which function holds what is in a bucket: the deepest that most of its bytes were allocated in."""

from collections import Counter

from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Frame, skip_containers
from tlsmem.schema.records import Record
from tlsmem.schema.roles import Role
from tlsmem.stats.missing import Missing
from tlsmem.tables.phase_holder import Holder

MOST = 0.6  # of the bytes


def find_bucket_holder(run: Record | Missing, role: Role, phase: str, bucket: str) -> Holder | Missing:
    """Return the function in which, or below which, most of the bucket's live bytes of one session were allocated, and
    the bytes of the whole bucket."""
    if isinstance(run, Missing):
        return run
    profile = sites_reader.profile_from_record(run)
    sums, below = BucketSums(profile), Counter[tuple[Frame, ...]]()
    for stack, held in profile.live_of_sessions(phase, role).items():
        if sums.bucket(stack) == bucket:
            outer = tuple(frame._replace(line=None, address=None) for frame in reversed(profile.stacks.frames(stack)))
            below.update({outer[:depth]: held.bytes for depth in range(1, len(outer) + 1)})
    if not below:
        return Missing(f"no live bytes in the bucket {bucket}")
    whole = max(below.values())
    common = max((path for path, size in below.items() if size >= MOST * whole), key=len)
    return Holder(
        skip_containers(tuple(reversed(common)))[0], round(sums.each(sums.live_by_bucket(phase, role)[bucket]))
    )
