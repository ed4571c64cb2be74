"""A comparison in sentences: all of it in one, and one for each of the largest changes."""

from collections.abc import Sequence
from fractions import Fraction

from tlsmem.base.printable import printable_text
from tlsmem.compare import largest_changes
from tlsmem.compare.comparison import ComparedFigure, Comparison
from tlsmem.compare.figure_places import CUMULATIVE_METERS, Place, describe_owner, readable_phase
from tlsmem.compare.largest_changes import LargeChange
from tlsmem.compare.site_changes import CallSiteExplainer, describe_block_changes, describe_changes, format_unit
from tlsmem.explore.diff.site_text import format_amount
from tlsmem.stats.change import Change
from tlsmem.stats.repeats import ASSUMED_SPREAD

WITH_SITES = ("heap", "blocks", *CUMULATIVE_METERS)
EXACT, UNEVEN = "exact", "to the byte, though sessions are not all alike"
METER_NAMES = {
    "heap": "live heap",
    "blocks": "blocks",
    "allocations": "allocations",
    "allocated": "bytes allocated",
    "rest": "process-wide tables",
    "rss": "RSS",
    "peak-rss": "peak RSS",
    "handshakes": "handshakes a second",
    "send": "sending",
    "receive": "receiving",
}


def summarize_comparison(comparison: Comparison) -> str:
    """Return the verdict in one line."""
    old, new = comparison.labels
    total, changed, unknown = len(comparison.rows), comparison.changed, len(comparison.unknown)
    end = f"; of {unknown:,} it is not known" if unknown else ""
    end += f"; {len(comparison.refused):,} settings were not compared" if comparison.refused else ""
    if not changed:
        return f"{old} -> {new}: no change in {count_figures(total - unknown)}{end}"
    leaks = "".join(f"{one}; " for one in dict.fromkeys(map(describe_leak, largest_changes.find_leaks(comparison))))
    worse = sum(row.change.better is False for row in changed)
    counts = {"worse": worse, "better": len(changed) - worse}
    ways = ", ".join(f"{count:,} {way}" for way, count in counts.items() if count)
    return f"{old} -> {new}: {leaks}{len(changed):,} of {count_figures(total)} changed ({ways}){end}"


def describe_leak(row: ComparedFigure) -> str:
    """Return `a leak of 24 B per server session`."""
    leaked = f"{format_number(row.change.new)} {format_unit(row.change.new, row.old.unit)}"
    return f"a leak of {leaked} per {describe_owner(row.place.role)}"


def count_figures(number: int) -> str:
    return f"{number:,} figure{'' if number == 1 else 's'}"


def describe_large_change(change: LargeChange, explained: CallSiteExplainer) -> str:
    """`More in SUITE: server session, established, live heap: 14,116 -> 14,132 B (+16 B, exact; ...). Call sites: all
    of it in f (a.c:1)`."""
    row, describe_match = change.row, explained.comparison.describe_match
    if change.moved:
        return printable_text(describe_move(change, explained))
    place = describe_place(row.place, describe_span(row, explained.comparison))
    sentence = f"{direction(row)} in {describe_match(row.match)}: {place}: {describe_figures(row, explained)}"
    also = join_suites([describe_match(other.match) for other in change.also])
    return printable_text(f"{sentence}{f'; the same in {also}' if also else ''}{describe_sites(row, explained)}")


def describe_move(change: LargeChange, explained: CallSiteExplainer) -> str:
    """`Moved in SUITE: server session, established, live heap: 9,000 B as before, but 40 B more in f and 40 B less in
    g`."""
    row, describe_match = change.row, explained.comparison.describe_match
    same = f"{format_number(row.change.new)} B as before"
    sites = describe_changes(change.moved)
    return f"Moved in {describe_match(row.match)}: {describe_place(row.place)}: {same}, but {sites}"


def direction(row: ComparedFigure) -> str:
    if largest_changes.is_leak(row):
        return "Leak"
    up = row.change.amount > 0
    return ("Faster" if up else "Slower") if row.old.more_is_better else ("More" if up else "Less")


def describe_span(row: ComparedFigure, comparison: Comparison) -> str:
    """`from phase created on`, `phases created to idle`, or the one phase; of allocations, up to which."""
    phase = readable_phase(row.place.phase)
    if row.place.meter in CUMULATIVE_METERS:
        return f"up to {phase}"
    if row.place.meter not in ("heap", "blocks") or row.place.phase in largest_changes.NO_SESSION:
        return phase
    end = largest_changes.find_end(row, comparison)
    if end is None:
        return f"from phase {phase} on"
    return phase if end is row else f"phases {phase} to {readable_phase(end.place.phase)}"


