"""What changed from one heap profile, OLD, to another, NEW: by call stack, per session where that is known.

This module computes, and says why two profiles are not to be compared; `sentences` and `tables` write what is found.
Changed call sites that one call led to are counted as that call's: a certificate that is copied is dozens of sites in
generic code, and one call of the code that copied it."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from tlsmem.base.printable import printable_text
from tlsmem.explore import folded_stacks, profile_selection
from tlsmem.explore.diff import match_callstacks
from tlsmem.explore.diff.match_callstacks import (
    STACK_VERSION,
    Key,
    LiveCallstack,
    MatchedSite,
    Stage,
    frames_from_driver,
    innermost_key,
    join,
    versionless_name,
)
from tlsmem.explore.diff.rows import PARTS, SESSIONS, WARM_UP, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile.frames import Frame, entrance_owner, is_generic, skip_containers
from tlsmem.profile.heap_profile import (
    BASE,
    DUMP,
    END,
    PEAK,
    UNITS,
    LiveHeap,
    Profile,
    describe_sampling,
    profiler_name,
    sum_live,
)
from tlsmem.schema.roles import OWNERS
from tlsmem.stats.comparability import stack_label
from tlsmem.store.record import Record

Amounts = Callable[[DiffRow], tuple[Fraction, Fraction]]  # what OLD and NEW hold at a row
Path = tuple[str, ...]  # functions, the outermost first
ESTABLISHED = "established"
USUAL = (ESTABLISHED, PEAK, END, DUMP)
ASPECTS: dict[str, Callable[[Record], str]] = {
    "suite": lambda run: run.suite,
    "N": lambda run: f"{run.sessions:,}",
    "roles": lambda run: run.roles,
    "window": lambda run: str(run.window),
    "environment": lambda run: run.env,
}


class CommonCall(NamedTuple):
    """Rows below one call; `callers`: who made it, outside of generic code, and the callers of that."""

    callers: tuple[Frame, ...]
    rows: tuple[DiffRow, ...]


@dataclass
class Node:
    """What is below a call path."""

    old: Fraction = Fraction(0)
    new: Fraction = Fraction(0)
    grew: Fraction = Fraction(0)  # the sum of differences, and of their sizes
    moved: Fraction = Fraction(0)
    rows: list[DiffRow] = field(default_factory=list)
    changed: list[DiffRow] = field(default_factory=list)
    sites: dict[Hashable, Fraction] = field(default_factory=dict)  # what each changed site grew by
    inner: set[Path] = field(default_factory=set)

    @property
    def is_of_one_change(self) -> bool:
        """Whether most that is below has changed, nearly all of that in one direction, and not nearly all at one site,
        which says more than who called it."""
        is_most = 2 * self.moved >= max(self.old, self.new) and 10 * abs(self.grew) >= 9 * self.moved > 0
        return is_most and 10 * max(map(abs, self.sites.values())) < 9 * self.moved


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
    notes: tuple[str, ...] = ()  # sentences on how profiles of two tools are compared
    is_of_one_profile: bool = False  # the sides are two moments of it

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
            with profile_selection.limit_search_time(wanted):
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
    what. Profiles in two units are refused whatever is forced: their difference is no number of bytes."""
    if old.unit != new.unit:
        sides = "; ".join(f"{side} ({one.file}): {UNITS[one.unit]}" for side, one in (("OLD", old), ("NEW", new)))
        raise ValueError(f"not compared: the two count in different units. {sides}")
    chosen = moment or default_moment(old, new, force)
    if chosen not in {**old.moments, **new.moments}:
        new.moment(chosen)  # raises, with a sentence
    differences = tuple(describe_differences(old, new, chosen))
    if differences and not force:
        raise ValueError(f"not compared: {'; '.join(differences)}; --force compares them all the same")
    moments = [nearest_moment(profile, chosen) for profile in (old, new)]
    per_session = all(map(has_session_figures, (old, new))) and BASE not in moments
    old_side, new_side = (
        DiffSide(label, profile, name, profile.sessions_of_role if per_session else None)
        for label, profile, name in zip(choose_labels(old, new), (old, new), moments, strict=True)
    )
    keys = match_callstacks.OF_TWO_BUILDS if old.tool == new.tool else match_callstacks.OF_TWO_TOOLS
    rows = tuple(join_sides(old_side, new_side, keys))
    return Diff(old_side, new_side, rows, differences, tuple(describe_tools(old, new)))


