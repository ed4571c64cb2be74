"""Live bytes of a session by bucket, at a moment of a profile: sums that add up to all that the session holds."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.rules import CONTEXT, OTHER, Rule
from tlsmem.profile.frames import Owner
from tlsmem.profile.heap_profile import BASE, END, PEAK, LiveHeap, Profile, sum_live


@dataclass
class BucketSums:
    """Of a profile, by the rules of its stack's family; without a record of the run everything is `other`."""

    profile: Profile
    rules: dict[int, Rule | None] = field(default_factory=dict)  # by call stack, as they are asked for

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
        of: dict[str, list[LiveHeap]] = {}
        for stack, held in self.profile.live_of_sessions(moment, owner).items():
            of.setdefault(self.bucket(stack), []).append(held)
        return {bucket: sum_live(dict(enumerate(of[bucket]))) for bucket in rules.buckets() if bucket in of}

    def live_total(self, moment: str, owner: Owner) -> LiveHeap:
        """All that the sessions of the role hold, whatever the rules say."""
        return sum_live(self.profile.live_of_sessions(moment, owner))

    def phases(self) -> list[str]:
        """Moments that are ends of phases with sessions, in order of time."""
        return [name for name in self.profile.moments if name not in (BASE, PEAK, END)]

    def fullest(self, owner: Owner) -> str | None:
        """The tool's own peak; where it tells none, the first of the phases at whose end the role holds most."""
        if PEAK in self.profile.moments:
            return PEAK
        return max(self.phases(), key=lambda name: self.live_total(name, owner).bytes, default=None)

    def roles(self) -> list[Owner]:
        found = {owner for name in self.profile.moments for owner in self.profile.owners(name)}
        return [role for role in ("client", "server") if role in found]

    def reasons(self, moment: str, owner: Owner, bucket: str) -> Counter[Rule]:
        """Bytes of a bucket by the rule that took them."""
        found: Counter[Rule] = Counter()
        for stack, held in self.profile.live_of_sessions(moment, owner).items():
            if self.bucket(stack) == bucket and (rule := self.rule(stack)):
                found[rule] += held.bytes
        return found

    def each(self, held: LiveHeap | None) -> Fraction:
        """Bytes of one session."""
        return Fraction(held.bytes if held else 0, self.sessions)
