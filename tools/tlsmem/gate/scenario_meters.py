"""The meters of budgets that are of another scenario than `memory`: topics declare them.

A meter names the scenario and its runs, the unit of the limit, and the function that makes the figure. All else
follows: the keys of the scenario (config/scenarios.py) are keys of the budget, the runs are made, a limit against a
baseline works as for other meters, and call sites are named where a limit is exceeded."""

from collections.abc import Sequence

from tlsmem.config import scenarios
from tlsmem.config.topic import topics
from tlsmem.gate.scenario_meter import ScenarioMeter
from tlsmem.schema.harness_output import Scenario

METERS: dict[str, ScenarioMeter] = {
    name: meter for topic in topics() if topic.meters for name, meter in topic.find(topic.meters).items()
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
