"""Every limit with what was measured and the verdict: as a table, and what is not held as sentences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tlsmem.compare.figure_places import LAST_PHASES, describe_settings
from tlsmem.gate.limits import RATE_UNITS, UNITS_BY_METER
from tlsmem.gate.verdicts import HELD, Ruling
from tlsmem.stats.missing import Missing
from tlsmem.stats.repeats import Number
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, optional, text_cell

CAPTION = (
    "Heap counts are exact: one byte or block above the limit exceeds it. RSS and rates are medians of repeats. A "
    "median exceeds its limit only if it is beyond it by more than the spread of the repeats (the larger of this run's "
    "and the baseline's). A budget that cannot be judged counts as exceeded."
)
COLUMNS = (
    Heading("stack", "stack", left=True),
    Heading("suite", "suite", left=True),
    Heading("role", "role", left=True),
    Heading("phase", "phase", left=True),
    Heading("meter", "meter", left=True),
    Heading("settings", "settings", left=True, usual=""),
    Heading("limit", "limit"),
    optional(Heading("allowed", "limit, absolute")),
    Heading("value", "value"),
    Heading("beyond", "beyond"),
    optional(Heading("spread", "spread")),
    Heading("verdict", "verdict", left=True),
)


def build_table(rulings: Iterable[Ruling]) -> Table:
    return Table("budgets", "Budgets", CAPTION, list(COLUMNS), list(map(row, rulings)), headed=2)


def row(ruling: Ruling) -> list[Cell]:
    place, meter = ruling.budget.place, ruling.budget.place.meter
    named = [ruling.budget.stack, place.suite, place.role, at(ruling), meter, describe_settings(place.settings)]
    return [
        *map(text_cell, [*named, str(ruling.budget.limit)]),
        *figures(ruling),
        Cell(ruling.verdict, ruling.verdict, ruling.note),
    ]


def at(ruling: Ruling) -> str:
    place = ruling.budget.place
    return f"{place.phase}, N = {place.sessions:,}" if place.sessions else place.phase


def figures(ruling: Ruling) -> list[Cell]:
    """What is allowed, the value, how far it is beyond, and its spread."""
    meter, standing = ruling.budget.place.meter, ruling.standing
    if isinstance(standing, Missing):
        return [missing_cell(standing.reason)] * 4
    over = amount(standing.beyond, meter) if standing.beyond > 0 else Cell("none", 0.0)
    spread = Cell("exact", 0.0) if standing.spread is None else amount(standing.spread, meter)
    return [amount(standing.allowed, meter), amount(standing.value, meter), over, spread]


def amount(value: Number, meter: str) -> Cell:
    return Cell(format_amount(value, meter), float(value))


def format_amount(value: Number, meter: str) -> str:
    """`47,592 B`, `1 block`, `4,012/s`; of what is not whole two digits."""
    unit = next(iter(UNITS_BY_METER[meter]))
    whole = value.denominator == 1 if isinstance(value, Fraction) else abs(value) >= 1000
    number = f"{round(value):,}" if whole else f"{float(value):,.2f}"
    unit = "block" if (value, unit) == (1, "blocks") else unit
    return f"{number}{'' if unit == '/s' else ' '}{unit}"


def describe_ruling(ruling: Ruling) -> str:
    """Of a budget that is not held: which, and by how much."""
    budget, meter = ruling.budget, ruling.budget.place.meter
    own = "" if budget.title in ("", budget.stack) or "@" in budget.title else f" ({budget.title})"
    named = f"[[budget]] {budget.number}{own}: {budget}"
    standing = ruling.standing
    if isinstance(standing, Missing):
        return f"{named}: {ruling.verdict}: {standing.reason}"
    least, how = ("at least", "less") if meter in RATE_UNITS else ("at most", "more")
    value, allowed, beyond = (format_amount(one, meter) for one in standing[:3])
    base = standing.baseline
    against = f" ({budget.limit} against {format_amount(base, meter)})" if base is not None else ""
    leak = "a leak: " if meter in ("heap", "blocks") and budget.place.phase in LAST_PHASES else ""
    return f"{named}: {leak}{value}, {least} {allowed}{against}: {beyond} {how} than the limit"


def describe_failures(rulings: Iterable[Ruling]) -> list[str]:
    """Return a sentence for each budget that is not held, the largest excess first."""
    wrong = sorted((one for one in rulings if one.verdict != HELD), key=excess, reverse=True)
    return [describe_ruling(one) for one in wrong]


def excess(ruling: Ruling) -> float:
    """Return how far beyond the limit, as a share of what is allowed; infinite where that is not known or nothing."""
    standing = ruling.standing
    if isinstance(standing, Missing) or not standing.allowed:
        return float("inf")
    return float(standing.beyond) / abs(float(standing.allowed))


def summarise(rulings: Sequence[Ruling]) -> str:
    """`5 of 6 budgets are held; 1 exceeded`."""
    counts = Counter(one.verdict for one in rulings)
    held = counts.pop(HELD, 0)
    budgets = "budget" if len(rulings) == 1 else "budgets"
    every = f"{held} of {len(rulings)} {budgets} {'is' if 1 in (held, len(rulings)) else 'are'} held"
    others = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{every}; {others}" if others else every
