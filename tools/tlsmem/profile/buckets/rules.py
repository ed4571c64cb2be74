"""What a block is for: rules of memtest/buckets.toml, which name a bucket for a call stack.

The first rule that takes the stack wins, so that what is general stands below what is particular:
docs/explanation/buckets.md."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from tlsmem.config import definitions
from tlsmem.config.definitions import BucketRule, BucketTables
from tlsmem.profile.frames import Frame, find_owner, skip_allocators

OTHER, CONTEXT = "other", "context"
CALLER_BUFFERS = "caller's buffers"


@dataclass(frozen=True)
class Rule:
    """`by` is asked of who called the allocator, `within` of every function of the stack; None: not asked."""

    bucket: str
    why: str
    source: str
    by: re.Pattern[str] | None
    within: re.Pattern[str] | None


def pattern(alternatives: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{one})" for one in alternatives)) if alternatives else None


@cache
def read_tables() -> BucketTables:
    """Raises ValueError with a sentence."""
    return definitions.bucket_tables()


def buckets() -> dict[str, str]:
    """Each with what is in it, in the order of the file; `context` and `other` are last, and always there."""
    given = read_tables().meanings
    own = {bucket: meaning for bucket, meaning in given.items() if bucket not in (CONTEXT, OTHER)}
    return own | {bucket: given.get(bucket, "") for bucket in (CONTEXT, OTHER)}


def families() -> list[str]:
    return list(read_tables().rules)


def family_of(stack: str) -> str:
    """`rustls` of `rustls+ring@0.23.46`."""
    return re.split(r"[+@]", stack, maxsplit=1)[0]


class Rules:
    """Of one family, in order. Sets of rules are bits of a number, the first rule's the lowest."""

    def __init__(self, rules: Sequence[BucketRule]) -> None:
        self.rules = [Rule(one.bucket, one.why, one.source, pattern(one.by), pattern(one.within)) for one in rules]
        self.known: dict[str, tuple[int, int]] = {}
        self.free = bits(rule.by is None for rule in self.rules), bits(rule.within is None for rule in self.rules)

    def matched(self, function: str) -> tuple[int, int]:
        """The rules whose `by`, and those whose `within`, this name matches."""
        if function not in self.known:
            by = bits(bool(rule.by and rule.by.fullmatch(function)) for rule in self.rules)
            within = bits(bool(rule.within and rule.within.fullmatch(function)) for rule in self.rules)
            self.known[function] = by, within
        return self.known[function]

    def rule_of(self, frames: Sequence[Frame]) -> Rule | None:
        """The first that takes this stack, innermost frame first."""
        by, within = self.free
        if inner := skip_allocators(frames):
            by |= self.matched(inner[0].function or "")[0]
        for frame in frames:
            within |= self.matched(frame.function or "")[1]
        taken = by & within
        return self.rules[(taken & -taken).bit_length() - 1] if taken else None


def bits(is_set: Iterable[bool]) -> int:
    """The number whose bits these are, the lowest first."""
    return sum(1 << at for at, one in enumerate(is_set) if one)


@cache
def rules_of_family(family: str) -> Rules:
    """None of a family that the file does not have."""
    return Rules(read_tables().rules.get(family, ()))


def find_bucket(frames: Sequence[Frame], family: str) -> str:
    """`other` when no rule takes the stack; `context` of what a context's calls allocated."""
    if find_owner(frames).endswith("context"):
        return CONTEXT
    rule = rules_of_family(family).rule_of(frames)
    return rule.bucket if rule else OTHER
