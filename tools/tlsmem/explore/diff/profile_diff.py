"""What changed from one heap profile, OLD, to another, NEW: by call stack, per session where that is known.

Rows are the sites of both, joined as far as names allow (match_callstacks.py). Their bytes add up to what
each process holds."""

import posixpath
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.base import regex_timeout
from tlsmem.explore import folded_stacks, profile_selection
from tlsmem.explore.diff import match_callstacks, preconditions
from tlsmem.explore.diff.match_callstacks import LiveCallstack, MatchedSite, frames_from_driver, innermost_key, join
from tlsmem.explore.diff.rows import PARTS, SESSIONS, WARM_UP, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import OWNERS, Frame, skip_allocators
from tlsmem.profile.heap_profile import BASE, LiveHeap, Profile, sum_live
from tlsmem.stats.comparability import stack_label


class DiffSide(NamedTuple):
    label: str  # unlike the other side's
    profile: Profile
    moment: str
    sessions: int | None  # of a role; None: figures are of the whole process


@dataclass(frozen=True)
class Diff:
    old: DiffSide
    new: DiffSide
    rows: tuple[DiffRow, ...]
    forced: tuple[str, ...] = ()  # what differs beside the sites; each a clause

    def divisors(self, part: Part) -> tuple[int, int]:
        """By which OLD's and NEW's bytes are to be divided."""
        if part not in SESSIONS:
            return 1, 1
        return self.old.sessions or 1, self.new.sessions or 1

    def figures(self, row: DiffRow) -> SiteAmounts:
        old, new = self.divisors(row.part)
        counts = [
            None if one.blocks is None else Fraction(one.blocks, by) for one, by in ((row.old, old), (row.new, new))
        ]
        return SiteAmounts(Fraction(row.old.bytes, old), Fraction(row.new.bytes, new), *counts)

    def totals(self) -> list[DiffRow]:
        """A row for each part that either side has."""
        parts = {part: [row for row in self.rows if row.part == part] for part in PARTS}
        return [sum_rows(rows) for rows in parts.values() if rows]

    def sites(self, part: Part) -> list[DiffRow]:
        """As people read them: the rows with the same innermost callers are one. NEW's growth first, then by size."""
        found: dict[Hashable, list[DiffRow]] = defaultdict(list)
        for row in self.rows:
            if row.part == part:
                found[innermost_key(frames_from_driver(row.frames))].append(row)
        return sorted(map(sum_rows, found.values()), key=lambda row: (-self.figures(row).more, -row.new.bytes))

    def only(self, part: Part | None = None, wanted: Pattern = None) -> "Diff":
        """The rows of one part; those with a frame whose function, file or module the pattern finds.

        ValueError with a sentence when that takes too long."""
        kept = (row for row in self.rows if part in (None, row.part))
        if wanted is not None:
            with regex_timeout.limit_search_time(wanted):
                kept = [
                    row for row in kept if any(profile_selection.frame_matches(frame, wanted) for frame in row.frames)
                ]
        return replace(self, rows=tuple(kept))

    def folded(self, part: Part | None = None) -> Iterator[tuple[str, int, int]]:
        """Functions, root first, joined by `;`, with OLD's and NEW's bytes; what either side holds in all.

        Where the numbers of sessions differ, sessions' bytes are those of the larger number. What is less than nothing,
        since it was there before any session and is freed, is nothing."""
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in self.rows:
            if part in (None, row.part):
                sides = zip(self.divisors(row.part), (row.old, row.new), strict=True)
                for at, (divisor, side) in enumerate(sides):
                    sums[path(row.frames)][at] += round(Fraction(side.bytes * max(self.divisors(row.part)), divisor))
        for line, (old, new) in sums.items():
            if old > 0 or new > 0:
                yield line, max(old, 0), max(new, 0)


def compare(old: Profile, new: Profile, moment: str | None = None, force: bool = False) -> Diff:
    """ValueError with a sentence when they are not alike in all but the stack; with `force` the diff says so itself."""
    chosen = moment or preconditions.default_moment(old, new, force)
    if chosen not in {**old.moments, **new.moments}:
        new.moment(chosen)  # says so
    forced = tuple(preconditions.describe_differences(old, new, chosen))
    if forced and not force:
        raise ValueError(f"not compared: {'; '.join(forced)}; --force compares them all the same")
    names = [preconditions.nearest_moment(profile, chosen) for profile in (old, new)]
    per_session = (
        preconditions.has_session_figures(old) and preconditions.has_session_figures(new) and BASE not in names
    )
    found = [
        DiffSide(label, profile, name, profile.sessions_of_role if per_session else None)
        for label, profile, name in zip(labels(old, new), (old, new), names, strict=True)
    ]
    return Diff(*found, tuple(rows(*found)), forced)


def labels(old: Profile, new: Profile) -> tuple[str, str]:
    """The stacks where these differ, else the files."""
    both = (old, new)
    ways = [[stack_label(one.run) if one.run else posixpath.basename(one.file) for one in both]]
    ways += [[posixpath.basename(one.file) for one in both], [one.file for one in both]]
    return next(((a, b) for a, b in ways if a != b), (old.file, new.file))


def rows(old: DiffSide, new: DiffSide) -> Iterator[DiffRow]:
    parts = stacks_by_part(old), stacks_by_part(new)
    for part in SESSIONS if preconditions.compares_sessions_only(old.profile, new.profile) else PARTS:
        if part in parts[0] or part in parts[1]:
            yield from (row(part, joined) for joined in join(parts[0].get(part, ()), parts[1].get(part, ())))


def stacks_by_part(side: DiffSide) -> dict[Part, list[LiveCallstack]]:
    """Each byte that is live is in one part."""
    profile = side.profile
    parts: dict[Part, dict[int, LiveHeap]] = {owner: profile.live(side.moment, owner) for owner in OWNERS}
    if side.sessions is not None:
        parts |= {owner: profile.live_of_sessions(side.moment, owner) for owner in SESSIONS}
        parts[WARM_UP] = profile.live(BASE, "client") | profile.live(BASE, "server")
    frames = profile.stacks.frames
    return {part: [(frames(stack), one) for stack, one in live.items()] for part, live in parts.items() if live}


def row(part: Part, joined: MatchedSite) -> DiffRow:
    shown = joined.new or joined.old
    largest, _ = max(shown, key=lambda stack: stack[1].bytes)
    lines = frozenset(frame.line for frames, _ in shown for frame in skip_allocators(frames)[:1] if frame.line)
    return DiffRow(part, joined.stage, largest, lines, sum_stacks(joined.old), sum_stacks(joined.new))


def sum_stacks(stacks: Iterable[LiveCallstack]) -> LiveHeap:
    return sum_live(dict(enumerate(one for _, one in stacks)))


def path(frames: Sequence[Frame]) -> str:
    """What has no name is its module: that is what it was joined by."""
    named = (
        one if one.function else one._replace(function=match_callstacks.versionless_name(one))
        for one in reversed(frames)
    )
    return ";".join(map(folded_stacks.frame_label, named)) or folded_stacks.NO_CALLSTACK