def compare_moments(profile: Profile, old: str, new: str) -> Diff:
    """The diff of two moments of a profile, per session where both are of sessions.

    Raises ValueError with a sentence where there is no such moment, or the two are one."""
    names = [profile_selection.select_moment(profile, name).name for name in (old, new)]
    if names[0] == names[1]:
        raise ValueError(f"{profile.file}: {old} and {new} are one moment; name two of {', '.join(profile.moments)}")
    of_sessions = profile.of_one_pair or not any(profile_selection.why_no_sessions(profile, name) for name in names)
    sessions = profile.sessions_of_role if of_sessions and has_session_figures(profile) else None
    old_side, new_side = (DiffSide(name, profile, name, sessions) for name in names)
    rows = tuple(join_sides(old_side, new_side, match_callstacks.OF_ONE_PROFILE))
    return Diff(old_side, new_side, rows, is_of_one_profile=True)


def describe_tools(old: Profile, new: Profile) -> Iterator[str]:
    """Sentences on what the comparison of two tools' profiles covers."""
    if old.tool == new.tool:
        return
    yield (
        f"OLD is by {profiler_name(old.tool)}, NEW by {profiler_name(new.tool)}, which name functions differently: "
        "call stacks are joined without directories of files, and also by short names without inlined functions."
    )
    if compares_sessions_only(old, new):
        yield "A sites run knows the memory of sessions only, so all other memory is left out."


def choose_labels(old: Profile, new: Profile) -> tuple[str, str]:
    """The stacks where these differ, else the names of the files, else their paths."""
    names = [posixpath.basename(one.file) for one in (old, new)]
    stacks = [stack_label(one.run) if one.run else name for one, name in zip((old, new), names, strict=True)]
    paths = (old.file, new.file)
    return next(((a, b) for a, b in (stacks, names) if a != b), paths)


def join_sides(old: DiffSide, new: DiffSide, keys: Mapping[Stage, Key]) -> Iterator[DiffRow]:
    """Rows of all parts that both profiles can tell."""
    parts = group_by_part(old), group_by_part(new)
    for part in SESSIONS if compares_sessions_only(old.profile, new.profile) else PARTS:
        ours, theirs = (stacks.get(part, ()) for stacks in parts)
        for site in join(ours, theirs, keys):
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


def default_moment(old: Profile, new: Profile, force: bool = False) -> str:
    """`established`, which is the same point of every connection and holds for as long as it is idle; the peak may lie
    in another phase of each, and is told where phases are not known. Raises ValueError when no moment is in both."""
    for name in USUAL:
        if name in old.moments and name in new.moments:
            return name
    for side, profile, other in (("OLD", old, new), ("NEW", new, old)):
        if is_dump(profile) and (there := [name for name in (PEAK, END) if name in other.moments]):
            raise ValueError(
                f"not compared: {side} ({profile.file}) is what was live when the program wrote it, and {other.file} "
                f"has other moments: choose one of them with --phase {' or --phase '.join(there)}"
            )
    if force and old.moments:
        return nearest_moment(old, ESTABLISHED)
    raise ValueError(
        f"not compared: OLD ({old.file}) and NEW ({new.file}) have none of {', '.join(USUAL)} in common; "
        "--phase chooses a moment, with --force one that is not in both"
    )


def is_dump(profile: Profile) -> bool:
    """Whether a program wrote the profile at one moment, whichever that was."""
    return [*profile.moments] == [DUMP]


def nearest_moment(profile: Profile, name: str) -> str:
    """The moment of this name, or what stands for it. Raises ValueError when there is none at all."""
    there = (other for other in (name, *USUAL, *reversed(profile.moments)) if other in profile.moments)
    return profile.moment(next(there, name)).name


