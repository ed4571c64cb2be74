"""What changed from one heap profile, OLD, to another, NEW: by call stack, per session where that is known.

This module computes; `summary` picks what is worth saying, and `sentences` and `tables` write it."""

import posixpath
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.base import regex_timeout
from tlsmem.explore import folded_stacks, profile_selection
from tlsmem.explore.diff import match_callstacks, preconditions
from tlsmem.explore.diff.common_callers import Amounts, CommonCall, find_common_calls
from tlsmem.explore.diff.match_callstacks import LiveCallstack, MatchedSite, frames_from_driver, innermost_key, join
from tlsmem.explore.diff.rows import PARTS, SESSIONS, WARM_UP, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import Frame, skip_containers
from tlsmem.profile.heap_profile import BASE, LiveHeap, Profile, sum_live
from tlsmem.schema.roles import OWNERS
from tlsmem.stats.comparability import stack_label


class DiffSide(NamedTuple):
    label: str  # unlike the other side's
    profile: Profile
    moment: str
    sessions: int | None  # of a role; None: figures are of the whole process


@dataclass(frozen=True)
class Diff:
    """Rows add up to what each side holds at its moment."""

    old: DiffSide
    new: DiffSide
    rows: tuple[DiffRow, ...]
    forced: tuple[str, ...] = ()  # what differs between the runs, beside what they hold; each a clause

    def divisors(self, part: Part) -> tuple[int, int]:
        """By which OLD's and NEW's bytes are divided: the sessions of the role, or 1."""
        if part not in SESSIONS:
            return 1, 1
        return self.old.sessions or 1, self.new.sessions or 1

    def figures(self, row: DiffRow) -> SiteAmounts:
        """The row's bytes and blocks, per session where its part has sessions."""
        divisors = self.divisors(row.part)
        sizes, counts = [], []
        for held, divisor in zip((row.old, row.new), divisors, strict=True):
            sizes.append(Fraction(held.bytes, divisor))
            counts.append(None if held.blocks is None else Fraction(held.blocks, divisor))
        return SiteAmounts(*sizes, *counts)

    def totals(self) -> list[DiffRow]:
        """A row for each part that either side has."""
        parts = {part: [row for row in self.rows if row.part == part] for part in PARTS}
        return [sum_rows(rows) for rows in parts.values() if rows]

    def sites(self, part: Part) -> list[DiffRow]:
        """The rows of a part, summed by innermost callers, with the lines that differ."""
        sites: dict[Hashable, list[DiffRow]] = defaultdict(list)
        for row in self.rows:
            if row.part == part:
                sites[innermost_key(frames_from_driver(row.frames))].append(row)
        return sorted(map(self.sum_site, sites.values()), key=self.sort_weight)

    def sites_by_call(self, part: Part, amounts: Amounts | None = None) -> list[DiffRow]:
        """The sites of a part, those that one call led to and that changed alike as one row. `amounts`: by what they
        changed; by default bytes."""
        rows = self.select(part).rows
        calls = find_common_calls(rows, amounts or self.bytes_of)
        below = {id(row) for call in calls for row in call.rows}
        found = replace(self, rows=tuple(row for row in rows if id(row) not in below)).sites(part)
        for call in calls:
            found += self.sum_call(call, replace(self, rows=call.rows).sites(part))
        return sorted(found, key=self.sort_weight)

    def sum_call(self, call: CommonCall, sites: Sequence[DiffRow]) -> list[DiffRow]:
        """One row for the sites below a call that differ, and the others."""
        changed = tuple(site for site in sites if self.figures(site).differ)
        row = sum_rows(changed)._replace(frames=call.callers, lines=frozenset(), below=changed)
        return [row, *(site for site in sites if not self.figures(site).differ)]

    def bytes_of(self, row: DiffRow) -> tuple[Fraction, Fraction]:
        """What OLD and NEW hold at a row."""
        figures = self.figures(row)
        return figures.old_bytes, figures.new_bytes

    def sort_weight(self, row: DiffRow) -> tuple[Fraction, int]:
        """NEW's growth comes first, then NEW's size."""
        return -self.figures(row).more, -row.new.bytes

    def sum_site(self, rows: Sequence[DiffRow]) -> DiffRow:
        """One row for all; where only some of its lines differ, with their frames and lines."""
        changed = sum_rows([row for row in rows if self.figures(row).differ] or rows)
        return sum_rows(rows)._replace(frames=changed.frames, lines=changed.lines)

    def select(self, part: Part | None = None, wanted: Pattern = None) -> "Diff":
        """The rows of one part, or of all, that have a frame whose function, file or module the pattern finds.

        Raises ValueError with a sentence when the search takes too long."""
        rows = [row for row in self.rows if part in (None, row.part)]
        if wanted is not None:
            with regex_timeout.limit_search_time(wanted):
                rows = [
                    row for row in rows if any(profile_selection.frame_matches(frame, wanted) for frame in row.frames)
                ]
        return replace(self, rows=tuple(rows))

    def folded(self, part: Part | None = None) -> Iterator[tuple[str, int, int]]:
        """Folded stacks: functions, root first, joined by `;`, with OLD's and NEW's bytes in all.

        Where the sides have different numbers of sessions, both are scaled to the larger one. A negative sum, of what
        was there before any session and is freed since, counts as 0."""
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in self.rows:
            if part in (None, row.part):
                divisors = self.divisors(row.part)
                for side, (divisor, held) in enumerate(zip(divisors, (row.old, row.new), strict=True)):
                    sums[fold_frames(row.frames)][side] += round(Fraction(held.bytes * max(divisors), divisor))
        for stack, (old, new) in sums.items():
            if old > 0 or new > 0:
                yield stack, max(old, 0), max(new, 0)


