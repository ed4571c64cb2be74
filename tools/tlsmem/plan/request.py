"""What the command line asks for: the memory model of a stack with its prices, and the load."""

import argparse
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.config.libraries import is_headline_build, libraries, library_key
from tlsmem.config.releases import version
from tlsmem.config.servers import find_server
from tlsmem.config.stack_names import nearest_releases
from tlsmem.live.live_run import WARM_UP
from tlsmem.plan import assumptions, capacity, find_model, live_case
from tlsmem.plan.capacity import Backends, ContextCost, Demand, Price
from tlsmem.plan.case import Case
from tlsmem.plan.configuration import Configuration, configure
from tlsmem.plan.configuration_costs import BACKEND_LINES, measure_backend, requested_costs
from tlsmem.plan.connection_model import SYSTEM, ConnectionModel, ModelRequest
from tlsmem.plan.live_check import LiveCheck, check_plan
from tlsmem.plan.live_model import LiveFit, fit_live
from tlsmem.plan.server_memory import (
    ServerMemory,
    find_suite,
    is_measured_with,
    list_builds,
    measure_handshake_excess,
    measure_server,
)
from tlsmem.stats import recorded_stacks
from tlsmem.stats.contexts import find_contexts
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings


class ImpossibleRequest(UserError):
    """A request that cannot be met; exit status 2."""

    status = 2


def requested_stacks(given: argparse.Namespace) -> list[str]:
    """Return the requested stacks, else the usual ones that the server runs on."""
    if given.stack:
        among = recordings.find_recordings(given.recording)
        built = list_builds(given.server, live_recordings(given)) if given.server else []
        return [
            stack
            for name in given.stack
            for stack in ([name] if name in built else recorded_stacks.resolve_stacks([name], among, given.suite))
        ]
    usual = find_model.choose_stacks(None)
    if given.server is None:
        return usual
    there = [one for one in usual if find_server(given.server).can_run(one)]
    if not there:
        known = ", ".join(find_server(given.server).libraries)
        raise ImpossibleRequest(f"--as {given.server} needs a --stack: one of {known} (tools/tls-memtest stacks)")
    return there


def requested_builds(given: argparse.Namespace, among: tuple[Path, ...]) -> Sequence[str | None]:
    """Return the builds of the server that predictions are for: those that were named, else those that were measured,
    else of a server that was measured as it is packaged the usual stacks; None stands for the package."""
    if given.stack:
        return requested_stacks(given)
    return list_builds(given.server, among) or requested_stacks(given)


def requested_model(given: argparse.Namespace, stack: str, role: str, handshakes: bool) -> ConnectionModel:
    """Return the model that --as and --state ask for; `handshakes`: with H. Raises ValueError with a sentence."""
    among = recordings.find_recordings(given.recording)
    if given.suite:
        suite = recorded_stacks.match_suite(stack, find_model.check_suite(given.suite), among)
    else:
        suite = recorded_stacks.usual_suite(stack, among)
    allocator = find_model.check_allocator(given.allocator)
    configuration = configure(given.server, given.state, stack, given.low_memory, given.tickets)
    wanted = ModelRequest(stack, suite, allocator, role, configuration)
    return find_model.choose_model(wanted, among, handshakes)


def requested_case(given: argparse.Namespace, stack: str, handshakes: bool = True) -> Case:
    """`handshakes`: more than 100 connections may be in the handshake at once, so H is needed."""
    if fit := fit_unmodelled(given, stack):
        return live_case.live_case(given, fit, live_recordings(given))
    role = "server" if count_backends(given) else given.role
    return priced_case(given, requested_model(given, stack, role, handshakes), handshakes)


def fit_unmodelled(given: argparse.Namespace, stack: str) -> LiveFit | None:
    """Return the live runs of the server of the plan on a stack of which the harness has no session in data/; None
    where it has one, or there are no such runs."""
    among = live_recordings(given)
    if not given.server or stack not in list_builds(given.server, among):
        return None
    known = any(stack in recordings.stacks(path) for path in recordings.find_recordings(given.recording))
    return None if known else fit_live(given.server, stack, among)


def requested_cases(given: argparse.Namespace, handshakes: bool = True) -> tuple[list[Case], list[str]]:
    """Return the cases that can be planned, and why the others of several stacks cannot. Raises ValueError with the
    first reason if none can."""
    live = live_recordings(given)
    if fit := live_case.find_live_fit(given, live):
        return [live_case.live_case(given, fit, live)], []
    stacks = requested_stacks(given)
    cases: list[Case] = []
    reasons: list[ValueError] = []
    for stack in stacks:
        try:
            cases.append(requested_case(given, stack, handshakes))
        except UserError:
            raise  # it is of the options, not of the stack
        except ValueError as error:
            reasons.append(error)
    if not cases:
        raise reasons[0]
    return cases, [str(one) for one in reasons]


