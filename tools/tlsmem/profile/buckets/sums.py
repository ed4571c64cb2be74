"""Live bytes of a session by bucket, at a moment of a profile: sums that add up to all that the session holds."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from tlsmem.base.cache_file import digest_code
from tlsmem.base.phase_names import PEAK_OF
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.rules import CONTEXT, OTHER, Rule
from tlsmem.profile.heap_profile import BASE, PEAK, LiveHeap, Profile, SumsByMoment, is_phase_end, sum_live
from tlsmem.schema.roles import Owner


@dataclass
class BucketSums:
    """Of a profile, by the rules of its stack's family; without a record of the run everything is `other`.

    `known` spares the profile's call stacks from being read: see sites_reader.py."""

    profile: Profile
    rules: dict[int, Rule | None] = field(default_factory=dict)  # by call stack, as they are asked for
    known: SumsByMoment | None = None

    def __post_init__(self) -> None:
        self.known = self.known or self.profile.sums_by_moment()

    @property
    def stack(self) -> str:
        return self.profile.run.stack if self.profile.run else self.profile.command

    @property
    def family(self) -> str:
        return rules.family_of(self.stack)

    @property
    def sessions(self) -> int:
        """Of a role; 1 where that is not known, and bytes are those of all."""
        return self.profile.sessions_of_role or 1

    def rule(self, stack: int) -> Rule | None:
        if stack not in self.rules:
            self.rules[stack] = rules.rules_of_family(self.family).rule_of(self.profile.stacks.frames(stack))
        return self.rules[stack]

    def bucket(self, stack: int) -> str:
        """As bucket_rules.bucket_of, each stack looked at once."""
        if self.profile.stacks.owner(stack).endswith("context"):
            return CONTEXT
        rule = self.rule(stack)
        return rule.bucket if rule else OTHER

    def live_by_bucket(self, moment: str, owner: Owner) -> dict[str, LiveHeap]:
        """By bucket, in the order of the table, those that hold something; of all sessions of the role."""
        if self.known:
            found = self.known["live_by_bucket"][moment].get(owner, {})
            return {bucket: LiveHeap._make(held) for bucket, held in found.items()}
        of: dict[str, list[LiveHeap]] = {}
        for stack, held in self.profile.live_of_sessions(moment, owner).items():
            of.setdefault(self.bucket(stack), []).append(held)
        return {bucket: sum_live(dict(enumerate(of[bucket]))) for bucket in rules.buckets() if bucket in of}

    def live_total(self, moment: str, owner: Owner) -> LiveHeap:
        """All that the sessions of the role hold, whatever the rules say."""
        if self.known:
            return LiveHeap._make(self.known["live_total"][moment].get(owner, (0, 0)))
        return sum_live(self.profile.live_of_sessions(moment, owner))

    @property
    def moments(self) -> list[str]:
        """Names, in order of time."""
        return list(self.known["live_total"] if self.known else self.profile.moments)

    def by_moment(self) -> SumsByMoment:
        """All of it."""
        if self.known:
            return self.known
        base = list(self.profile.owners(BASE)) if BASE in self.moments else []
        found: SumsByMoment = {"live_by_bucket": {}, "live_total": {}}
        for name in self.moments:
            owners = dict.fromkeys([*self.profile.owners(name), *base])
            found["live_by_bucket"][name] = {owner: self.live_by_bucket(name, owner) for owner in owners}
            found["live_total"][name] = {owner: self.live_total(name, owner) for owner in owners}
        return found

    def phases(self) -> list[str]:
        """Moments that are ends of phases with sessions, in order of time."""
        return [name for name in self.moments if name != BASE and is_phase_end(name)]

    def fullest(self, owner: Owner) -> str | None:
        """The tool's own peak; where it tells none, the first of the phases at whose end the role holds most."""
        if PEAK in self.moments:
            return PEAK
        return max(self.phases(), key=lambda name: self.live_total(name, owner).bytes, default=None)

    @property
    def has_peaks(self) -> bool:
        """Whether the peaks of one session alone have call stacks: sites runs of schemas before 9 have none."""
        return any(name.startswith(PEAK_OF) for name in self.moments)

    def alone_peak(self, owner: Owner) -> str | None:
        """The moment at which one session alone holds most, the first of equals; None without such moments."""
        peaks = [name for name in self.moments if name.startswith(PEAK_OF)]
        return max(peaks, key=lambda name: self.live_total(name, owner).bytes, default=None)

    def roles(self) -> list[Owner]:
        if self.known:
            found = {owner for owners in self.known["live_total"].values() for owner in owners}
        else:
            found = {owner for name in self.profile.moments for owner in self.profile.owners(name)}
        return [role for role in ("client", "server") if role in found]

    def reasons(self, moment: str, owner: Owner, bucket: str) -> list[tuple[str, int]]:
        """Reasons of a bucket with the bytes that the rule of each took, the most first."""
        code = digest_code(("profile/buckets/sums.py",))
        compute = partial(self.find_reasons, moment, owner, bucket)
        return [(why, size) for why, size in self.profile.recall("reasons", [moment, owner, bucket], code, compute)]

    def find_reasons(self, moment: str, owner: Owner, bucket: str) -> list[tuple[str, int]]:
        """Return what `reasons` does, from the call stacks."""
        found: Counter[Rule] = Counter()
        for stack, held in self.profile.live_of_sessions(moment, owner).items():
            if self.bucket(stack) == bucket and (rule := self.rule(stack)):
                found[rule] += held.bytes
        return [(rule.why, size) for rule, size in found.most_common()]

    def each(self, held: LiveHeap | None) -> Fraction:
        """Bytes of one session."""
        return Fraction(held.bytes if held else 0, self.sessions)
