"""The answer before the tables: what one session of a chosen stack costs, what it is for, and every library beside it.

All figures come from `tlsmem.cost.find_costs`, so that they equal what tools/tls-memtest cost prints."""

import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from markupsafe import Markup

from tlsmem.base.paths import ROOT
from tlsmem.config import definitions
from tlsmem.config.libraries import libraries, library_key, library_title, sort_by_library
from tlsmem.config.recording_command import AS_DEPLOYED, Advice, advise_recording
from tlsmem.config.releases import version
from tlsmem.config.run import SYSTEM
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_title
from tlsmem.config.suite_variants import LIBRARY, LOW_MEMORY
from tlsmem.cost.find_costs import SUITE, StackCosts, find_costs, find_parts
from tlsmem.cost.screen import FOLLOWING, describe_cost, describe_rss_runs, format_bytes
from tlsmem.plan import assumptions, capacity, find_model
from tlsmem.plan.configuration import Configuration as PlannedConfiguration
from tlsmem.plan.connection_model import ModelRequest
from tlsmem.plan.recorded_states import describe_configuration
from tlsmem.plots.bucket_panel import bucket_look
from tlsmem.report import inventory_section
from tlsmem.report.configuration_tables import configuration_pictures, configuration_tables, find_compared
from tlsmem.report.packed_json import pack_json
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, read_asset
from tlsmem.schema.roles import Role
from tlsmem.stats import recorded_stacks
from tlsmem.stats.configured_stack import AT_REST, IN_USE, Configuration
from tlsmem.stats.costs import LIVE_AT_REST, LIVE_IN_USE, RSS_AT_REST, RSS_IN_USE, VOCABULARY, Cost
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings as recorded
from tlsmem.tables.settings import dates

STATES = {  # of a session: its name, its RSS, its live heap, and the phase at whose end both are read
    "use": ("in use", RSS_IN_USE, LIVE_IN_USE, IN_USE),
    "rest": ("at rest", RSS_AT_REST, LIVE_AT_REST, AT_REST),
}
FIRST_LIBRARY = "openssl"  # that the chooser opens with, where it is recorded
COMPARED_LIBRARY = "rustls"  # that it is compared with at first
ROLES: tuple[Role, ...] = ("server", "client")
SIZES_CAMPAIGN = "in-use-sites"  # records what live heap is for
HANDSHAKES_CAMPAIGN = "c10k-in-use"  # records what handshakes add
CONNECTIONS = 100_000


class CostFigure(TypedDict):
    """One cost as people read it, and in bytes; why there is none."""

    text: str
    bytes: NotRequired[float]
    why: NotRequired[str]


class StateFigures(TypedDict):
    """A session in one state; `low`: with the library's way to hold less."""

    rss: CostFigure
    low_rss: CostFigure
    live: CostFigure
    low_live: CostFigure
    parts: list[tuple[str, float]]  # bytes of live heap by bucket
    command: str | None  # that records these


class PlanPrices(TypedDict):
    """Bytes that a plan has: of the process, of a connection in use and at rest, of a handshake; None: not recorded."""

    process: int
    use: int
    rest: int | None
    handshake: int | None
    widest: int  # connections up to which every term was measured
    recording: str


class Plan(TypedDict):
    """What a plan has of one choice of options and tickets."""

    low: bool
    tickets: int | str
    quiet: PlanPrices | None  # None: not recorded
    busy: PlanPrices | None  # with handshakes, if that is from another recording; None: as `quiet`
    advice: Advice | None  # how it is recorded
    handshakes: Advice | None  # how what a handshake adds is recorded


class ChooserRow(TypedDict):
    """The figures of a role of a stack in a suite."""

    stack: str
    suite: str
    role: Role
    state: str | None  # None: as servers run it
    advice: Advice | None  # how that would be recorded
    live: str  # how live heap was measured
    runs: str  # of RSS
    recorded: str
    recording: str
    use: StateFigures
    rest: StateFigures
    plans: list[Plan]  # none in a state that is not as servers run it
    made_by: str


class ChooserData(TypedDict):
    """What the page's script has."""

    stacks: list[dict[str, object]]
    suites: dict[str, str]  # to titles
    states: dict[str, dict[str, str]]
    rows: list[ChooserRow]
    unrecorded: dict[str, dict[str, Advice]]
    usual: dict[str, str | None]  # the suite of a stack
    buckets: dict[str, dict[str, str]]
    kernel: dict[Role, int]  # bytes of a connection that a plan assumes
    named: list[str]  # options of commands
    opens: str | None
    beside: str | None  # the stack that it is compared with