def count_backends(given: argparse.Namespace) -> tuple[int, int] | None:
    """Return how many backend connections and contexts a proxy has; None if each connection has its own backend.

    Raises ImpossibleRequest if the connections are not a proxy's."""
    connections, contexts = (vars(given).get(name) for name in ("backends", "backend_servers"))
    if connections is None and contexts is None:
        return None
    if connections is None:
        raise ImpossibleRequest("--backend-servers also needs --backends")
    if given.role != "both":
        raise ImpossibleRequest("--backends also needs --role both: a proxy with TLS on both sides")
    return connections, contexts or 1


def priced_case(given: argparse.Namespace, model: ConnectionModel, handshakes: bool = True) -> Case:
    """Return the model with the prices that were given or are assumed, and with those of either state."""
    note = model.record(0)[1] if given.record_bytes is None else None
    idle, active = (
        state_price(given, model, model.configuration.with_state(at_rest), handshakes) for at_rest in (True, False)
    )
    measured = find_server_memory(given, model)
    configured = requested_costs(given, model.stack, model.suite)
    price = price_model(given, model)._replace(rest=idle.connection if idle else None)
    other, nearest = find_other_build(given, model), find_release_with_handshake(given, model)
    excess, checks = find_handshake_excess(given, measured), check_measured(given, model, measured)
    return Case(model, price, note, idle, active, other, nearest, measured, excess, configured, checks=checks)


def check_measured(
    given: argparse.Namespace, model: ConnectionModel, measured: ServerMemory | None
) -> Sequence[LiveCheck]:
    """Return the plan against the live runs of its server, where these had what it is for: the library, the suite, and
    the options that the server has by default; nothing where its sessions are of a recording that was named."""
    is_alike = measured and measured.stack == model.stack and model.suite == find_suite(measured.runs)
    is_usual = model.allocator == SYSTEM and model.role == "server" and given.tickets is None
    is_usual &= not count_backends(given) and not requested_costs(given, model.stack, model.suite).found
    if not measured or not is_alike or not is_usual or given.recording:
        return ()
    state = "at-rest" if model.configuration.is_at_rest else "in-use"
    return check_plan(measured.run, state, live_recordings(given), is_modelled=True)


def find_server_memory(given: argparse.Namespace, model: ConnectionModel) -> ServerMemory | None:
    """Return what the server of the plan holds beside TLS; None without one, or where it is not recorded."""
    return measure_server(given.server, model.stack, live_recordings(given)) if given.server else None


def live_recordings(given: argparse.Namespace) -> tuple[Path, ...]:
    """Return the recordings of live runs that were named, and the committed ones."""
    return recordings.find_live_recordings(vars(given).get("live", ()))


def find_other_build(given: argparse.Namespace, model: ConnectionModel) -> ConnectionModel | None:
    """Return the same connections in another build of the library: the default build for the one that servers use, and
    the one that servers use for any other. None if there is no such build, or it is not recorded."""
    key = library_key(model.stack)
    known = libraries().get(key)
    if not known or not known.build or key not in known.other_builds:
        return None
    build = key if is_headline_build(model.stack) else known.build
    configuration = Configuration(phase=model.configuration.phase)
    wanted = ModelRequest(f"{build}@{version(model.stack)}", model.suite, model.allocator, model.role, configuration)
    return find_model.find_model(wanted, recordings.find_recordings(given.recording))


def find_release_with_handshake(given: argparse.Namespace, model: ConnectionModel) -> str | None:
    """Return the nearest release for which the same is recorded with H; None: there is none, or the model has H."""
    if model.handshake is not None:
        return None
    among = recordings.find_recordings(given.recording)
    there = dict.fromkeys(stack for path in among for stack in recordings.stacks(path))
    for stack in nearest_releases(model.stack, there):
        wanted = ModelRequest(stack, model.suite, model.allocator, model.role, model.configuration)
        found = find_model.find_model(wanted, among, handshakes=True)
        if found and found.handshake is not None:
            return stack
    return None


def state_price(
    given: argparse.Namespace, model: ConnectionModel, configuration: Configuration, handshakes: bool
) -> Price | None:
    """Return the prices of the same connections in another state; None where that is not recorded."""
    if configuration == model.configuration:
        return price_model(given, model)
    among = recordings.find_recordings(given.recording)
    wanted = ModelRequest(model.stack, model.suite, model.allocator, model.role, configuration)
    found = find_model.find_model(wanted, among, handshakes)
    return price_model(given, found) if found else None


def price_model(given: argparse.Namespace, model: ConnectionModel) -> Price:
    """Return the prices of the model's connections, in bytes. Raises ValueError where a backend's is not recorded."""
    kernel = kernel_bytes(given, model.role)
    assumed_record = assumptions.assumed_size("record_bytes").value
    server = find_server_memory(given, model)
    price = capacity.price_model(model, kernel, given.record_bytes, assumed_record, server)
    knows_own = is_measured_with(server, model.stack) and model.handshake is not None
    own = (find_handshake_excess(given, server) if knows_own else None) or 0
    settings = requested_costs(given, model.stack, model.suite).found
    kept = WARM_UP * own  # of the handshakes that the process has had
    price = price._replace(first=price.first - kept, first_at_rest=price.first_at_rest - kept)
    return price._replace(handshake=price.handshake + own, backends=price_backends(given, model), settings=settings)


