"""Check options before anything is installed or built, and show them. Standard library only.

What a kind of option cannot be is in option_kinds.py; here is what several options cannot be together, and what of
memtest/*.toml the check itself reads."""

import os
import re
from collections.abc import Mapping

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import ROOT
from tlsmem.config.option_kinds import TREE_STACK_NAME, TREES_ELSEWHERE, Names
from tlsmem.config.option_model import REQUIRED, TIME_MULTIPLIER, TIMED, Option
from tlsmem.config.options import OPTIONS, options_of_goal
from tlsmem.config.scenarios import SCENARIO_KEYS
from tlsmem.config.toml_tables import expand_stacks, read_tables, split_names

TREE_GOALS = ("mem", "profile", "compare")  # which build LIBRARY@git:REVISION and LIBRARY@path:DIRECTORY
MEMORY = "mem"  # the target whose options are meant where none is named
NAMED_IN_CAMPAIGNS = {"stacks": "stacks", "peers": "stacks", "allocators": "allocators"}
NAMED_IN_CAMPAIGNS |= dict.fromkeys(("suites", "instructions"), "suites")
MILLION = "c1m"
LIVE = "live"
TRANSFERS = ("throughput",)  # targets whose suites do not resume sessions


def check_options(given: Mapping[str, str], taken: Mapping[str, Option] | None = None) -> None:
    """ValueError with one sentence at the first option, none but `taken` being any, or definition that cannot be."""
    taken = options_of_goal(MEMORY) if taken is None else taken
    check_place()
    check_campaigns()
    for name, value in given.items():
        if name not in taken:
            near = describe_key(name.lower()) or suggest_nearest(name.upper(), taken)
            raise ValueError(f"unknown option {name}; `make help` lists options{near}")
        taken[name].kind.check(name, value)
    stacks = read_tables("stacks")
    if "CLIENT" in taken:
        check_ends(given, {name for name, entry in stacks.items() if entry.get("tls") is False})
    check_prefix(given, named_stacks(given, taken), stacks)


def describe_key(name: str) -> str:
    """Return the end of a sentence: in which file a name is a key. An empty string where it is none."""
    if whose := [scenario for scenario, keys in SCENARIO_KEYS.items() if name in keys]:
        return f"; {name} is a key of settings in memtest/campaigns.toml, in campaigns of {' and '.join(whose)}"
    is_suite_key = any(name in suite for suite in read_tables("suites").values())
    return f"; {name} is a key of suites in memtest/suites.toml" if is_suite_key else ""


def check_goal(goal: str, given: Mapping[str, str]) -> None:
    """As check_options, of a target of make: it takes all that is given, and its suites are ones that it can do."""
    taken = options_of_goal(goal)
    for name in given:
        if name not in taken and any(name == option.name for option in OPTIONS):
            hint = suggest_nearest(name, taken) or f"; it takes {', '.join(taken) or 'none'}"
            raise ValueError(f"`make {goal}` does not take {name}{hint}")
    given = {name: taken[name].kind.normalise(value) if name in taken else value for name, value in given.items()}
    check_options({**given, **from_environment(taken)}, taken)
    check_trees(given, goal)
    check_resumed(given, goal)
    check_window(given, goal)


