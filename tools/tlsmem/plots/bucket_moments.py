"""The moments of a session that pictures of buckets show: new, at its largest, at rest, in use, and idle."""

from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Owner

CREATED, PEAK, ESTABLISHED = "created", "at the peak", "established"
ONE_MORE = f"{PEAK}, one more of many"  # a sites run has it as the end of the fullest phase
USES = {"full reply": "in use, after 16 KiB each way", "reply": "in use, after 1 KiB each way"}  # by phase
IDLE, FREED = "idle", "idle, after it was asked to free its buffers"


class BucketMoment(NamedTuple):
    """A moment, and the bytes of a session of each stack by bucket; of a stack without it there are none."""

    name: str
    sizes: tuple[dict[str, float], ...]

    @property
    def totals(self) -> tuple[float, ...]:
        """The bytes of a session of each stack."""
        return tuple(sum(parts.values()) for parts in self.sizes)


def find_phases(sums: BucketSums, role: Owner) -> dict[str, str | None]:
    """Return the phase or moment of the profile for each moment that it has."""
    phases = sums.phases()
    used = next((phase for phase in USES if phase in phases), "")
    found = {CREATED: phases[0] if phases else None, ONE_MORE if sums.profile.of_one_pair else PEAK: sums.fullest(role)}
    found |= {name: phase for name, phase in ((ESTABLISHED, ESTABLISHED), (FREED, IDLE)) if phase in phases}
    return found | ({USES[used]: used} if used else {})


def sizes_by_bucket(sums: BucketSums, role: Owner, moment: str | None) -> dict[str, float]:
    """Return the bytes of one session by bucket."""
    if not moment:
        return {}
    return {bucket: float(sums.each(heap)) for bucket, heap in sums.live_by_bucket(moment, role).items()}


def find_moments(several: Sequence[BucketSums], role: Owner) -> list[BucketMoment]:
    """Return the moments that any stack has, in order of time."""
    phases = [find_phases(sums, role) for sums in several]
    there = {name for found in phases for name in found}
    return [
        BucketMoment(
            name,
            tuple(sizes_by_bucket(sums, role, found.get(name)) for sums, found in zip(several, phases, strict=True)),
        )
        for name in (CREATED, ONE_MORE, PEAK, ESTABLISHED, *reversed(USES.values()), FREED)
        if name in there
    ]


def choose_moment(moments: Sequence[BucketMoment]) -> BucketMoment:
    """Return the moment of the title, which every stack has: in use, else established, else the first.

    Raises ValueError where sessions hold nothing at any moment."""
    known = {moment.name: moment for moment in moments if all(moment.totals)}
    if not known:
        raise ValueError("there is no moment at which sessions of all these stacks hold memory")
    return next((known[name] for name in (*USES.values(), ESTABLISHED) if name in known), next(iter(known.values())))