def describe_differences(old: Profile, new: Profile, moment: str) -> Iterator[str]:
    """Clauses, each of which is reason enough to refuse."""
    for side, profile, other in (("OLD", old, new), ("NEW", new, old)):
        if profile.sampled_every_bytes != other.sampled_every_bytes and profile.sampled_every_bytes is not None:
            yield f"figures of {side} ({profile.file}) are estimates, {describe_sampling(profile)}"
        if profile.run is None and other.run is not None:
            yield f"{side} ({profile.file}) has no record of a run: it may be of any program"
        if moment not in profile.moments and not is_dump(profile):
            there = ", ".join(profile.moments) or "none"
            yield f"{side} ({profile.file}) has no moment {moment}; there are {there}"
        if has_session_figures(other) and profile.run is not None and not has_session_figures(profile):
            yield f"of {side} ({profile.file}) the figures per session are not known, so whole processes are compared"
    programs = {program(old), program(new)} - {""}  # not every tool tells it
    if old.run is None and new.run is None and len(programs) > 1:
        yield f"OLD is of the program {program(old)}, NEW of {program(new)}"
    if old.run is not None and new.run is not None:
        for name, of in ASPECTS.items():
            if of(old.run) != of(new.run):
                yield f"OLD has {name} {of(old.run)}, NEW {of(new.run)}"


def program(profile: Profile) -> str:
    """Its name, without the directory, and without the version of a stack's harness."""
    return STACK_VERSION.sub("", printable_text(posixpath.basename((profile.command.split() or [""])[0])))


def has_session_figures(profile: Profile) -> bool:
    return profile.sessions_of_role is not None and BASE in profile.moments


def compares_sessions_only(old: Profile, new: Profile) -> bool:
    """Whether one of them cannot tell what anybody else holds."""
    return old.of_one_pair != new.of_one_pair


def find_common_calls(rows: Sequence[DiffRow], amounts: Amounts) -> list[CommonCall]:
    """Calls below which at least two sites changed alike, and little is as before; the nearest to those sites.

    A call below which most of a session is allocated explains nothing, and is none."""
    nodes = build_nodes(rows, amounts)
    most = max(nodes[()].old, nodes[()].new) / 2
    return list(visit((), nodes, most))


def build_nodes(rows: Sequence[DiffRow], amounts: Amounts) -> dict[Path, Node]:
    nodes: dict[Path, Node] = defaultdict(Node)
    nodes[()] = Node()
    for row in rows:
        old, new = amounts(row)
        site = innermost_key(frames_from_driver(row.frames))
        path: Path = tuple(map(versionless_name, reversed(inner_frames(row))))
        for depth in range(len(path) + 1):
            node = nodes[path[:depth]]
            node.old, node.new = node.old + old, node.new + new
            node.grew, node.moved = node.grew + new - old, node.moved + abs(new - old)
            node.rows.append(row)
            if old != new:
                node.changed.append(row)
                node.sites[site] = node.sites.get(site, Fraction(0)) + new - old
                node.inner |= {path[: depth + 1]} - {path[:depth]}
    return nodes


def inner_frames(row: DiffRow) -> Sequence[Frame]:
    """Inside the driver's entrance, without it."""
    frames = frames_from_driver(row.frames)
    return frames[:-1] if frames and entrance_owner(frames[-1]) else frames


def visit(path: Path, nodes: dict[Path, Node], most: Fraction) -> Iterator[CommonCall]:
    node = nodes[path]
    if len(node.sites) < 2:
        return
    if path and node.is_of_one_change and max(node.old, node.new) <= most:
        inner = nearest_call(path, nodes)
        if callers := outside_generic_code(node.changed[0], len(inner)):
            yield CommonCall(callers, tuple(nodes[inner].rows))
            return
    for below in sorted(node.inner):
        yield from visit(below, nodes, most)


def nearest_call(path: Path, nodes: dict[Path, Node]) -> Path:
    """The path, down to the last call that all of its changed sites are below."""
    for below in nodes[path].inner:
        if len(nodes[below].changed) == len(nodes[path].changed):
            return nearest_call(below, nodes)
    return path


def outside_generic_code(row: DiffRow, depth: int) -> tuple[Frame, ...]:
    """From the nearest caller on that is not generic, of those that are at most so deep; none where all are."""
    frames = inner_frames(row)
    callers = frames[len(frames) - depth :]
    at = next((at for at, frame in enumerate(callers) if not is_generic(frame)), len(callers))
    return tuple(callers[at:])