def section(read: Sequence[Recording], among: Sequence[Path] | None = None) -> Section:
    """Return the chooser over the recordings `among`; by default over those that the page is made of."""
    named = () if among else tuple(read)
    among = among or [ROOT / path for path in dict.fromkeys(one.path for one in read)]
    data = chooser_data(among, [word for one in named for word in ("--recording", one.path)])
    caveats = inventory_section.remarks(caveat_sentences(read, data["rows"]))
    html = Markup(read_asset("answer.html")).format(
        vocabulary=VOCABULARY, connections=CONNECTIONS, machines=machine_lines(read), caveats=caveats
    )
    scripts, styles = (
        tuple(map(read_asset, ("charts.js", "plan_memory.js", "answer.js"))),
        (read_asset("charts.css"), read_asset("answer.css")),
    )
    compared = find_compared(read, among)
    words = [recording_arguments(*named)] if named else []
    return Section(
        "answer",
        "What one session costs",
        html,
        packed=pack_json(data),
        scripts=scripts,
        styles=styles,
        pictures=configuration_pictures(compared, read),
        tables=configuration_tables(
            compared, " ".join(["tools/tls-memtest", "show", "report", *words, "--format markdown"])
        ),
    )


def chooser_data(among: Sequence[Path], named: Sequence[str] = ()) -> ChooserData:
    """Return the choices, the figures behind them, and what the page opens with. `named`: options of their commands.

    A stack in a suite has figures of that suite only: as servers run it, or else of another state in use, which is
    named. Otherwise it is in `unrecorded`, with the command that records it."""
    there = list(dict.fromkeys(stack for path in among for stack in recorded.stacks(path)))
    in_use = {stack: recorded_stacks.find_suites(stack, among) for stack in there}
    suites = sorted({suite for found in in_use.values() for suite in found}, key=lambda suite: (suite != SUITE, suite))
    shown = sort_by_library(stack for stack, found in in_use.items() if found)
    newest = newest_releases(shown)
    rows: list[ChooserRow] = []
    unrecorded: dict[str, dict[str, Advice]] = {}
    for stack, suite in itertools.product(shown, suites):
        costs = find_chooser_costs(stack, suite, among)
        if costs.state:
            rows += cost_rows(costs, among, named)
        else:
            unrecorded.setdefault(stack, {})[suite] = costs.recorded.advice
    states = (one for row in rows for one in (row["use"], row["rest"]))
    buckets = dict.fromkeys(name for one in states for name, _ in one["parts"])
    return {
        "stacks": [stack_choice(stack, stack in newest.values()) for stack in shown],
        "suites": {suite: suite_title(suite) for suite in suites},
        "states": {key: {"name": name, "about": FOLLOWING[rss.key]} for key, (name, rss, _, _) in STATES.items()},
        "rows": rows,
        "unrecorded": unrecorded,
        "usual": {stack: recorded_stacks.usual_suite(stack, among) for stack in shown},
        "buckets": {bucket: bucket_look(bucket) for bucket in buckets},
        "kernel": {role: assumptions.assumed_kernel_bytes(role) for role in ROLES},
        "named": list(named),
        "beside": newest.get(COMPARED_LIBRARY),
        "opens": newest.get(FIRST_LIBRARY) or next(iter(newest.values()), shown[0] if shown else None),
    }


def find_chooser_costs(stack: str, suite: str, among: Sequence[Path]) -> StackCosts:
    """Return the costs of the stack in this suite as servers run it; else in another state in use, a process a role."""
    costs = find_costs(stack, suite, among)
    others = (one for one in costs.recorded.states if one.is_in_use and one.setting.roles == "split")
    return costs if costs.state else StackCosts(costs.recorded, next(others, None))


def stack_choice(stack: str, newest: bool) -> dict[str, object]:
    """Return a stack as the chooser names it: its library with variants, and its release."""
    known = libraries().get(library_key(stack))
    return {
        "stack": stack,
        "library": library_title(stack),
        "release": version(stack),
        "newest": newest,
        "stable": "-" not in version(stack),
        "colour": known.colour if known else "#7a7a7a",
        "option": known.low_memory if known else None,
    }


def cost_rows(costs: StackCosts, among: Sequence[Path], named: Sequence[str]) -> Iterator[ChooserRow]:
    """Yield the figures of each role of a stack in a suite; `state` names one that is not as servers run it."""
    assert costs.state
    where, state = recorded.display_name(costs.state.recording), describe_other_state(costs)
    for role in ROLES:
        use, rest = (state_figures(costs, role, key, among) for key in ("use", "rest"))
        words = ["tools/tls-memtest", "cost", costs.stack, "--suite", costs.suite, "--role", role, *named]
        words += ["--explain"] if use["parts"] or rest["parts"] else []
        yield {
            "stack": costs.stack,
            "suite": costs.suite,
            "role": role,
            "state": state,
            "advice": costs.recorded.advice if state else None,
            "live": describe_cost(costs, LIVE_IN_USE),
            "runs": describe_rss_runs(costs),
            "recorded": dates(costs.records),
            "recording": where,
            "use": use,
            "rest": rest,
            "plans": [] if state else plans(costs, role, among),
            "made_by": shlex.join(words),
        }


