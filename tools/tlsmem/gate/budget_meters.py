"""What a budget's meter can be of: roles, phases, suites and stacks. What is wrong is half a sentence that begins with
the key."""

import re
from collections.abc import Mapping, Sequence

from tlsmem.base.nearest import suggest_nearest
from tlsmem.compare.figure_places import CUMULATIVE_METERS, EXACT_METERS, Place, parse_phase, recorded_phase
from tlsmem.config.choices import PEAK
from tlsmem.config.definitions import Stack
from tlsmem.config.scenarios import Settings
from tlsmem.gate.limits import Limit
from tlsmem.gate.scenario_meters import METERS

SESSIONS = ("client", "server", "pair")
ROLES_BY_METER: dict[str, tuple[str, ...]] = dict.fromkeys((*EXACT_METERS, "rss"), SESSIONS)
ROLES_BY_METER |= {"peak-rss": ("process", "client", "server")}
ROLES_BY_METER |= {"handshakes": ("client", "server"), "send": ("server",), "receive": ("client",)}
del ROLES_BY_METER["rest"]  # of no budget
ALONE = {"peak-rss": PEAK, "handshakes": "handshake", "send": "transfer", "receive": "transfer"}  # the one phase
ALONE |= {meter: one.phase for meter, one in METERS.items()}
EMPTY = ("closed", "trimmed", "freed")  # without a session
PHASES = ("created", PEAK, "established", "payload", "reply", "idle", *EMPTY)
STEP = re.compile(r"(client|server) ([1-9]|10)")


def check_choice(word: str, known: Sequence[str], key: str, whose: str) -> None:
    if word not in known:
        near = suggest_nearest(word, known) or f"; there are: {', '.join(known)}"
        raise ValueError(f"{key}: no {key} {word}{whose}{near}")


def choose_roles(given: Sequence[str], meter: str, settings: Settings) -> list[str]:
    """As given, else the only one there is."""
    there = METERS[meter].roles(settings) if meter in METERS else ROLES_BY_METER[meter]
    for role in given:
        check_choice(role, there, "role", " ".join([f" of {meter}", *(f"at {key} {value}" for key, value in settings)]))
    if not given and meter != "peak-rss" and len(there) > 1:
        raise ValueError(f"role: it is missing; {meter} is of {' or '.join([', '.join(there[:-1]), there[-1]])}")
    return list(dict.fromkeys(given)) or [there[0]]


def choose_phases(given: Sequence[str], meter: str) -> list[str]:
    """As comparing.places has them; else the only one there is."""
    alone = ALONE.get(meter)
    known = list(map(canonical, given)) or ([alone] if alone else [])
    if not known:
        raise ValueError(f"phase: it is missing; for instance established, or {PEAK}")
    for phase in known:
        if alone:
            check_choice(phase, [alone], "phase", f" of {meter}")
        elif not STEP.fullmatch(phase):
            check_choice(phase, [*PHASES, "client 1", "server 1"], "phase", "")
        if meter in CUMULATIVE_METERS and phase == PEAK:
            raise ValueError(f"phase: {meter} counts what is allocated up to the end of a phase; a peak is none")
    return list(dict.fromkeys(known))


def canonical(phase: str) -> str:
    return parse_phase(recorded_phase(phase))


def check_zero(limit: Limit, text: str, meter: str, phases: Sequence[str]) -> None:
    """Nothing at all is a limit only where no session is left."""
    filled = [phase for phase in phases if phase not in EMPTY]
    if limit.amount or limit.relative or (meter in ("heap", "blocks") and not filled) or meter in METERS:
        return
    where = f" in {filled[0]}" if meter in ("heap", "blocks") else ""
    raise ValueError(f"limit: {text!r} is nothing at all, and {meter} is never that{where}")


def check_suite(suite: str, meter: str, suites: Mapping[str, Mapping[str, object]]) -> None:
    """Of the tables of memtest/suites.toml."""
    if suite not in suites:
        raise ValueError(f"suite: no suite {suite} among those of memtest/suites.toml{suggest_nearest(suite, suites)}")
    if suites[suite].get("resume") == "on" and meter in ("send", "receive"):
        raise ValueError(f"suite: {suite} resumes sessions, which transfers do not; {meter} cannot be of it")


def check_stack(name: str, stack: Stack, place: Place) -> None:
    """What this stack cannot have."""
    if (place.meter in EXACT_METERS or place.meter in METERS) and stack.brings:
        seen = f"the heap meter does not see the allocator that it brings along, {stack.brings}"
        raise ValueError(f"meter: {place.meter} cannot be of {name}: {seen}")
    if (place.suite == "none") == stack.tls:
        only = "speaks TLS, and none is no suite of that" if stack.tls else "speaks no TLS, and has the suite none only"
        raise ValueError(f"suite: {place.suite} cannot be of {name}, which {only}")