def compare(old: Profile, new: Profile, moment: str | None = None, force: bool = False) -> Diff:
    """The diff at a moment, by default at one that both have.

    Raises ValueError with a sentence when the runs differ in anything but the stack; with `force` the diff lists
    what."""
    chosen = moment or preconditions.default_moment(old, new, force)
    if chosen not in {**old.moments, **new.moments}:
        new.moment(chosen)  # raises, with a sentence
    differences = tuple(preconditions.describe_differences(old, new, chosen))
    if differences and not force:
        raise ValueError(f"not compared: {'; '.join(differences)}; --force compares them all the same")
    moments = [preconditions.nearest_moment(profile, chosen) for profile in (old, new)]
    per_session = all(map(preconditions.has_session_figures, (old, new))) and BASE not in moments
    sides = [
        DiffSide(label, profile, name, profile.sessions_of_role if per_session else None)
        for label, profile, name in zip(choose_labels(old, new), (old, new), moments, strict=True)
    ]
    return Diff(*sides, tuple(join_sides(*sides)), differences)


def choose_labels(old: Profile, new: Profile) -> tuple[str, str]:
    """The stacks where these differ, else the names of the files, else their paths."""
    names = [posixpath.basename(one.file) for one in (old, new)]
    stacks = [stack_label(one.run) if one.run else name for one, name in zip((old, new), names, strict=True)]
    paths = (old.file, new.file)
    return next(((a, b) for a, b in (stacks, names) if a != b), paths)


def join_sides(old: DiffSide, new: DiffSide) -> Iterator[DiffRow]:
    """Rows of all parts that both profiles can tell."""
    parts = group_by_part(old), group_by_part(new)
    for part in SESSIONS if preconditions.compares_sessions_only(old.profile, new.profile) else PARTS:
        for site in join(*(stacks.get(part, ()) for stacks in parts)):
            yield row_from_site(part, site)


def group_by_part(side: DiffSide) -> dict[Part, list[LiveCallstack]]:
    """What is live, with its call stacks. Each byte is in one part."""
    profile = side.profile
    parts: dict[Part, dict[int, LiveHeap]] = {owner: profile.live(side.moment, owner) for owner in OWNERS}
    if side.sessions is not None:
        parts |= {owner: profile.live_of_sessions(side.moment, owner) for owner in SESSIONS}
        parts[WARM_UP] = profile.live(BASE, "client") | profile.live(BASE, "server")
    frames = profile.stacks.frames
    return {part: [(frames(stack), held) for stack, held in live.items()] for part, live in parts.items() if live}


def row_from_site(part: Part, site: MatchedSite) -> DiffRow:
    """The frames and lines are NEW's, or OLD's where NEW has none."""
    shown = site.new or site.old
    largest, _ = max(shown, key=lambda stack: stack[1].bytes)
    lines = frozenset(frame.line for frames, _ in shown for frame in skip_containers(frames)[:1] if frame.line)
    return DiffRow(part, site.stage, largest, lines, sum_stacks(site.old), sum_stacks(site.new))


def sum_stacks(stacks: Iterable[LiveCallstack]) -> LiveHeap:
    return sum_live(dict(enumerate(held for _, held in stacks)))


def fold_frames(frames: Sequence[Frame]) -> str:
    """A frame without a name is written as its module, by which it was joined."""
    named = (
        frame if frame.function else frame._replace(function=match_callstacks.versionless_name(frame))
        for frame in reversed(frames)
    )
    return ";".join(map(folded_stacks.frame_label, named)) or folded_stacks.NO_CALLSTACK