def check_goal_or_exit(goal: str, given: Mapping[str, str | None], whole: bool = False) -> None:
    """As check_goal, for commands: raises UserError with exit status 2. Options that are None were not given; of the
    `whole` of what was given none may be missing."""
    try:
        if whole:
            check_required(goal, {name: value or "" for name, value in given.items()})
        check_goal(goal, {name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        raise UserError(str(error), status=2) from None


def check_definitions_or_exit() -> None:
    """What the defaults of options are read from."""
    check_goal_or_exit(MEMORY, {})


def from_environment(taken: Mapping[str, Option]) -> dict[str, str]:
    """As make exports it, which was given it on its command line or in its environment."""
    value = os.environ.get(TIME_MULTIPLIER, "")
    return {TIME_MULTIPLIER: value} if value and TIME_MULTIPLIER in taken else {}


def check_place() -> None:
    """LD_PRELOAD splits at spaces and colons, and so do makefiles of stacks."""
    if re.search(r"[\s:]", str(ROOT)):
        raise ValueError(
            f"{ROOT}: there is a space or a colon in this path, and preloading takes neither; move the clone"
        )


def check_campaigns() -> None:
    """What their tables name is there."""
    known = {kind: read_tables(kind) for kind in NAMED_IN_CAMPAIGNS.values()}
    for name, campaign in read_tables("campaigns").items():
        for key, kind in NAMED_IN_CAMPAIGNS.items():
            place, names = f"memtest/campaigns.toml: [{name}]: {key}", campaign.get(key, [])
            if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                raise ValueError(f"{place} must be a list of names")
            for one in names:
                if one not in known[kind]:
                    near = suggest_nearest(one, known[kind])
                    raise ValueError(f"{place}: memtest/{kind}.toml has no {kind[:-1]} {one}{near}")


def check_ends(given: Mapping[str, str], nulls: set[str]) -> None:
    """Raises ValueError where options about the ends of a session contradict each other. `nulls` are stacks without
    TLS."""
    mixed = [name for name in ("CLIENT", "SERVER") if name in given]
    if len(mixed) == 1:
        other = "SERVER" if mixed == ["CLIENT"] else "CLIENT"
        raise ValueError(f"{mixed[0]} needs {other} too: a mixed pair has two ends")
    if mixed and "STACKS" in given:
        raise ValueError("CLIENT and SERVER name the stacks; leave STACKS out")
    if mixed and given.get("ROLES") == "together":
        raise ValueError("CLIENT and SERVER run in separate processes; leave ROLES=together out")
    if mixed and (given["CLIENT"].strip(" ,") in nulls) != (given["SERVER"].strip(" ,") in nulls):
        raise ValueError("a null stack does no TLS; give it another null stack as its peer")
    if "KEEP" in given and (mixed or given.get("ROLES") == "split"):
        raise ValueError(
            f"KEEP={given['KEEP']} needs ROLES=together; leave KEEP or {', '.join(mixed) or 'ROLES=split'} out"
        )


def check_prefix(given: Mapping[str, str], named: list[str], known: Mapping[str, dict]) -> None:
    """What is linked with a library of the user's own says where that is, and nothing else does."""
    linked = [name for name in named if name in known and known[name].get("prefix")]
    if linked and "PREFIX" not in given:
        raise ValueError(f"{linked[0]} needs PREFIX=<OpenSSL install directory>")
    if "PREFIX" in given and not linked:
        theirs = " or ".join(name for name, entry in known.items() if entry.get("prefix"))
        raise ValueError(f"PREFIX={given['PREFIX']} applies to {theirs} only; add that stack, or leave PREFIX out")


def named_stacks(given: Mapping[str, str], taken: Mapping[str, Option]) -> list[str]:
    """Every stack that these options ask for."""
    kinds = {name: taken[name].kind for name in given}
    names = [name for name, kind in kinds.items() if isinstance(kind, Names) and kind.table == "stack"]
    sides = [given[name] for name in ("A", "B") if name in given and not TREE_STACK_NAME.fullmatch(given[name])]
    return [*sides, *(stack for name in names for stack in expand_stacks(given[name], given.get("PREFIX")))]


def check_required(goal: str, given: Mapping[str, str]) -> None:
    """Raises ValueError where an option is missing that the target cannot be without."""
    for name, option in options_of_goal(goal).items():
        if option.goals[goal] == REQUIRED and not given.get(name):
            raise ValueError(f"{name} is missing: {option.help}; for instance {option.example}")


def check_trees(given: Mapping[str, str], goal: str) -> None:
    """Only some targets build trees."""
    for name in ("STACKS", "STACK") if goal not in TREE_GOALS else ():
        for one in filter(TREE_STACK_NAME.fullmatch, split_names(given.get(name, ""))):
            raise ValueError(f"{name}: {one}: {TREES_ELSEWHERE}")


def check_resumed(given: Mapping[str, str], goal: str) -> None:
    """Suites that resume sessions are for handshakes and memory, not for transfers."""
    if goal not in TRANSFERS:
        return
    suites = read_tables("suites")
    for option in ("SUITES", "SUITE"):
        for name in split_names(given.get(option, "")):
            if suites[name].get("resume") == "on":
                raise ValueError(f"{option}: {name} resumes sessions, which the target {goal} does not; leave it out")


def check_window(given: Mapping[str, str], goal: str) -> None:
    """Raises ValueError when the window is wider than all pairs; of the target mem's campaign unless N is given."""
    window = given.get("WINDOW", "all")
    if goal == MILLION:
        check_million(int(given.get("WINDOW", 1000)), int(given.get("N", 1_000_000)))
    elif window != "all" and goal != LIVE:
        sessions = int(given.get("N") or read_tables("campaigns")[MEMORY]["n"])
        if int(window) > sessions // 2:
            raise ValueError(f"WINDOW={window} is more than the {sessions // 2} pairs of N={sessions}; give WINDOW=all")


def check_million(window: int, sessions: int) -> None:
    """Raises ValueError where the runs that predict have as many sessions as the one that is predicted."""
    if sessions <= 20 * window:
        raise ValueError(
            f"N={sessions} is predicted from runs of {10 * window} and {20 * window} sessions, 10 and 20 times WINDOW; "
            f"give more than {20 * window}, or a smaller WINDOW"
        )


def goal_of_campaign(campaign: str) -> str:
    """The target of make whose options a campaign of memtest/campaigns.toml takes: its scenario's."""
    scenario = read_tables("campaigns")[campaign].get("scenario")
    return scenario if isinstance(scenario, str) and scenario in TIMED else MEMORY
