"""In words, why a session of one stack holds more than one of another: figures of profiles, reasons of buckets.toml."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema.roles import Owner

SAID, OF_BUCKET = Fraction(95, 100), Fraction(3, 4)  # of a difference, bucket by bucket; of a bucket, rule by rule


class StackSide(NamedTuple):
    """One stack's sessions of a role at a moment."""

    sums: BucketSums
    role: Owner
    moment: str
    at: str = ""  # the moment, where each side has its own

    @property
    def name(self) -> str:
        return f"{self.sums.stack}{self.at}"

    def bytes(self, bucket: str) -> Fraction:
        return self.sums.each(self.sums.live_by_bucket(self.moment, self.role).get(bucket))

    @property
    def total_per_session(self) -> Fraction:
        return self.sums.each(self.sums.live_total(self.moment, self.role))

    def whys(self, bucket: str) -> dict[str, Fraction]:
        """Reasons with their bytes: of the rules that took most of the bucket, the largest first."""
        found = self.sums.reasons(self.moment, self.role, bucket)
        needed, whys = OF_BUCKET * sum(size for _, size in found), {}
        for why, size in found:
            if needed <= 0:
                break
            whys[why] = Fraction(size, self.sums.sessions)
            needed -= size
        return whys


def explain_pairs(profiles: Sequence[Profile]) -> list[str]:
    """Of every two stacks in one suite, by role: when established, after a reply, and where each holds most. What ends
    with a colon leads the sentences after it, the largest difference first. A reason is given once."""
    given: set[str] = set()
    return [sentence for pair in pairs(profiles) for sentence in explain_pair(pair, given)]


def explain_profile(profile: Profile) -> list[str]:
    """Of one profile: why each bucket is there, with what it holds in a session of the role where most is live."""
    sums, found = BucketSums(profile), []
    when, find_largest = largest_moments(sums)[-1]
    for role in sums.roles():
        if moment := find_largest(sums, role):
            side, sizes = StackSide(sums, role, moment), sums.live_by_bucket(moment, role)
            for bucket in sizes:
                whys = " ".join(side.whys(bucket))
                if whys:
                    size = format_size(side.bytes(bucket))
                    at = f"{when[0].lower()}{when[1:]}".replace("the peak of each", "its peak")
                    found.append(f"**{bucket}**, {size} B of a {role} session {at} (`{moment}`): {whys}")
    return found


class SuitePair(NamedTuple):
    """Two stacks in the same suite."""

    suite: str
    one: BucketSums
    other: BucketSums


def pairs(profiles: Sequence[Profile]) -> Iterator[SuitePair]:
    """The first profile of a suite with each of another family."""
    by_suite: dict[str, list[BucketSums]] = defaultdict(list)
    for profile in profiles:
        if profile.run:
            by_suite[profile.run.suite].append(BucketSums(profile))
    for suite, (first, *others) in sorted(by_suite.items()):
        yield from (SuitePair(suite, first, other) for other in others if other.family != first.family)


FindMoment = Callable[[BucketSums, Owner], str | None]


def largest_moments(*several: BucketSums) -> list[tuple[str, FindMoment]]:
    """When a session of each profile holds most, in words, and the functions that find these moments: of many sessions,
    and of one alone where all profiles have that.

    Of many in lockstep, what one more adds to the peak is what it holds at the end of its fullest phase."""
    if not all(sums.profile.of_one_pair for sums in several):
        return [("At the peak of each", BucketSums.fullest)]
    found: list[tuple[str, FindMoment]] = [("As one more of many at the peak", BucketSums.fullest)]
    return found + [("As one session alone at its peak", BucketSums.alone_peak)] * all(one.has_peaks for one in several)


def explain_pair(pair: SuitePair, given: set[str]) -> Iterator[str]:
    at_peaks = largest_moments(pair.one, pair.other)
    moments: list[tuple[str, FindMoment]] = [
        ("When established", lambda sums, role: "established"),
        ("After 1 KiB each way", lambda sums, role: "reply"),
        *at_peaks,
    ]
    for role in pair.one.roles():
        for when, moment in moments:
            sides = [
                StackSide(sums, role, at)
                for sums in (pair.one, pair.other)
                if (at := moment(sums, role)) and at in sums.moments
            ]
            if (when, moment) in at_peaks:
                sides = [side._replace(at=f" (`{side.moment}`)") for side in sides]
            if len(sides) == 2:
                larger, smaller = sorted(sides, key=lambda side: side.total_per_session, reverse=True)
                yield from explain_moment(f"{when} ({pair.suite})", larger, smaller, given)


def explain_moment(when: str, larger: StackSide, smaller: StackSide, given: set[str]) -> Iterator[str]:
    more = larger.total_per_session - smaller.total_per_session
    if not smaller.total_per_session or not more:
        return
    times = f"{float(larger.total_per_session / smaller.total_per_session):.1f} times"
    holds = f"{when}, a {larger.role} session of {larger.name} holds"
    sizes = f"{format_size(larger.total_per_session)} B against {format_size(smaller.total_per_session)} B"
    yield f"{holds} {times} the live heap of one of {smaller.name}: {sizes}:"
    differences = {bucket: larger.bytes(bucket) - smaller.bytes(bucket) for bucket in rules.buckets()}
    largest = sorted(filter(differences.get, differences), key=lambda bucket: -abs(differences[bucket]))
    explained_so_far = Fraction(0)
    for at, bucket in enumerate(largest):
        if explained_so_far >= SAID * more:
            yield rest({one: differences[one] for one in largest[at:]})
            return
        explained_so_far += differences[bucket]
        yield explain_bucket(bucket, larger, smaller, given)


def explain_bucket(bucket: str, larger: StackSide, smaller: StackSide, given: set[str]) -> str:
    sizes = [side.bytes(bucket) for side in (larger, smaller)]
    sentence = (
        f"**{bucket}**, {signed(sizes[0] - sizes[1])} B: {format_size(sizes[0])} B against {format_size(sizes[1])} B."
    )
    return " ".join([sentence, *reasons(larger, bucket, given), *reasons(smaller, bucket, given)])


def reasons(side: StackSide, bucket: str, given: set[str]) -> Iterator[str]:
    """Those that were not given before; beside each its bytes, unless it has the whole bucket."""
    for why, size in side.whys(bucket).items():
        if why not in given:
            given.add(why)
            yield why if size == side.bytes(bucket) else f"{why.removesuffix('.')} ({format_size(size)} B)."


def rest(differences: dict[str, Fraction]) -> str:
    return f"The rest: {'; '.join(f'{bucket} {signed(size)} B' for bucket, size in differences.items())}."


def signed(size: Fraction) -> str:
    return f"{'+' if size >= 0 else '−'}{format_size(abs(size))}"


def format_size(size: Fraction) -> str:
    return f"{int(size):,}" if size.denominator == 1 else f"{float(size):,.1f}"
