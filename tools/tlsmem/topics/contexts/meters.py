"""The meter of budgets that is of the scenario contexts."""

from collections.abc import Sequence
from fractions import Fraction

from tlsmem.gate.scenario_meter import ScenarioMeter, counted_figure
from tlsmem.schema.roles import CONTEXT_OWNERS
from tlsmem.stats import contexts
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record


def figure_of_context(runs: Sequence[Record], role: str) -> Figure | Missing:
    """Return the live heap of one context of a role, with its roots and names: counted, and alike in every context."""
    run = next(run for run in runs if run.meter == "heap")
    case = contexts.Case.from_record(run)
    held = contexts.heap_growth(run, role, "library", "opened")
    return counted_figure(Fraction(held, contexts.pairs(run) if case.sharing == f"each-{role}" else 1))


METERS = {
    "context": ScenarioMeter(
        "contexts",
        unit="B",
        phase="opened",
        figure=figure_of_context,
        runs=(("heap", 40), ("sites", 40)),
        owner=lambda role: CONTEXT_OWNERS[role],
    ),
}
