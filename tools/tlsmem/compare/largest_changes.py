"""What changed most, each in a sentence, and all of it in one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, zip_longest

from tlsmem.base.printable import printable_text
from tlsmem.compare.comparison import HANDSHAKE, ComparedFigure, Comparison
from tlsmem.compare.figure_places import TIMED_METERS, Place, describe_owner, readable_phase
from tlsmem.compare.site_changes import CallSiteExplainer, describe_changes
from tlsmem.explore.diff.site_text import format_amount
from tlsmem.stats.change import Change
from tlsmem.stats.repeats import ASSUMED_SPREAD

MOST = 5
EXACT, UNEVEN = "exact", "to the byte, though sessions are not all alike"
CLASSES = (("heap", "blocks", "rest"), ("rss", "peak-rss"), TIMED_METERS, ("allocations",))
SECONDARY = {"blocks": "heap", "peak-rss": "rss"}  # meters that are said with another, where that changed
METER_NAMES = {  # of people for a meter
    "blocks": "blocks",
    "allocations": "allocations",
    "rest": "tables of the library's own",
    "rss": "RSS",
    "peak-rss": "peak RSS",
    "handshakes": "handshakes a second",
    "send": "sending",
    "receive": "receiving",
}


@dataclass(frozen=True)
class Mover:
    row: ComparedFigure
    also: tuple[str, ...] = ()  # other suites and settings with the same difference

    def sentence(self, explained: CallSiteExplainer) -> str:
        row, of = self.row, explained.comparison.describe_match(self.row.match)
        words = f"{direction(row)} in {of}: {where(row.place)}: {figures(row, explained)}{sites(row, explained)}"
        return printable_text(words + (f"; the same in {join_suites(self.also)}" if self.also else ""))


def where(place: Place) -> str:
    """`server session, established`, with the meter where it is not live heap."""
    if place.meter == "peak-rss":
        holder = "process" if place.role == "process" else f"{place.role} process"
        return f"{holder}, N = {place.sessions:,}, {METER_NAMES[place.meter]}"
    at = f", N = {place.sessions:,}" if place.sessions else ""
    meter = "" if place.meter == "heap" else f", {METER_NAMES[place.meter]}"
    return f"{describe_owner(place.role)}, {readable_phase(place.phase)}{at}{meter}"


def headline(comparison: Comparison) -> str:
    """All of it in one sentence."""
    old, new = comparison.labels
    rows, changed = comparison.rows, comparison.changed
    of = f"OLD is {old}, NEW is {new}: "
    unknown = f"; of {len(comparison.unknown):,} it is not known" if comparison.unknown else ""
    refused = f"; {len(comparison.refused):,} settings were not compared" if comparison.refused else ""
    if not changed:
        return f"{of}no change in {format_count(len(rows) - len(comparison.unknown))}{unknown}{refused}."
    worse = sum(row.change.better is False for row in changed)
    ways = [
        f"{worse:,} for the worse" * bool(worse),
        f"{len(changed) - worse:,} for the better" * (worse < len(changed)),
    ]
    return (
        f"{of}{len(changed):,} of {format_count(len(rows))} changed, "
        f"{' and '.join(filter(None, ways))}{unknown}{refused}."
    )


def format_count(number: int) -> str:
    return f"{number:,} figure{'' if number == 1 else 's'}"


def select_largest(comparison: Comparison, most: int = MOST) -> list[Mover]:
    """By share of OLD's, the largest of each class of meters before the second of any: what code does to live heap,
    to RSS and to time are not of one scale. Of each suite, role and meter the stage that changed most."""
    found: dict[tuple, ComparedFigure] = {}
    for row in worth_saying(comparison):
        key = (id(row.match), row.place.role, row.place.meter)
        if key not in found or sort_weight(row) > sort_weight(found[key]):
            found[key] = row
    rows = merged(comparison, sorted(found.values(), key=lambda row: -size(row.change)))
    classes = ([mover for mover in rows if mover.row.place.meter in meters] for meters in CLASSES)
    return list(filter(None, chain.from_iterable(zip_longest(*classes))))[:most]


def sort_weight(row: ComparedFigure) -> tuple:
    """Of equals that which lasts."""
    return abs(row.change.amount), row.place.phase == HANDSHAKE


def worth_saying(comparison: Comparison) -> Iterable[ComparedFigure]:
    """Without what is said of another row too: blocks of a heap that changed, pairs of roles that did."""
    changed = {(id(row.match), row.place.role, row.place.meter) for row in comparison.changed}
    for row in comparison.changed:
        match, role, meter = id(row.match), row.place.role, row.place.meter
        known = (match, "pair" if role == "process" else role, SECONDARY.get(meter))
        of_roles = any((match, one, meter) in changed for one in ("client", "server"))
        if known not in changed and not (role == "pair" and of_roles):
            yield row


def size(change: Change) -> float:
    return 1.0 if change.share is None else abs(change.share)


def merged(comparison: Comparison, rows: Sequence[ComparedFigure]) -> list[Mover]:
    groups: dict[tuple, list[ComparedFigure]] = {}
    for row in rows:
        same = (row.match.stack, *row.place[1:], row.change.amount)
        groups.setdefault(same if row.old.exact else (*same, id(row)), []).append(row)
    return [
        Mover(one, tuple(comparison.describe_match(other.match) for other in others))
        for one, *others in groups.values()
    ]


def direction(row: ComparedFigure) -> str:
    up = row.change.amount > 0
    return ("Faster" if up else "Slower") if row.old.more_is_better else ("More" if up else "Less")


def figures(row: ComparedFigure, explained: CallSiteExplainer) -> str:
    """`14,116 -> 14,132 B (+16 B, exact, 40 -> 40 blocks)`."""
    change, unit = row.change, row.old.unit
    notes = [signed(change.amount, unit), *how(row)]
    if row.place.meter == "heap":
        blocks = explained.beside(row, "blocks").change
        notes.append(f"{format_number(blocks.old)} -> {format_number(blocks.new)} blocks")
    return f"{format_number(change.old)} -> {format_number(change.new)} {unit} ({', '.join(notes)})"


def how(row: ComparedFigure) -> list[str]:
    """What makes it a change."""
    change, times = row.change, sorted({len(one.values) for one in (row.old, row.new)})
    if change.low is not None:
        return [format_percent(change), f"95 % interval of the factor {change.low:.3f} to {change.high:.3f}"]
    if row.old.exact and row.new.exact:
        return [EXACT if not max(row.old.noise, row.new.noise) else UNEVEN, *quotient(row)]
    once = times[0] == 1 and not row.old.counted
    repeats = " and ".join(map(str, times))
    spread = f"beyond {100 * ASSUMED_SPREAD:g} %, measured once" if once else f"beyond the spread of {repeats} repeats"
    return [format_percent(change), spread, *quotient(row)]


def quotient(row: ComparedFigure) -> list[str]:
    return [f"a quotient of N = {row.old.quotient:,}"] if row.old.quotient else []


def sites(row: ComparedFigure, explained: CallSiteExplainer) -> str:
    if row.place.meter != "heap":
        return ""
    try:
        found = explained.sites(row)
    except ValueError as error:
        return f"; call sites are not known: {error}"
    return f", {describe_changes(found)}" if found else ""


def format_number(value: Fraction | float) -> str:
    if isinstance(value, Fraction):
        return format_amount(value)
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"


def signed(value: Fraction | float, unit: str) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{format_number(abs(value))} {unit}"


def format_percent(change: Change) -> str:
    return "from nothing" if change.share is None else f"{100 * change.share:+,.2f} %"


def join_suites(suites: Sequence[str], most: int = 3) -> str:
    others = len(suites) - most
    return ", ".join(suites[:most]) + (f" and {others} other{'s'[: others > 1]}" if others > 0 else "")