def plans(costs: StackCosts, role: Role, among: Sequence[Path]) -> list[Plan]:
    """Return what a plan has of the stack in the suite: with and without the library's option to hold less, if it has
    one, and with tickets as the library issues them, and as the suite has them."""
    known = libraries().get(library_key(costs.stack))
    options = ["default", *([LOW_MEMORY] if known and known.low_memory else [])]
    suites = definitions.suites()
    own = [suites[costs.suite].tickets] if costs.suite in suites else []
    tickets = dict.fromkeys([LIBRARY, *own])
    return [plan(costs, role, among, *choice) for choice in itertools.product(options, tickets)]


def plan(costs: StackCosts, role: Role, among: Sequence[Path], options: str, tickets: int | str) -> Plan:
    """Return what a plan has of one choice of options and tickets."""
    configuration = PlannedConfiguration(options, tickets)
    wanted = ModelRequest(costs.stack, costs.suite, SYSTEM, role, configuration)
    variant, full = configuration.variant(costs.suite), configuration.full_variant(costs.suite)
    quiet = plan_prices(wanted, among)
    lacks = quiet is not None and quiet["handshake"] is None
    busy = plan_prices(wanted, among, handshakes=True) if lacks else None
    busy = busy if busy and busy["handshake"] is not None else None
    return {
        "low": options == LOW_MEMORY,
        "tickets": tickets,
        "quiet": quiet,
        "busy": busy,
        "advice": None if quiet else advise_recording(AS_DEPLOYED, costs.stack, variant),
        "handshakes": advise_recording(HANDSHAKES_CAMPAIGN, costs.stack, full) if lacks and not busy else None,
    }


def plan_prices(wanted: ModelRequest, among: Sequence[Path], handshakes: bool = False) -> PlanPrices | None:
    """Return the prices of a plan; `handshakes`: from the newest recording that has them."""
    model = find_model.find_model(wanted, among, handshakes)
    if not model:
        return None
    at_rest = wanted._replace(configuration=wanted.configuration.with_state(at_rest=True))
    resting = find_model.find_model(at_rest, among, handshakes)
    price = capacity.price_model(model, kernel=0, record=0, assumed=0)
    return {
        "process": price.fixed,
        "use": price.tls,
        "rest": round(resting.connection) if resting else None,
        "handshake": None if model.handshake is None else price.handshake,
        "widest": model.widest,
        "recording": recorded.display_name(model.origin) if model.origin else "",
    }


def describe_other_state(costs: StackCosts) -> str | None:
    """Return the state of a session in words; None where it is as servers run it."""
    if not costs.state or costs.state.is_as_deployed:
        return None
    return f"{costs.state.describe()}, {describe_configuration(costs.suite, usual_configuration(costs))}"


def usual_configuration(costs: StackCosts) -> Configuration:
    """Return the library's defaults, or what was recorded instead."""
    there = costs.state.configurations if costs.state else []
    return "default" if "default" in there or not there else there[0]


def state_figures(costs: StackCosts, role: Role, state: str, among: Sequence[Path]) -> StateFigures:
    """Return RSS and live heap in one state, with the library's way to hold less, and what live heap is for."""
    _, rss, live, phase = STATES[state]
    deployed = describe_other_state(costs) is None
    parts = find_parts(costs.stack, costs.suite, role, among, phase) if deployed else {}
    ordered = sorted(parts.items(), key=lambda part: -part[1])
    usual = usual_configuration(costs)
    advice = None if parts else advise_recording(SIZES_CAMPAIGN, costs.stack, costs.suite, "sites")
    return {
        "rss": figure(costs, role, rss, usual),
        "low_rss": figure(costs, role, rss, "low memory"),
        "live": figure(costs, role, live, usual),
        "low_live": figure(costs, role, live, "low memory"),
        "parts": [(name, round(size, 1)) for name, size in ordered],
        "command": advice.command if advice else None,
    }


def figure(costs: StackCosts, role: Role, cost: Cost, configuration: Configuration) -> CostFigure:
    """Return one cost as tools/tls-memtest cost prints it, and in bytes; why there is none."""
    size = costs.figure(role, cost, configuration)
    if isinstance(size, Missing):
        return {"text": format_bytes(size), "why": size.reason}
    return {"text": format_bytes(size), "bytes": round(size, 3)}


def machine_lines(read: Sequence[Recording]) -> Markup:
    """Return the machines, each in a line, with its letter where there are several."""
    machines = {one.machine: one.about_machine for one in read}
    lines = [f"{letter}: {text}" if len(machines) > 1 else text for letter, text in machines.items()]
    return Markup('<p class="machines">Measured on {}</p>').format(Markup("<br>\n").join(lines))


def caveat_sentences(read: Sequence[Recording], rows: Sequence[ChooserRow]) -> list[str]:
    """Return what a reader must know before using a figure."""
    if not rows:
        command = "tools/tls-memtest measure deployed-config"
        return [
            f"No recording here has sessions in use; `{command}` records them. The tables below have what is recorded.",
            *inventory_section.warnings(read),
        ]
    return [
        "The figures above are for the library alone: neither the application nor the kernel's socket is in them.",
        "RSS depends on the allocator (here glibc malloc with default settings) and on how many handshakes run at a "
        "time; live heap depends on neither.",
        *inventory_section.warnings(read),
    ]