def describe_place(place: Place, span: str | None = None) -> str:
    """`server session, established, live heap`, or `server session, live heap from phase created on` of a span."""
    sessions = f", N = {place.sessions:,}" if place.sessions else ""
    if place.meter == "peak-rss":
        process = "process" if place.role == "process" else f"{place.role} process"
        return f"{process}{sessions}, {METER_NAMES[place.meter]}"
    owner, meter, phase = describe_owner(place.role), METER_NAMES[place.meter], readable_phase(place.phase)
    if span and span != phase:
        return f"{owner}, {meter} {span}{sessions}"
    return f"{owner}, {phase}{sessions}, {meter}"


def describe_figures(row: ComparedFigure, explained: CallSiteExplainer) -> str:
    """`14,116 -> 14,132 B (+16 B, exact; 40 -> 40 blocks)`."""
    change, unit = row.change, row.old.unit
    size: Fraction | float = max(change.amount, -change.amount)  # abs() of a union has no type
    notes = [f"{'+' if change.amount > 0 else '-'}{format_number(size)} {format_unit(size, unit)}", *reasons(row)]
    also: list[str] = []
    if begun := largest_changes.find_smaller_start(row, explained.comparison):
        earlier = f"{format_number(abs(Fraction(begun.change.amount)))} {format_unit(change.amount, unit)}"
        also.append(f"{earlier} of it from phase {readable_phase(begun.place.phase)} on")
    if row.place.meter == "heap" and (blocks := explained.beside(row, "blocks")):
        also.append(f"{format_both(blocks.change)} {format_unit(blocks.change.new, 'blocks')}")
    return f"{format_both(change)} {format_unit(change.new, unit)} ({'; '.join([', '.join(notes), *also])})"


def reasons(row: ComparedFigure) -> list[str]:
    """Why this counts as a change."""
    change, old, new = row.change, row.old, row.new
    if change.low is not None:
        return [format_percent(change), f"95 % interval of the factor {change.low:.3f} to {change.high:.3f}"]
    quotient = [f"a quotient of N = {old.quotient:,}"] if old.quotient else []
    if row.place.meter == "allocated" and len(old.values) == len(new.values) == 1:
        noise = format_number(float(max(old.noise, new.noise)))
        return [format_percent(change), f"beyond the {noise} B by which unchanged builds may differ", *quotient]
    if old.exact and new.exact:
        return [UNEVEN if max(old.noise, new.noise) else EXACT, *quotient]
    repeats = sorted({len(one.values) for one in (old, new)})
    spread = f"beyond the spread of {' and '.join(map(str, repeats))} repeats"
    if repeats[0] == 1 and not old.counted:
        spread = f"beyond {100 * ASSUMED_SPREAD:g} %, measured once"
    return [format_percent(change), spread, *quotient]


def describe_sites(row: ComparedFigure, explained: CallSiteExplainer) -> str:
    """The call sites of live heap, or of allocations, that changed, as a sentence without its full stop."""
    counted = explained.beside(row, "heap") if row.place.meter == "blocks" else row
    if row.place.meter not in WITH_SITES or not counted:
        return ""
    try:
        changes = explained.sites(counted)
    except ValueError as error:
        return f". Call sites are not known: {error}"
    if row.place.meter == "allocated":  # what call stacks do not explain is noise as long as it is below that
        noise = max(row.old.noise, row.new.noise)
        changes = [one for one in changes if one.is_site or abs(one.bytes) >= noise]
    by_bytes = row.place.meter in ("heap", "allocated")
    sites = describe_changes(changes) if by_bytes else describe_block_changes(changes)
    return f". Call sites: {sites}" if sites else ""


def format_number(value: Fraction | float) -> str:
    if isinstance(value, Fraction):
        return format_amount(value)
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"


def format_both(change: Change) -> str:
    return f"{format_number(change.old)} -> {format_number(change.new)}"


def format_percent(change: Change) -> str:
    return "from nothing" if change.share is None else f"{100 * change.share:+,.2f} %"


def join_suites(suites: Sequence[str], most: int = 3) -> str:
    others = len(suites) - most
    return ", ".join(suites[:most]) + (f" and {others} other{'s'[: others > 1]}" if others > 0 else "")
