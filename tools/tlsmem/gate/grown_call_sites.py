"""Call sites behind an exceeded limit: those that grew since the file's baseline, whether the limit is relative to it
or not. Without a baseline, or if none grew: those that hold most. For `allocations` and `allocated`, freed or not."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from tlsmem.compare import figure_places, site_changes
from tlsmem.compare.figure_places import EXACT_METERS, Place
from tlsmem.compare.site_changes import Counted
from tlsmem.config.choices import PEAK
from tlsmem.config.scenarios import Settings
from tlsmem.explore import short_function_names
from tlsmem.explore.diff import site_text
from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS
from tlsmem.gate import budget_figure, scenario_meters
from tlsmem.gate.budget_figure import own_settings
from tlsmem.gate.scenario_meters import METERS
from tlsmem.gate.verdicts import COUNTED, EXCEEDED, Ruling
from tlsmem.profile import sites_reader
from tlsmem.profile.frames import Frame, skip_allocators
from tlsmem.schema.roles import ROLES, Owner, Role
from tlsmem.store.record import Record
from tlsmem.tables import call_sites
from tlsmem.tables.table import Cell, Heading, Table, quotient_cell

ROWS = 5
COUNTED_BY_METER: dict[str, Counted] = {"allocations": "allocations", "allocated": "allocated"}  # others: live heap


class Wording(NamedTuple):
    title: str
    caption: str


UNEXPLAINED = (
    " A row *unexplained* has what no call stack accounts for: call stacks come from one pair of sessions, figures "
    "from many."
)
WORDINGS: dict[tuple[Counted, bool], Wording] = {  # by what is counted, and whether it is what grew since the baseline
    ("heap", True): Wording(
        "call sites that grew",
        "Additional live bytes and blocks per session, compared with the baseline, at the end of the phase. Innermost "
        "caller first; sites that shrank are not shown.",
    ),
    ("heap", False): Wording(
        "call sites that hold most",
        "Live bytes and blocks of one pair at the end of the phase. Innermost caller first.",
    ),
    ("allocations", True): Wording(
        "call sites that allocate more",
        "Additional blocks that a session allocates up to the end of the phase, freed or not, compared with the "
        "baseline. Innermost caller first; sites that shrank are not shown.",
    ),
    ("allocated", True): Wording(
        "call sites that allocate more",
        "Additional bytes that a session allocates up to the end of the phase, freed or not, compared with the "
        "baseline. Innermost caller first; sites that shrank are not shown.",
    ),
    ("allocated", False): Wording(
        "call sites that allocate most",
        "Bytes that one pair allocates up to the end of the phase, freed or not. Innermost caller first.",
    ),
    ("allocations", False): Wording(
        "call sites that allocate most",
        "Blocks that one pair allocates up to the end of the phase, freed or not. Innermost caller first.",
    ),
}
SHOWN = (*EXACT_METERS, "rss", "peak-rss", *METERS)  # of rates memory says nothing


class Amounts(NamedTuple):
    """Bytes and blocks of a session; who called the allocator."""

    bytes: int | Fraction
    blocks: int | Fraction
    by: str


class Site(NamedTuple):
    """The same, as cells."""

    bytes: Cell
    blocks: Cell
    by: str


class Growth(NamedTuple):
    """Of a role: the largest sites, the last for all others; at the end of each phase (as recorded) that has just
    these."""

    stack: str
    suite: str
    role: str
    grew: bool  # since the baseline; else they are what is held
    sites: tuple[Site, ...]
    phases: tuple[str, ...] = ()
    settings: Settings = ()  # of a scenario with keys of its own
    counted: Counted = "heap"

    @property
    def title(self) -> str:
        what = WORDINGS[self.counted, self.grew].title
        at = ", ".join(figure_places.readable_phase(figure_places.parse_phase(phase)) for phase in self.phases)
        own = f", {words}" if (words := figure_places.describe_settings(self.settings)) else ""
        return f"{self.stack}, {self.suite}: {self.role} session, {at}{own}: {what}"

    def table(self) -> Table:
        more = "more " if self.grew else ""
        units = ("blocks", "bytes") if self.counted == "allocations" else ("bytes", "blocks")
        columns = [*(Heading(unit, f"{more}{unit}") for unit in units), Heading("by", "by", left=True)]
        rows = [[*(getattr(one, unit) for unit in units), Cell(one.by, one.by)] for one in self.sites]
        kind = "call-sites" if self.counted == "heap" else f"{self.counted.removesuffix('s')}-sites"
        own = "".join(f" {value}" for _, value in self.settings)
        name = f"{kind} {self.stack} {self.suite} {self.role} {', '.join(self.phases)}{own}"
        return Table(
            name, self.title, f"{WORDINGS[self.counted, self.grew].caption}{self.describe_unexplained()}", columns, rows
        )

    def describe_unexplained(self) -> str:
        return UNEXPLAINED if self.grew and any(site_changes.UNEXPLAINED in one.by for one in self.sites) else ""

    def plain_lines(self) -> list[str]:
        """Without a table."""
        sign = "+" if self.grew else ""
        amounts = [(f"{sign}{one.bytes.text} B", f"{sign}{one.blocks.text} blocks") for one in self.sites]
        ordered = [amount[::-1] for amount in amounts] if self.counted == "allocations" else amounts
        lines = [f"  {', '.join(amount)}: {one.by}" for amount, one in zip(ordered, self.sites, strict=True)]
        return [f"{self.title}:", *lines]


def explain_rulings(
    rulings: Iterable[Ruling], new: Sequence[Record], old: Sequence[Record]
) -> dict[Growth, list[Ruling]]:
    """Of those that exceed, with the rulings that each explains; `new` and `old` are all runs, the baseline's too."""
    found: dict[Growth, dict[str, list[Ruling]]] = {}
    for ruling in rulings:
        place = ruling.budget.place
        if ruling.verdict == EXCEEDED and place.meter in SHOWN:
            for role in [one for one in ROLES if one == place.role] or ROLES:
                if growth := explain_role(ruling, role, new, old):
                    found.setdefault(growth, {}).setdefault(phase_of(ruling), []).append(ruling)
    return {one._replace(phases=tuple(at)): [*chain(*at.values())] for one, at in found.items()}


