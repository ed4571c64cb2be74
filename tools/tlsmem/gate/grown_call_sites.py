"""Where what exceeds a limit was allocated: the call sites that grew since the baseline; without one, those that hold
most."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from tlsmem.compare import figure_places, site_changes
from tlsmem.compare.figure_places import EXACT_METERS, PEAK, Place
from tlsmem.config.scenarios import Settings
from tlsmem.explore import short_function_names
from tlsmem.explore.diff import site_text
from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS
from tlsmem.gate import scenario_meters
from tlsmem.gate.budget_figure import own_settings
from tlsmem.gate.scenario_meters import METERS
from tlsmem.gate.verdicts import EXCEEDED, Ruling
from tlsmem.profile.frames import Frame
from tlsmem.schema.records import Record
from tlsmem.tables import call_sites
from tlsmem.tables.table import Cell, Column, Table, quotient_cell

ROWS = 5
GREW = (
    "Bytes and blocks that a session has live more than in the baseline at the end of the phase, by call site, "
    "innermost caller first; what shrank is not shown. Unexplained is what the call "
    "stacks of one pair do not tell of all sessions."
)
HELD = "Bytes and blocks live at the end of the phase, of one pair, by call site, innermost caller first."
SHOWN = (*EXACT_METERS, "rss", "peak-rss", *METERS)  # of rates and of what was ever allocated live memory says nothing


class Site(NamedTuple):
    """Bytes and blocks, of a session; who called the allocator."""

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

    @property
    def title(self) -> str:
        what = "call sites that grew" if self.grew else "call sites that hold most"
        at = ", ".join(figure_places.readable_phase(figure_places.parse_phase(phase)) for phase in self.phases)
        own = f", {words}" if (words := figure_places.describe_settings(self.settings)) else ""
        return f"{self.stack}, {self.suite}: {self.role} session, {at}{own}: {what}"

    def table(self) -> Table:
        more = "more " if self.grew else ""
        columns = [Column("bytes", f"{more}bytes"), Column("blocks", f"{more}blocks"), Column("by", "by", left=True)]
        rows = [[one.bytes, one.blocks, Cell(one.by, one.by)] for one in self.sites]
        own = "".join(f" {value}" for _, value in self.settings)
        name = f"call-sites {self.stack} {self.suite} {self.role} {', '.join(self.phases)}{own}"
        return Table(name, self.title, GREW if self.grew else HELD, columns, rows)

    def plain_lines(self) -> list[str]:
        """Without a table."""
        sign = "+" if self.grew else ""
        return [
            f"{self.title}:",
            *(f"  {sign}{one.bytes.text} B, {sign}{one.blocks.text} blocks: {one.by}" for one in self.sites),
        ]


def explain_rulings(
    rulings: Iterable[Ruling], new: Sequence[Record], old: Sequence[Record]
) -> dict[Growth, list[Ruling]]:
    """Of those that exceed, with the rulings that each explains; `new` and `old` are all runs, the baseline's too."""
    found: dict[Growth, dict[str, list[Ruling]]] = {}
    for ruling in rulings:
        place = ruling.budget.place
        if ruling.verdict == EXCEEDED and place.meter in SHOWN and place.meter != "allocations":
            for role in (place.role,) if place.role in ("client", "server") else ("client", "server"):
                if growth := explain_role(ruling, role, new, old):
                    found.setdefault(growth, {}).setdefault(phase_of(ruling), []).append(ruling)
    return {one._replace(phases=tuple(at)): [*chain(*at.values())] for one, at in found.items()}


def explain_role(ruling: Ruling, role: str, new: Sequence[Record], old: Sequence[Record]) -> Growth | None:
    """None where there are no call stacks."""
    budget, phase = ruling.budget, phase_of(ruling)
    after = sites_run(new, budget.stack, budget.place)
    before = sites_run(old, budget.against or budget.stack, budget.place) if ruling.old else None
    if not after:
        return None
    owner = METERS[budget.place.meter].owner(role) if budget.place.meter in METERS else role
    try:
        sites = grown(before, after, owner, phase) if before else holding(after, owner, phase)
    except ValueError:  # no such phase in a sites run, or no call stacks that can be read
        return None
    if not sites:
        return None
    return Growth(budget.stack, budget.place.suite, role, bool(before), tuple(sites), settings=budget.place.settings)


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


def grown(before: Record, after: Record, role: str, phase: str) -> list[Site]:
    changes = site_changes.compare_sites(before, after, role, phase)
    more = [one for one in changes if one.bytes > 0 or (not one.bytes and one.blocks > 0)]
    by = [" < ".join([one.where, *one.callers[1:]]) for one in more]
    return largest([(one.bytes, one.blocks) for one in more], by)


def holding(run: Record, role: str, phase: str) -> list[Site]:
    """Whatever the phase that allocated them."""
    sizes, blocks = Counter(), Counter()
    stacks: dict[tuple[str, ...], list[Sequence[Frame]]] = {}
    for counts, sums in zip(call_sites.live_by_site(run, role, phase), (sizes, blocks), strict=True):
        for (_, frames), count in counts.items():
            inner = frames[:INNERMOST_CALLERS]
            names = tuple(map(short_function_names.frame_name, inner))
            stacks.setdefault(names, []).append(inner)
            sums[names] += count
    ordered = [names for names, _ in sizes.most_common()]
    return largest([(sizes[one], blocks[one]) for one in ordered], [describe_callers(stacks[one]) for one in ordered])


def describe_callers(stacks: Sequence[Sequence[Frame]]) -> str:
    """Of stacks with the same names: the innermost with its file and lines."""
    first, *others = stacks[0]
    lines = frozenset(frames[0].line for frames in stacks if frames[0].line)
    named = site_text.describe_lines(first, lines)
    return " < ".join([named, *map(short_function_names.frame_name, others)])


def largest(amounts: Sequence[tuple], by: Sequence[str]) -> list[Site]:
    """As they are ordered; the others in one row."""
    shown = [Site(*map(cell, amount), name) for amount, name in zip(amounts[:ROWS], by, strict=False)]
    if rest := amounts[ROWS:]:
        sums = (cell(sum(one)) for one in zip(*rest, strict=True))
        shown.append(Site(*sums, f"{len(rest):,} other{'s'[: len(rest) > 1]}"))
    return shown


def cell(amount) -> Cell:
    return quotient_cell(amount.numerator, amount.denominator)
