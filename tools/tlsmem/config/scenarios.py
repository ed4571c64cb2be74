"""The scenarios of memory beside `memory` itself: the keys that are theirs alone, with the values that they take.

The harness knows the same keys (memtest/arguments.c); a test holds both lists against each other."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.stall_points import stall_points
from tlsmem.config.toml_tables import read_tables

Settings = tuple[tuple[str, str], ...]  # of one run: keys and values, as in the harness's argv

Values = Mapping[str, str] | range  # names with what they mean, or numbers
CHURN_PATTERNS = {  # which sessions end with a wave: memtest/churn.c
    "waves": "all sessions end with their wave",
    "sawtooth": "one pair of 100 stays, and ends three waves later",
    "lifetimes": "a quarter of all sessions ends with each wave, chosen at random",
}
CONTEXT_SHARING = {  # whose sessions have contexts of their own: memtest/many_contexts.c
    "shared": "one context for all sessions of a role",
    "each-client": "a context for each client session",
    "each-server": "a context for each server session",
}
STORES = {"1": "the root alone", "10": "with 9 others", "150": "with 149 others, as in a public bundle"}
SWITCH = {"off": "without", "on": "with"}
SCENARIO_KEYS: Mapping[str, Mapping[str, Values | Callable[[], Values]]] = {  # what is called reads a file
    "stall": {"point": lambda: {name: point.sent for name, point in stall_points().items()}},
    "churn": {
        "pattern": CHURN_PATTERNS,
        "waves": range(1, 1_000_001),
        "trim": SWITCH,
        "seed": range(10**9 + 1),
        "threads": range(1, 257),
    },
    "contexts": {"cas": STORES, "names": range(1, 10_001), "sharing": CONTEXT_SHARING},
}
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "churn": {"trim": "off", "seed": "1", "threads": "1"},
    "contexts": {"cas": "1", "names": "1", "sharing": "shared"},
}
PHASES = {
    "stall": ["contexts", "connected", "stalled", "closed", "trimmed", "freed"],
    "contexts": ["library", "opened", "established", "closed", "freed", "trimmed"],
}
LIKE_MEMORY = ("memory", "churn")  # scenarios that take windows, data, and roles in a process each


def read_values(known: Values | Callable[[], Values]) -> Values:
    """Return the values that a key takes. Raises Unreadable where the file that lists them cannot be read."""
    return known() if callable(known) else known


def has_value(known: Values, value: str) -> bool:
    """Whether a key takes the value."""
    if isinstance(known, range):
        return re.fullmatch("0|[1-9][0-9]*", value) is not None and int(value) in known
    return value in known


def describe_refusal(key: str, value: str, known: Values) -> str:
    """Return a sentence: the key does not take this value, and which ones it takes."""
    if isinstance(known, range):
        return f"{key}={value}: must be a whole number from {known.start:,} to {known.stop - 1:,}"
    *most, last = known
    if last.isdecimal():
        return f"{key}={value}: must be {', '.join(most)} or {last}"
    near = suggest_nearest(value, known) or f"; there are: {', '.join(known)}"
    return f"unknown {key} {value}{near}"


def list_texts(given: Mapping[str, object]) -> dict[str, list[object]]:
    """Return a table of settings with a list of texts for each key: one value need not stand in a list, and a number
    need not be a text. What is neither text nor number stays as it is."""
    lists = {key: value if isinstance(value, list) else [value] for key, value in given.items()}
    return {key: [str(one) if type(one) is int else one for one in values] for key, values in lists.items()}


def check_settings(scenario: str, settings: Mapping[str, list[str]]) -> None:
    """Raise ValueError with a sentence at a key or a value that the scenario does not have, or one that it needs."""
    known = SCENARIO_KEYS.get(scenario, {})
    for key, values in settings.items():
        if key not in known:
            there = f"it has: {', '.join(known)}" if known else "it has none"
            raise ValueError(f"settings: the scenario {scenario} has no key {key}; {there}")
        if not values and key in DEFAULTS.get(scenario, {}):
            raise ValueError(f"settings: {key} has no values; leave it out, or name one")
        for value in values:
            if not has_value(taken := read_values(known[key]), value):
                raise ValueError(f"settings: {describe_refusal(key, value, taken)}")
    for key in known:
        if not settings.get(key) and key not in DEFAULTS.get(scenario, {}):
            raise ValueError(f"settings: {key} is missing; the scenario {scenario} needs it")


def combine_settings(scenario: str, settings: Mapping[str, list[str]]) -> Iterator[Settings]:
    """Yield each combination of the values, with the defaults of other keys; one of none where there are no keys."""
    usual = DEFAULTS.get(scenario, {})
    given = {key: settings.get(key) or [usual[key]] for key in SCENARIO_KEYS.get(scenario, {})}
    for values in product(*given.values()):
        yield tuple(zip(given, values, strict=True))


def settings_in_argv(scenario: str, argv: list[str]) -> Settings:
    """Return the scenario's own keys and values of a recorded run."""
    given = dict(word.split("=", 1) for word in argv if "=" in word)
    return tuple((key, given[key]) for key in SCENARIO_KEYS.get(scenario, {}) if key in given)


def phases_of(scenario: str, settings: Mapping[str, str]) -> list[tuple[str, int | None]] | None:
    """Return the phases of a run in order, each with its wave; None of a scenario whose phases depend on the stack."""
    if scenario == "churn":
        waves = [(name, wave) for wave in range(1, int(settings["waves"]) + 1) for name in ("open", "closed")]
        return [("contexts", None), *waves, ("drained", None), ("trimmed", None), ("freed", None)]
    return [(name, None) for name in PHASES[scenario]] if scenario in PHASES else None


def describe_key(name: str) -> str:
    """Return the end of a sentence: in which file a name is a key. An empty string where it is none."""
    if whose := [scenario for scenario, keys in SCENARIO_KEYS.items() if name in keys]:
        return f"; {name} is a key of settings in memtest/campaigns.toml, in campaigns of {' and '.join(whose)}"
    is_suite_key = any(name in suite for suite in read_tables("suites").values())
    return f"; {name} is a key of suites in memtest/suites.toml" if is_suite_key else ""
