"""The meters of budgets that are of another scenario than `memory`: one entry of METERS each.

An entry names the scenario and its runs, the unit of the limit, and the function of `stats` that makes the figure.
All else follows: the keys of the scenario (config/scenarios.py) are keys of the budget, the runs are made, a limit
against a baseline works as for other meters, and call sites are named where a limit is exceeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from tlsmem.config import scenarios
from tlsmem.config.scenarios import Settings
from tlsmem.config.stall_points import stall_points
from tlsmem.schema.harness_output import Meter, Role, Scenario
from tlsmem.stats import contexts
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.topics.churn import waves as churn
from tlsmem.topics.resumption import stores as session_store
from tlsmem.topics.stall import stalls

COUNTED: tuple[tuple[Meter, int], ...] = (("heap", 200), ("sites", 200))  # exact: few sessions are enough
ROLES: tuple[Role, ...] = ("client", "server")


@dataclass(frozen=True)
class ScenarioMeter:
    """One meter. `figure` takes the measured runs of one stack, suite and settings, and whose figure it is."""

    scenario: Scenario
    unit: Literal["B", "blocks", "×"]  # of the limit; `gate/limits.py` has their names
    phase: str  # that the figure is of; at its end live blocks are shown by call site where a limit is exceeded
    figure: Callable[[Sequence[Record], str], Figure | Missing]
    runs: tuple[tuple[Meter, int], ...] = COUNTED  # meters and sessions; RSS runs are repeated as the file says
    roles: Callable[[Settings], Sequence[str]] = lambda settings: ROLES  # that a budget may be of
    owner: Callable[[str], str] = lambda role: role  # of the blocks, as call stacks have it
    why_not: Callable[[Settings], str | None] = lambda settings: None  # half a sentence: it is never of these settings


def stalled_roles(settings: Settings) -> Sequence[str]:
    """The sessions that wait at the point."""
    return [stall_points()[dict(settings)["point"]].waits]


def figure_of_stall(value: Callable[[stalls.Stall], Fraction | Missing], unit: str):
    """Return what makes the figure of one point: counted, and exact where all sessions are alike to the byte."""

    def judge(found: Fraction, pinned: Fraction, received: Fraction) -> Figure:
        byte = found / pinned if pinned else Fraction(1)  # of one pinned byte
        return Figure((found,), pinned.denominator == 1, unit, noise=byte * (pinned.denominator != 1))

    def figure(runs: Sequence[Record], role: str) -> Figure | Missing:
        (stall,) = stalls.find_stalls(runs)
        return map_present(judge, value(stall), stall.pinned_bytes, stall.received_bytes)

    return figure


def exact_figure_of_stall(value: Callable[[stalls.Stall], Fraction | Missing]):
    """Return what makes the figure of one point that is bytes of one session, whatever else it holds."""

    def figure(runs: Sequence[Record], role: str) -> Figure | Missing:
        (stall,) = stalls.find_stalls(runs)
        return map_present(counted_figure, value(stall))

    return figure


def counted_figure(size: Fraction) -> Figure:
    """Return the figure of bytes of one session: exact where all sessions are alike to the byte."""
    return Figure((size,), size.denominator == 1, "B", noise=Fraction(size.denominator != 1))


def figure_of_context(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return the live heap of one context of a role, with its roots and names: counted, and alike in every context."""
    run = next(run for run in runs if run.meter == "heap")
    case = contexts.Case.from_record(run)
    held = contexts.heap_growth(run, role, "library", "opened")
    return counted_figure(Fraction(held, contexts.pairs(run) if case.sharing == f"each-{role}" else 1))


def figure_of_churn(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return how many bytes of live heap a wave adds."""
    (found,) = (one for one in churn.find_churn(runs) if one.role == role)
    return map_present(figure_of_trend, found.heap_trend)


def figure_of_trend(trend: churn.Trend) -> Figure:
    """Return the slope, with half of its confidence interval as noise."""
    slope, half = (Fraction(size).limit_denominator(1000) for size in (trend.slope, (trend.high - trend.low) / 2))
    return Figure((slope,), not half, "B", noise=half)


def figure_of_store(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return the live heap of one entry that is kept of a session which is gone: counted."""
    stores = [one for one in session_store.find_stores(runs) if one.role == role]
    found = stores[0].entry_bytes if stores else Missing(f"a {role} keeps no sessions in this suite")
    return map_present(lambda size: Figure((size,), size.denominator == 1, "B"), found)


def why_no_entry(settings: Settings) -> str | None:
    """Entries can be told from open sessions only where all sessions end with their wave, and over several waves."""
    given = dict(settings)
    if given["pattern"] != "waves":
        return f'pattern: entry cannot be of {given["pattern"]}, in which sessions outlive their wave; use "waves"'
    return "waves: entry is what one wave adds after another; use 2 or more" if int(given["waves"]) < 2 else None


METERS: dict[str, ScenarioMeter] = {
    "amplification": ScenarioMeter(
        "stall",
        unit="×",
        phase="stalled",
        figure=figure_of_stall(lambda stall: stall.amplification, "×"),
        roles=stalled_roles,
    ),
    "pinned": ScenarioMeter(
        "stall",
        unit="B",
        phase="stalled",
        figure=figure_of_stall(lambda stall: stall.pinned_bytes, "B"),
        roles=stalled_roles,
    ),
    "call-peak": ScenarioMeter(
        "stall",
        unit="B",
        phase="stalled",
        figure=exact_figure_of_stall(lambda stall: stall.call_peak_bytes),
        roles=stalled_roles,
    ),
    "kept": ScenarioMeter(
        "stall",
        unit="B",
        phase="closed",
        figure=exact_figure_of_stall(lambda stall: stall.kept_bytes),
        roles=stalled_roles,
    ),
    "context": ScenarioMeter(
        "contexts",
        unit="B",
        phase="opened",
        figure=figure_of_context,
        runs=(("heap", 40), ("sites", 40)),
        owner=lambda role: f"{role} context",
    ),
    "growth": ScenarioMeter("churn", unit="B", phase="closed", figure=figure_of_churn, runs=(("heap", 200),)),
    "entry": ScenarioMeter(
        "churn", unit="B", phase="closed", figure=figure_of_store, runs=(("heap", 40),), why_not=why_no_entry
    ),
}
SETTING_KEYS = {key: one.scenario for one in METERS.values() for key in scenarios.SCENARIO_KEYS[one.scenario]}


def list_meters(meters: Sequence[str]) -> str:
    """Return `pinned, call-peak and kept`."""
    return " and ".join(filter(None, (", ".join(meters[:-1]), meters[-1])))


def scenario(meter: str) -> Scenario:
    """Return the scenario that a meter of memory is of."""
    return METERS[meter].scenario if meter in METERS else "memory"


def check_settings(meter: str, settings: dict[str, list[str]]) -> None:
    """Raises ValueError with half a sentence at a key or value that the meter does not have, or one that it needs."""
    found = METERS.get(meter)
    if not found:
        if settings:
            key = next(iter(settings))
            theirs = [name for name, one in METERS.items() if one.scenario == SETTING_KEYS[key]]
            raise ValueError(f"{key}: {meter} has no {key}; it is a key of {list_meters(theirs)}")
        return
    try:
        scenarios.check_settings(found.scenario, settings)
    except ValueError as error:
        raise ValueError(str(error).removeprefix("settings: ")) from None
    for each in scenarios.combine_settings(found.scenario, settings):
        if why := found.why_not(each):
            raise ValueError(why)