def explain_role(ruling: Ruling, role: Role, new: Sequence[Record], old: Sequence[Record]) -> Growth | None:
    """None where there are no call stacks."""
    budget, phase = ruling.budget, phase_of(ruling)
    after = sites_run(new, budget.stack, budget.place)
    before = sites_run(old, budget.against or budget.stack, budget.place)
    if not after:
        return None
    if before and budget_figure.describe_difference([after], [before], *COUNTED):
        before = None
    meter = METERS.get(budget.place.meter)
    owner = meter.owner(role) if meter else role
    counted = COUNTED_BY_METER.get(budget.place.meter, "heap")
    try:
        sites = grown(before, after, owner, phase, counted) if before else []
        if not sites and not ruling.old:  # nothing grew: the limit is below what the baseline has
            before, sites = None, holding(after, owner, phase, counted)
    except ValueError:  # no such phase in a sites run, or no call stacks that can be read
        return None
    if not sites:
        return None
    own = budget.place.settings
    return Growth(budget.stack, budget.place.suite, role, bool(before), tuple(sites), settings=own, counted=counted)


def phase_of(ruling: Ruling) -> str:
    """Of a peak the phase that it is in; of resident memory's, which does not tell, the end of the handshake."""
    if ruling.budget.place.phase != PEAK:
        return figure_places.recorded_phase(ruling.budget.place.phase)
    return ruling.at or "established"


def sites_run(runs: Iterable[Record], stack: str, place: Place) -> Record | None:
    """The last that was measured."""
    asked = (stack, place.suite, "sites", scenario_meters.scenario(place.meter), dict(place.settings))
    found = [one for one in runs if (one.stack, one.suite, one.meter, one.scenario, own_settings(one)) == asked]
    return next((one for one in reversed(found) if one.status == "measured"), None)


def grown(before: Record, after: Record, role: Owner, phase: str, counted: Counted) -> list[Site]:
    changes = site_changes.compare_sites(before, after, role, phase, counted=counted)
    if counted == "allocations":
        more = [one for one in changes if one.blocks > 0]
    else:
        more = [one for one in changes if one.bytes > 0 or (not one.bytes and one.blocks > 0)]
    return largest([Amounts(one.bytes, one.blocks, site_changes.describe_callers(one)) for one in more])


def holding(run: Record, role: Owner, phase: str, counted: Counted) -> list[Site]:
    """Whatever the phase that allocated them; of allocations those that allocate most blocks."""
    sizes: Counter[tuple[str, ...]] = Counter()
    blocks: Counter[tuple[str, ...]] = Counter()
    stacks: dict[tuple[str, ...], list[Sequence[Frame]]] = {}
    for frames, size, count in amounts_by_stack(run, role, phase, counted):
        inner = frames[:INNERMOST_CALLERS]
        names = tuple(map(short_function_names.frame_name, inner))
        stacks.setdefault(names, []).append(inner)
        sizes[names] += size
        blocks[names] += count
    ordered = [names for names, _ in (blocks if counted == "allocations" else sizes).most_common()]
    return largest([Amounts(sizes[one], blocks[one], describe_callers(stacks[one])) for one in ordered])


def amounts_by_stack(
    run: Record, role: Owner, phase: str, counted: Counted
) -> Iterator[tuple[Sequence[Frame], int, int]]:
    """Yield frames outside of allocators, bytes and blocks. Raises ValueError where the phase or call stacks are
    missing."""
    if counted == "heap":
        sizes, blocks = call_sites.live_by_site(run, role, phase)
        yield from ((frames, size, blocks[since, frames]) for (since, frames), size in sizes.items())
        return
    profile = sites_reader.allocations_from_record(run)
    for stack, held in profile.live(phase, role).items():
        yield skip_allocators(profile.stacks.frames(stack)), held.bytes, held.blocks or 0


def describe_callers(stacks: Sequence[Sequence[Frame]]) -> str:
    """Of stacks with the same names: the innermost with its file and lines."""
    first, *others = stacks[0]
    lines = frozenset(frames[0].line for frames in stacks if frames[0].line)
    named = site_text.describe_lines(first, lines)
    return " < ".join([named, *map(short_function_names.frame_name, others)])


def largest(amounts: Sequence[Amounts]) -> list[Site]:
    """As they are ordered; the others in one row."""
    shown, rest = [*amounts[:ROWS]], amounts[ROWS:]
    if rest:
        others = f"{len(rest):,} other{'s'[: len(rest) > 1]}"
        shown.append(Amounts(sum(one.bytes for one in rest), sum(one.blocks for one in rest), others))
    return [Site(cell(one.bytes), cell(one.blocks), one.by) for one in shown]


def cell(amount: int | Fraction) -> Cell:
    return quotient_cell(amount.numerator, amount.denominator)
