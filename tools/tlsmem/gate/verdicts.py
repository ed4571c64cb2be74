"""Whether a budget is held: exactly where counts are exact, beyond the spread of repeats where they are measured."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tlsmem.gate import budget_figure
from tlsmem.gate.budget import Budget
from tlsmem.gate.budget_figure import Evidence, NoEvidence, Recording
from tlsmem.gate.limits import RATE_UNITS
from tlsmem.schema.harness_output import Roles
from tlsmem.stats import change, repeats
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing
from tlsmem.stats.repeats import Number
from tlsmem.store.record import Record

Verdict = Literal["held", "exceeded", "cannot be judged"]
HELD: Verdict = "held"
EXCEEDED: Verdict = "exceeded"
UNKNOWN: Verdict = "cannot be judged"
ABSENT = "the baseline does not have it: {}"
MACHINE = "the baseline was recorded on another machine ({}), and {} is not compared across machines"
SAME_COUNTS = "the baseline was recorded on another machine ({}); counts of requested memory do not depend on it"
SETTINGS = "the baseline was recorded with other settings ({})"
COUNTED = ("suite", "cpu", "options", "window")  # what counts depend on
MEASURED = (*COUNTED, "env", "allocator")
NO_LINE = "the baseline has RSS of fewer than two of the same N, and a line through others is another line"
INSIDE = "beyond the limit, but not beyond the spread of repeats"
UNEVEN = "beyond the limit by less than one of a session, as which sessions are not all alike"
NOISE = "above the limit by less than the {:,.0f} B a session by which unchanged builds may differ"


class Standing(NamedTuple):
    """A value against its limit, all in the meter's own unit."""

    value: Number
    allowed: Number
    beyond: Number  # the limit; negative within
    baseline: Number | None
    spread: Number | None  # None: exact


class Ruling(NamedTuple):
    """`new` and `old`: the runs it stands on, in the arrangement of `roles`."""

    budget: Budget
    verdict: Verdict
    standing: Standing | Missing  # Missing where it cannot be judged
    note: str | None = None
    new: tuple[Record, ...] = ()
    old: tuple[Record, ...] = ()
    at: str | None = None  # of a peak: the phase it is in


def refuse(budget: Budget, why: str, new: Sequence[Record], old: Sequence[Record] = ()) -> Ruling:
    """Return that it cannot be judged."""
    return Ruling(budget, UNKNOWN, Missing(why), why, tuple(new), tuple(old))


def judge_budget(budget: Budget, measured: Recording, baseline: Recording | None) -> Ruling:
    """A budget whose limit is relative needs the baseline."""
    roles, new = budget_figure.find_arrangement(measured.records, budget)
    found = budget_figure.find_evidence(new, budget.place, measured, budget.stack)
    if isinstance(found, NoEvidence):
        return refuse(budget, found.why, found.runs)
    if not budget.limit.relative:
        return judge_value(budget, found, None)
    assert baseline
    return against(budget, new, baseline, roles, measured)


def against(budget: Budget, new: list[Record], baseline: Recording, roles: Roles, measured: Recording) -> Ruling:
    """The baseline's runs in the same arrangement of roles."""
    name = budget.against or budget.stack
    old = budget_figure.select_runs(baseline.records, name, budget, roles)
    before = budget_figure.find_evidence(old, budget.place, baseline, name)
    if isinstance(before, NoEvidence) and not any(run.status == "measured" for run in old):
        return refuse(budget, ABSENT.format(before.why), new)
    of_rss = budget.place.meter == "rss"
    if of_rss:
        new, old = budget_figure.limit_to_common_sessions(new, old)
        before = budget_figure.find_evidence(old, budget.place, baseline, name)
    after = budget_figure.find_evidence(new, budget.place, measured, budget.stack)
    if isinstance(before, NoEvidence):
        return refuse(budget, NO_LINE if of_rss else ABSENT.format(before.why), after.runs, before.runs)
    if isinstance(after, NoEvidence):  # its figure is lost where it is limited to the sessions of the baseline
        return refuse(budget, NO_LINE, after.runs, before.runs)
    if why := unlike(budget, after, before):
        return refuse(budget, why, after.runs, before.runs)
    return judge_value(budget, after, before)


def unlike(budget: Budget, new: Evidence, old: Evidence) -> str | None:
    """Why the baseline's figure is none to be held against."""
    meter = budget.place.meter
    counted = new.figure.counted and old.figure.counted
    if not counted and (differs := budget_figure.describe_difference(new.runs, old.runs, "machine")):
        return MACHINE.format(differs, meter)
    if differs := budget_figure.describe_difference(new.runs, old.runs, *(COUNTED if counted else MEASURED)):
        return SETTINGS.format(differs)
    if meter == "rss" and (new.figure.quotient or old.figure.quotient):
        return NO_LINE
    return change.unlike_reason(old.figure, new.figure)


def judge_value(budget: Budget, new: Evidence, old: Evidence | None) -> Ruling:
    """The value against what is allowed; beyond noise where it is measured."""
    value = change.median(new.figure.values)
    base = change.median(old.figure.values) if old else None
    both = [new.figure, *([old.figure] if old else [])]
    exact, spread, noise = all(one.exact for one in both), spread_of(both), max(one.noise for one in both)
    allowed = budget.limit.threshold(base)
    beyond = allowed - value if budget.place.meter in RATE_UNITS else value - allowed
    standing = Standing(value, allowed, beyond, base, None if exact else spread)
    runs = new.runs, old.runs if old else ()
    found = Ruling(budget, HELD, standing, noted(new, old), *runs, at=new.figure.at)
    if beyond <= 0:
        return found
    if beyond > spread and beyond >= noise:
        return found._replace(verdict=EXCEEDED)
    uneven = UNEVEN if noise <= 1 else NOISE.format(float(noise))
    why = uneven if beyond > spread else repeats.SINGLE_RUN_NOTE if once(both) else INSIDE
    return found._replace(note="; ".join(filter(None, (found.note, why))))


def spread_of(figures: Sequence[Figure]) -> Number:
    """How far repeats lie apart; of what is measured and not counted, and that once, the largest spread known."""
    spreads = [repeats.value_range(one.values) for one in figures]
    return max(spreads + [repeats.ASSUMED_SPREAD * one.values[0] for one in once(figures)])


def once(figures: Sequence[Figure]) -> list[Figure]:
    return [one for one in figures if not one.counted and len(one.values) < 2]


def noted(new: Evidence, old: Evidence | None) -> str | None:
    """What a reader must know of the figure."""
    differs = budget_figure.describe_difference(new.runs, old.runs, "machine") if old else None
    return "; ".join(filter(None, (new.figure.note, differs and SAME_COUNTS.format(differs)))) or None