def find_handshake_excess(given: argparse.Namespace, measured: ServerMemory | None) -> int | None:
    """Return what the server of the plan keeps for each concurrent handshake beyond the model; None: not known."""
    if not measured:
        return None
    return measure_handshake_excess(given.server, measured.run.stack, live_recordings(given))


def kernel_bytes(given: argparse.Namespace, role: str) -> int:
    return assumptions.assumed_kernel_bytes(role) if given.kernel_bytes is None else given.kernel_bytes


def price_backends(given: argparse.Namespace, model: ConnectionModel) -> Backends | None:
    """Return a proxy's connections to its backends, in the same stack, suite and state; None without --backends."""
    counts = count_backends(given)
    if not counts:
        return None
    among = recordings.find_recordings(given.recording)
    wanted = ModelRequest(model.stack, model.suite, model.allocator, "client", model.configuration)
    backend = find_model.choose_model(wanted, among)
    context = find_backend_cost(given, model.stack) or client_context_cost(model.stack, among)
    return Backends(counts[0], round(backend.connection), kernel_bytes(given, "client"), counts[1], context)


def find_backend_cost(given: argparse.Namespace, stack: str) -> ContextCost | None:
    """Return what one more server behind it costs the server of the plan; None without one, or if not recorded."""
    among = recordings.find_configurations(vars(given).get("live", ()))
    found = measure_backend(given.server, stack, among) if given.server in BACKEND_LINES else None
    return ContextCost(*found) if found else None


def client_context_cost(stack: str, among: Sequence[Path]) -> ContextCost | None:
    """Return what one more client context costs, from the newest recording that has it; else None."""
    for path in among:
        for contexts in find_contexts(recordings.load_stack(path, stack)):
            size = contexts.context("client").rss
            if not isinstance(size, Missing):
                place = recordings.display_name(path)
                return ContextCost(round(size), f"client context with one CA, in {contexts.suite}, {place}")
    return None


def given_assumptions(given: argparse.Namespace) -> list[str]:
    """Return the options of assumptions that were given."""
    named = {"--kernel-bytes": given.kernel_bytes, "--record-bytes": given.record_bytes}
    return [option for option, value in named.items() if value is not None]


def list_kept_words(given: argparse.Namespace) -> list[str]:
    """Return the words of the command line that a command about the same connections needs too."""
    words = ["--kernel-bytes", str(given.kernel_bytes)] if given.kernel_bytes is not None else []
    named = [*(given.recording or ()), *(one for one in given.live if one not in (given.recording or ()))]
    return [*words, *(word for one in named for word in ("--recording", str(one)))]


def requested_demand(given: argparse.Namespace) -> Demand:
    """Return the load, by shares or by Little's law. Raises ImpossibleRequest where options exclude or need each
    other."""
    by_time = (given.rate, given.rtt, given.client_time, given.stalled_rate, given.timeout)
    if given.handshaking is not None and any(one is not None for one in by_time):
        raise ImpossibleRequest(
            "--handshaking already says how many are in the handshake; leave out --rate, --stalled-rate and their times"
        )
    if (given.rate is None) != (given.rtt is None and given.client_time is None):
        raise ImpossibleRequest(
            "--rate also needs --rtt or --client-time"
            if given.rate is not None
            else "--rtt and --client-time also need --rate"
        )
    if (given.stalled_rate is None) != (given.timeout is None):
        raise ImpossibleRequest("--stalled-rate and --timeout need each other")
    handshaking = given.handshaking if given.handshaking is not None else Fraction(0)
    if given.rate is not None or given.stalled_rate is not None:
        handshaking = capacity.apply_littles_law(given.rate or 0, (given.rtt or 0) + (given.client_time or 0))
        handshaking += capacity.apply_littles_law(given.stalled_rate or 0, given.timeout or 0)
    in_use = vars(given).get("in_use")
    if in_use is not None and given.state == "at-rest":
        raise ImpossibleRequest("--in-use says how many connections are at rest; leave out --state at-rest")
    in_flight = given.in_flight if given.in_flight is not None else Fraction(0)
    return Demand(handshaking, in_flight, Fraction(1) if in_use is None else in_use)


def check_demand(demand: Demand, connections: int | None) -> Demand:
    """Return the load. Raises ImpossibleRequest where more would be in the handshake or reading than there are
    connections."""
    parts = (demand.handshaking, demand.in_flight)
    if all(isinstance(one, Fraction) for one in parts) and sum(parts) > 1:
        raise ImpossibleRequest(
            "--handshaking and --in-flight together exceed 100%; a connection does only one of them"
        )
    if connections is None:
        return demand
    if isinstance(demand.in_use, int) and demand.in_use > connections:
        raise ImpossibleRequest(f"--in-use {demand.in_use:,} is more than {connections:,} connections")
    busy = sum(one * connections if isinstance(one, Fraction) else one for one in parts)
    if busy > connections:
        raise ImpossibleRequest(
            f"--handshaking and --in-flight are {float(busy):,.0f} together, more than {connections:,} connections"
        )
    return demand
