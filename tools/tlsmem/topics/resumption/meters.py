"""The meter of budgets that is of what is kept of sessions that are gone."""

from collections.abc import Sequence

from tlsmem.config.scenarios import Settings
from tlsmem.gate.scenario_meter import ScenarioMeter
from tlsmem.stats.change import Figure
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.topics.resumption import stores as session_store


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


METERS = {
    "entry": ScenarioMeter(
        "churn", unit="B", phase="closed", figure=figure_of_store, runs=(("heap", 40),), why_not=why_no_entry
    ),
}
