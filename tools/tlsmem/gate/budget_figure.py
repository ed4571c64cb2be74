"""What a recording has to say of one budget: the figure at its place with its runs, or why there is none."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tlsmem.compare import declared_settings
from tlsmem.compare.figure_places import EXACT_METERS, TIMED_METERS, Place
from tlsmem.compare.figures import figures_by_place
from tlsmem.config.run import SYSTEM
from tlsmem.config.scenarios import settings_in_argv
from tlsmem.gate import measure_budgets, scenario_meters
from tlsmem.gate.budget import Budget
from tlsmem.gate.scenario_meters import METERS
from tlsmem.schema.harness_output import Roles
from tlsmem.stats import timed_selection
from tlsmem.stats.change import Figure
from tlsmem.stats.comparability import select_comparable
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import select_newest
from tlsmem.stats.series import Setting
from tlsmem.stats.timed_selection import Work
from tlsmem.store.record import Record

NONE = "it was not measured in {}, which has {}"
OTHER_SETTINGS = "it was not measured in {} with these settings; there are: {}"
MOST = 5  # that are named
NO_PHASE = "its runs have no such phase; there are: {}"
NO_FIGURE = "its runs do not tell it"


class Recording(NamedTuple):
    """What messages call it, and its runs."""

    name: str
    records: Sequence[Record]


class Evidence(NamedTuple):
    """A figure with the runs that it is of."""

    figure: Figure
    runs: tuple[Record, ...]


class NoEvidence(NamedTuple):
    """Why there is no figure, and the runs that it would be of, whatever became of them."""

    why: str
    runs: tuple[Record, ...]


def settings(budget: Budget) -> list[Roles]:
    """How roles may be arranged for this budget, the usual way first."""
    exact = budget.place.meter in EXACT_METERS and budget.place.role != "pair"
    return ["together", "split"] if exact else [measure_budgets.choose_roles(budget)]


def find_arrangement(records: Sequence[Record], budget: Budget) -> tuple[Roles, list[Record]]:
    """The first arrangement of roles in which it was measured, with its runs; else one in which that failed."""
    ways = [(roles, select_runs(records, budget.stack, budget, roles)) for roles in settings(budget)]
    sound = [way for way in ways if any(run.status == "measured" for run in way[1])]
    return next(iter(sound), max(ways, key=lambda way: bool(way[1])))


def select_runs(records: Iterable[Record], stack: str, budget: Budget, roles: Roles) -> list[Record]:
    """The newest comparable ones in one setting."""
    own = [one for one in records if (one.stack, one.suite) == (stack, budget.place.suite)]
    if budget.place.meter in TIMED_METERS:
        handshake = budget.place.meter == "handshakes"
        size = None if handshake else measure_budgets.WRITE_BYTES
        work = Work("handshake" if handshake else "throughput", budget.place.suite, size_bytes=size)
        return list(
            timed_selection.select(
                one for one in own if timed_selection.is_timed(one) and Work.from_record(one) == work
            ).records
        )
    scenario, settings = scenario_meters.scenario(budget.place.meter), dict(budget.place.settings)
    setting = Setting(budget.place.suite, SYSTEM, "all", roles)
    of_scenario = (one for one in own if (one.scenario, own_settings(one)) == (scenario, settings))
    return select_newest(select_comparable(one for one in of_scenario if Setting.from_record(one) == setting))


def own_settings(run: Record) -> dict[str, str]:
    """Of a scenario with keys of its own."""
    return dict(settings_in_argv(run.scenario, run.argv))


def find_evidence(runs: Sequence[Record], place: Place, recording: Recording, stack: str) -> Evidence | NoEvidence:
    """From the runs of one setting and stack, of a recording."""
    if place.meter in METERS:
        return find_scenario_evidence(runs, place, recording, stack)
    meters = (
        ("time",) if place.meter in TIMED_METERS else ("heap", "sites") if place.meter in EXACT_METERS else ("rss",)
    )
    told = tuple(run for run in runs if run.meter in meters)
    try:
        found = figures_by_place(run for run in told if run.status == "measured")
    except ValueError as error:  # a run that lacks a phase which every figure needs
        return NoEvidence(f"{error} in {recording.name}", told)
    if place in found:
        return Evidence(found[place], told)
    return NoEvidence(lacking(told, place, recording, found), told)


def find_scenario_evidence(
    runs: Sequence[Record], place: Place, recording: Recording, stack: str
) -> Evidence | NoEvidence:
    """Of a meter of another scenario."""
    meter = METERS[place.meter]
    told = tuple(run for run in runs if run.meter in dict(meter.runs))
    if not told and (others := other_settings(stack, place, recording)):
        return NoEvidence(OTHER_SETTINGS.format(recording.name, others), told)
    if any(run.status != "measured" for run in told) or not told:
        return NoEvidence(lacking(told, place, recording, []), told)
    figure = meter.figure(told, place.role)
    return NoEvidence(figure.reason, told) if isinstance(figure, Missing) else Evidence(figure, told)


def other_settings(stack: str, place: Place, recording: Recording) -> str | None:
    """With which keys of its scenario a stack was measured in the place's suite; None where it was not at all."""
    scenario = scenario_meters.scenario(place.meter)
    alike = [one for one in recording.records if (one.stack, one.suite, one.scenario) == (stack, place.suite, scenario)]
    there = dict.fromkeys(", ".join(f"{key} {value}" for key, value in own_settings(one).items()) for one in alike)
    more = f"; and {len(there) - MOST} others" if len(there) > MOST else ""
    return "; ".join([*there][:MOST]) + more if place.settings and there else None


def lacking(runs: Sequence[Record], place: Place, recording: Recording, found: Iterable[Place]) -> str:
    """Why it has no figure there."""
    for run in runs:
        if run.status != "measured":
            return f"{run.status}: {' '.join((run.reason or '').split())}"
    if not runs:
        there = dict.fromkeys(f"{one.stack} in {one.suite}" for one in recording.records)
        more = f" and {len(there) - MOST} others" if len(there) > MOST else ""
        return NONE.format(recording.name, ", ".join([*there][:MOST]) + more or "nothing")
    beside = [one for one in found if one._replace(phase="", sessions=None) == place._replace(phase="", sessions=None)]
    if place.meter == "peak-rss":
        return f"it was measured at N = {', '.join(f'{one.sessions:,}' for one in beside)}, not {place.sessions:,}"
    return NO_PHASE.format(", ".join(one.phase for one in beside)) if beside else NO_FIGURE


def limit_to_common_sessions(new: Sequence[Record], old: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """RSS at those N only that both have: a line through others is another line."""
    counts = ({run.sessions for run in some if run.meter == "rss"} for some in (new, old))
    shared = set.intersection(*counts)

    def limit(runs: Sequence[Record]) -> list[Record]:
        return [run for run in runs if run.meter != "rss" or run.sessions in shared]

    return limit(new), limit(old)


def describe_difference(new: Sequence[Record], old: Sequence[Record], *aspects: str) -> str | None:
    """In which of these aspects of what is declared (comparing.declared) the two differ; None where in none."""
    others = declared_settings.ASPECTS_BY_METER.keys() - {*aspects}
    return (
        "; ".join(
            f"{one.what} {one.old}, not {one.new}" for one in declared_settings.find_differences(old, new, others)
        )
        or None
    )
