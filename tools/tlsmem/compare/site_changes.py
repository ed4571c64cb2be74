"""Where a difference of live heap, or of allocations, is from: call sites of one pair on both sides, whose sum is the
slope's difference.

The call stacks are one pair's, the slope is of all sessions: what they do not agree on is a row, UNEXPLAINED."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from tlsmem.compare.comparison import ComparedFigure, Comparison
from tlsmem.compare.figure_places import Place, recorded_phase
from tlsmem.compare.run_matching import Match
from tlsmem.config.choices import PEAK
from tlsmem.explore import short_function_names
from tlsmem.explore.diff import profile_diff
from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS
from tlsmem.explore.diff.rows import DiffRow as Site
from tlsmem.explore.diff.rows import SiteAmounts
from tlsmem.explore.diff.site_text import describe_sites_below, format_amount, format_callers
from tlsmem.profile import sites_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame, skip_containers
from tlsmem.schema.roles import ROLES, Owner, Process, Role
from tlsmem.stats import contexts, session_cost
from tlsmem.stats.change import SAME
from tlsmem.store.record import Record

UNEXPLAINED = "unexplained"
UNEXPLAINED_REASON = "call stacks are those of one pair, the slope is over all sessions"
Counted = Literal["heap", "allocations", "allocated"]  # live bytes; or of all that was allocated the blocks, or bytes


class SiteChange(NamedTuple):
    """What a session of NEW holds, or allocates, more at a site; `callers` innermost first, none where it is
    unexplained. `parts`: the sites, where these are several below one caller."""

    where: str  # the innermost caller, with its place
    callers: tuple[str, ...]
    bytes: Fraction
    blocks: Fraction
    old_bytes: Fraction
    new_bytes: Fraction
    old_blocks: Fraction
    new_blocks: Fraction
    parts: tuple["SiteChange", ...] = ()

    @property
    def is_site(self) -> bool:
        return bool(self.callers)


def sum_changes(changes: Sequence[SiteChange]) -> SiteChange:
    """The sum of several changes, at no site."""

    def total(field: str) -> Fraction:
        return sum((getattr(one, field) for one in changes), Fraction(0))

    size = total("bytes"), total("old_bytes"), total("new_bytes")
    blocks = total("blocks"), total("old_blocks"), total("new_blocks")
    return SiteChange("", (), size[0], blocks[0], size[1], size[2], blocks[1], blocks[2])


class SiteComparison:
    """Two sites runs of one stack and setting, or of two: what they differ in, asked for by role and phase."""

    def __init__(self, old: Record, new: Record, counted: Counted = "heap") -> None:
        """Raises Unreadable with a sentence when one is no sites run, or does not have what is counted."""
        read = (
            sites_reader.profile_from_record if counted == "heap" else sites_reader.allocations_from_record
        )  # freed too
        self.runs, self.counted = (old, new), counted
        self.profiles = read(old), read(new)
        self.diffs: dict[str, profile_diff.Diff] = {}

    def changes(
        self, role: Owner, phase: str, more_bytes: Fraction | None = None, more_blocks: Fraction | None = None
    ) -> list[SiteChange]:
        """The sites that differ at the phase's end (as recorded), the largest first, of allocations in blocks;
        UNEXPLAINED last. Many sites below one call are one.

        The bytes of all rows add up to `more_bytes`, the difference of the slopes per session; without it, to that of
        what is counted above `contexts` by sessions. The same of blocks. Raises ValueError when one has no such
        phase."""
        diff = self.diff(phase)
        sites = diff.sites_by_call(role, lambda row: self.amounts(diff.figures(row)))
        rows = self.changes_at_sites(diff, (site for site in sites if site.below or diff.figures(site).differ))
        known = [above(run, role, phase, self.counted) for run in self.runs]
        size = known[1][0] - known[0][0] if more_bytes is None else more_bytes
        blocks = known[1][1] - known[0][1] if more_blocks is None else more_blocks
        return [*rows, *rest(size - sum(row.bytes for row in rows), blocks - sum(row.blocks for row in rows))]

    def changes_at_sites(self, diff: profile_diff.Diff, sites: Iterable[Site]) -> list[SiteChange]:
        """The largest first."""
        rows = [
            change_at_site(diff.figures(site), site)._replace(parts=tuple(self.changes_at_sites(diff, site.below)))
            for site in sites
        ]
        return sorted(rows, key=lambda row: (*self.sort_weight(row), row.where))

    def amounts(self, figures: SiteAmounts) -> tuple[Fraction, Fraction]:
        if self.counted == "allocations":
            return figures.old_blocks or Fraction(0), figures.new_blocks or Fraction(0)
        return figures.old_bytes, figures.new_bytes

    def sort_weight(self, row: SiteChange) -> tuple[Fraction, Fraction]:
        size = -abs(row.bytes), -abs(row.blocks)
        return size[::-1] if self.counted == "allocations" else size

    def more_below(self, role: Role, phase: str, function: str) -> Fraction:
        """What a session of NEW holds more that this function, by its whole or short name, or its callees allocated."""
        diff = self.diff(phase)
        rows = (row for row in diff.rows if row.part == role and function in names_of_functions(row.frames))
        return sum((diff.figures(row).more for row in rows), Fraction(0))

    def functions(self) -> set[str]:
        """Of both sides."""
        places = (place for profile in self.profiles for place in profile.stacks.places)
        return set().union(*map(names_of_functions, places))

    def diff(self, phase: str) -> profile_diff.Diff:
        for one in self.profiles:
            one.moment(phase)
        if phase not in self.diffs:
            self.diffs[phase] = profile_diff.compare(*self.profiles, phase, force=True)
        return self.diffs[phase]


def names_of_functions(frames: Iterable[Frame]) -> set[str]:
    """Whole, and shortened as people read them."""
    names = {frame.function for frame in frames if frame.function}
    return names | set(map(short_function_names.short, names))


def compare_sites(
    old: Record,
    new: Record,
    role: Owner,
    phase: str,
    more_bytes: Fraction | None = None,
    more_blocks: Fraction | None = None,
    counted: Counted = "heap",
) -> list[SiteChange]:
    """SiteComparison.changes of two sites runs."""
    return SiteComparison(old, new, counted).changes(role, phase, more_bytes, more_blocks)


def rest(size: Fraction, blocks: Fraction) -> list[SiteChange]:
    nothing = Fraction(0)
    return [SiteChange(UNEXPLAINED, (), size, blocks, nothing, size, nothing, blocks)] if size or blocks else []


def change_at_site(figures: SiteAmounts, site: Site) -> SiteChange:
    inner = tuple(map(short_function_names.frame_name, skip_containers(site.frames)[:INNERMOST_CALLERS]))
    named = format_callers(site._replace(below=())).partition(" < ")[0]
    old, new = (Fraction(blocks or 0) for blocks in (figures.old_blocks, figures.new_blocks))
    return SiteChange(named, inner or (named,), figures.more, new - old, figures.old_bytes, figures.new_bytes, old, new)


def above(run: Record, role: Owner, phase: str, counted: Counted) -> tuple[Fraction, Fraction]:
    process: Process | None = role if run.roles == "split" and (role == "client" or role == "server") else None
    phases = (phase, run.phases[0].phase)
    now, before = (
        session_cost.heap_of(session_cost.phase_of(run, name, process), role.replace(" ", "_")) for name in phases
    )
    kind = "live" if counted == "heap" else "cumulative"
    more = (getattr(now, f"{kind}_{unit}") - getattr(before, f"{kind}_{unit}") for unit in ("bytes", "blocks"))
    size, blocks = (Fraction(one, contexts.count_owners(run, role)) for one in more)
    return size, blocks


def describe_block_changes(rows: Sequence[SiteChange], most: int = 3) -> str:
    """`2 blocks more (48 B) in f (a.c:1) and 1 block fewer (24 B) in g (b.c:2)`. What is less than one block of a
    session is left to the table."""
    parts = [row for row in rows if row.blocks and (row.is_site or abs(row.blocks) >= 1)]
    names = name_sites(parts)
    said = [
        f"{describe_blocks(row.blocks)}{describe_their_size(row)} {'in ' * row.is_site}{name}"
        for row, name in zip(parts[:most], names, strict=False)
    ]
    if others := parts[most:]:
        total = sum((row.blocks for row in others), Fraction(0))
        size = describe_blocks(total) if total else "as many blocks as before"
        said.append(f"{size} in {len(others)} other{'s'[: len(others) > 1]}")
    return join_parts(said)


def describe_changes(rows: Sequence[SiteChange], unit: str = "B", most: int = 3) -> str:
    """`all of it in f (a.c:1)`, or the largest parts, with the direction of each."""
    parts = [row for row in rows if row.bytes]
    if not parts:
        return describe_block_changes(rows, most)
    if len(parts) == 1:
        return (
            f"all of it in {name_sites(parts)[0]}"
            if parts[0].is_site
            else f"all of it {UNEXPLAINED}: {UNEXPLAINED_REASON}"
        )
    names = name_sites(parts)
    said = [
        f"{format_difference(row.bytes, unit)} {'in ' * row.is_site}{name}"
        for row, name in zip(parts[:most], names, strict=False)
    ]
    if others := parts[most:]:
        said.append(
            f"{format_difference(sum((row.bytes for row in others), Fraction(0)), unit)} in {len(others)} "
            f"other{'s'[: len(others) > 1]}"
        )
    return join_parts(said)


def name_sites(rows: Sequence[SiteChange]) -> list[str]:
    """Return the innermost caller of each. If others have the same one, or it sums up several sites, add its callers:
    `f (a.c:1) < g`."""
    return [
        describe_callers(row, max(count_callers_apart(row, rows), 2 if row.parts else 1)) if row.is_site else row.where
        for row in rows
    ]


def describe_callers(row: SiteChange, count: int = INNERMOST_CALLERS) -> str:
    """`f (a.c:1) < g`; of several sites with their number."""
    return " < ".join([row.where, *row.callers[1:count]]) + describe_sites_below(len(row.parts))


def count_callers_apart(row: SiteChange, rows: Sequence[SiteChange]) -> int:
    """Return how many innermost callers it takes to tell it from the other rows."""
    others = [one for one in rows if one is not row and one.where == row.where]
    for count in range(1, len(row.callers)):
        if all(one.callers[:count] != row.callers[:count] for one in others if one.callers):
            return count
    return len(row.callers) if others else 1


def describe_their_size(row: SiteChange) -> str:
    """` (48 B)`, of blocks that came or went; nothing where bytes went the other way."""
    return f" ({format_amount(abs(row.bytes))} B)" if row.bytes * row.blocks > 0 else ""


def join_parts(said: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))


def describe_blocks(amount: Fraction) -> str:
    """`2 blocks more`, `1 block fewer`."""
    size = abs(amount)
    return f"{format_amount(size)} {format_unit(size, 'blocks')} {'more' if amount > 0 else 'fewer'}"


def format_difference(amount: Fraction, unit: str | None = None) -> str:
    if not amount:
        return "as many" if unit is None else "as much"
    words = [format_amount(abs(amount)), unit, "more" if amount > 0 else "less" if unit else "fewer"]
    return " ".join(filter(None, words))


def format_unit(amount: Fraction | float, unit: str) -> str:
    return "block" if (amount, unit) == (1, "blocks") else unit


NO_RUN = "no sites run of {}"
OTHER_PEAK = "the peak is in another phase: {} in {}, {} in {}"
OF_BOTH = "call sites are known by role"


class CallSiteExplainer:
    """Asked by row; remembers what it read."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.at: dict[tuple[int, Place], ComparedFigure] = {
            (id(row.match), row.place): row for row in (*comparison.rows, *comparison.between)
        }
        self.known: dict[tuple[int, Counted], SiteComparison] = {}

    def beside(self, row: ComparedFigure, meter: str) -> ComparedFigure | None:
        """The same place by another meter."""
        return self.at.get((id(row.match), row.place._replace(meter=meter)))

    def need_beside(self, row: ComparedFigure, meter: str) -> ComparedFigure:
        """The same place by another meter, counted together with the row's."""
        found = self.beside(row, meter)
        assert found
        return found

    def sites(self, row: ComparedFigure) -> list[SiteChange]:
        """Of a row of live heap or of allocations, adding up to its difference. Raises ValueError with half a sentence
        when it is not known."""
        more = Fraction(row.change.amount)
        if row.place.meter == "allocations":
            return self.runs(row.match, "allocations").changes(*self.place_of_sites(row), more_blocks=more)
        if row.place.meter == "allocated":
            blocks = Fraction(self.need_beside(row, "allocations").change.amount)
            return self.runs(row.match, "allocated").changes(*self.place_of_sites(row), more, blocks)
        blocks = Fraction(self.need_beside(row, "blocks").change.amount)
        return self.runs(row.match).changes(*self.place_of_sites(row), more, blocks)

    def place_of_sites(self, row: ComparedFigure) -> tuple[Role, str]:
        """The role and the phase as recorded. Raises ValueError with half a sentence where call sites do not tell of
        the row."""
        role = next((role for role in ROLES if role == row.place.role), None)
        if not role:
            raise ValueError(OF_BOTH)
        return role, self.phase_of_sites(row)

    def phase_of_sites(self, row: ComparedFigure) -> str:
        place = row.place
        if place.phase != PEAK:
            return recorded_phase(place.phase)
        if row.old.at != row.new.at:
            raise ValueError(
                OTHER_PEAK.format(row.old.at, self.comparison.sides[0], row.new.at, self.comparison.sides[1])
            )
        return str(row.new.at)

    def more_below(self, row: ComparedFigure, function: str) -> Fraction:
        """Of a row of live heap what this function allocated, or what it calls. Raises ValueError as of `sites`."""
        return self.runs(row.match).more_below(*self.place_of_sites(row), function)

    def is_unchanged_role(self, row: ComparedFigure) -> bool:
        """Whether it is live heap of a role, and bytes and blocks are those that they were."""
        if row.place.meter != "heap" or row.place.role not in ROLES or row.change.changed:
            return False
        blocks = self.beside(row, "blocks")
        return row.change.verdict == SAME and blocks is not None and not blocks.change.changed

    def runs(self, match: Match, counted: Counted = "heap") -> SiteComparison:
        key = (id(match), counted)
        if key not in self.known:
            old, new = (
                largest(side, name) for side, name in zip((match.old, match.new), self.comparison.sides, strict=True)
            )
            try:
                self.known[key] = SiteComparison(old, new, counted)
            except Unreadable as error:
                raise ValueError(str(error)) from None
        return self.known[key]


def largest(runs: Sequence[Record], side: str) -> Record:
    found = [run for run in runs if run.meter == "sites" and run.status == "measured"]
    if not found:
        raise ValueError(NO_RUN.format(side))
    return max(found, key=lambda run: run.sessions)
