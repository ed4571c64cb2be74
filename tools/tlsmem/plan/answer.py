"""Answers of plan.py: memory of so many connections, how many fit, storms, fleets, HAProxy, and the check."""

import argparse
import math
import signal
import sys

from tlsmem.base.printable import printable_text
from tlsmem.plan import (
    assumptions,
    find_model,
    fleet_answer,
    haproxy_answer,
    memory_answer,
    model_checks,
    recordings,
    storm_answer,
)
from tlsmem.plan.capacity import Demand
from tlsmem.plan.fleet_answer import Fleet
from tlsmem.plan.handshake_rates import HandshakeRate, find_rate
from tlsmem.plan.memory_answer import Case
from tlsmem.plan.request import (
    ImpossibleRequest,
    check_demand,
    priced_case,
    requested_case,
    requested_demand,
    requested_model,
    requested_stacks,
)
from tlsmem.plan.storm_answer import StormResult
from tlsmem.plan.storm_memory import StormMemory
from tlsmem.plan.storm_simulation import Service, arrivals, simulate
from tlsmem.schema import recording_files
from tlsmem.tables import table_command
from tlsmem.tables.table import Table

QUIET = Demand()  # nobody in the handshake, nothing in flight
SPREAD = 0.5  # of the time until a client comes back: not all do at the same moment


def with_terms(given: argparse.Namespace, made: Table, cases: list[Case]) -> list[Table]:
    for said in dict.fromkeys(
        f"{recordings.display_name(one.law.origin)}: {said}" for one in cases for said in one.law.left_out
    ):
        print(printable_text(f"plan: {said}"), file=sys.stderr)
    stands_on = memory_answer.terms_table(cases, given.kernel_bytes is not None, given.record_bytes is not None)
    return [made, stands_on, assumptions.left_out_table()]


def memory(given: argparse.Namespace) -> list[Table]:
    of = check_demand(requested_demand(given), given.connections)
    cases = [requested_case(given, stack, bool(of.handshaking)) for stack in requested_stacks(given)]
    return with_terms(given, memory_answer.memory_table(cases, of, given.connections), cases)


def fit(given: argparse.Namespace) -> list[Table]:
    of = check_demand(requested_demand(given), None)
    cases = [requested_case(given, stack, bool(of.handshaking)) for stack in requested_stacks(given)]
    return with_terms(given, memory_answer.fit_table(cases, of, given.memory), cases)


def rate(given: argparse.Namespace, of: Case) -> HandshakeRate:
    if given.handshake_rate is None:
        return find_rate(
            of.law.stack, of.law.suite, of.law.role, given.cores, recordings.find_recordings(given.recording)
        )
    return HandshakeRate(given.handshake_rate, given.cores or of.law.machine[1], 0)


def storm_of(given: argparse.Namespace, of: Case, clients: int, before: int = 0, usual: Demand = QUIET) -> StormResult:
    speed = rate(given, of)
    patience = (given.limit, given.timeout, given.retry, given.attempts, SPREAD)
    service = Service(1 / speed.each, speed.cores, given.rtt + given.client_time, *patience)
    course = simulate(arrivals(clients, given.within, given.arrivals, given.seed), service)
    resting = math.ceil(usual.flying(before) * of.price.record)
    memory = StormMemory(of.law, of.price, course, before, math.ceil(usual.shaking(before)), resting)
    return StormResult(of, speed, service, memory)


def draw_storms(given: argparse.Namespace, storms: list[StormResult], title: str) -> None:
    if not given.output:
        return
    from tlsmem.plan import storm_picture  # slow to import, and needed for pictures only

    law = storms[0].case.law
    below = f"{given.suite}, {law.role}, allocator {law.allocator}; arrivals {given.arrivals}, "
    below += f"round trip and client {1000 * (given.rtt + given.client_time):,.0f} ms"
    for file in storm_picture.save(storms, title, below, given.output):
        print(f"plan: {file}", file=sys.stderr)


def storm(given: argparse.Namespace) -> list[Table]:
    cases = [requested_case(given, stack) for stack in requested_stacks(given)]
    storms = [storm_of(given, of, given.clients) for of in cases]
    title = f"{given.clients:,} clients come back within {given.within:g} seconds"
    draw_storms(given, storms, title)
    return with_terms(given, storm_answer.storm_table(storms, title), cases)


def fleet(given: argparse.Namespace) -> list[Table]:
    if given.fail >= given.hosts:
        raise ImpossibleRequest(f"--fail {given.fail} of --hosts {given.hosts} leaves no host")
    of = Fleet(given.clients, given.hosts, given.fail)
    cases = [requested_case(given, stack) for stack in requested_stacks(given)]
    usual = check_demand(Demand(given.handshaking, given.in_flight), of.before)
    storms = [storm_of(given, one, max(1, of.more), of.before, usual) for one in cases]
    made = fleet_answer.fleet_table(storms, of)
    draw_storms(given, storms, made.title)
    return with_terms(given, made, cases)


def haproxy(given: argparse.Namespace) -> list[Table]:
    """In use as HAProxy runs the stack, where that is recorded."""
    given = argparse.Namespace(**vars(given) | {"server": "haproxy", "state": "in-use"})
    roles = ("server", "client") if given.role == "both" else (given.role,)
    pairs = []
    for stack in find_model.choose_stacks(given.stack, assumptions.haproxy_assumptions().stacks):
        laws = [requested_model(given, stack, role, strict=False) for role in roles]
        pairs.append((priced_case(given, laws[0]), laws))
    made = haproxy_answer.haproxy_table(pairs, given.memory, len(roles))
    return with_terms(given, made, [one for one, _ in pairs])


def check(given: argparse.Namespace) -> list[Table]:
    asked = (
        find_model.choose_stacks(given.stack),
        find_model.check_suite(given.suite),
        recordings.find_recordings(given.recording),
    )
    made = [model_checks.check_table(*asked), model_checks.estimate_table(*asked)]
    return [one for one in made if one.rows]


ANSWERS = {"memory": memory, "fit": fit, "storm": storm, "fleet": fleet, "haproxy": haproxy, "check": check}


def select_tables(made: list[Table], names: list[str] | None) -> list[Table]:
    """Those that were asked for. Impossible where this answer has not such a table."""
    there = [one.name for one in made]
    for name in names or ():
        if name not in there:
            raise ImpossibleRequest(f"this answer has no table {name}; it has {', '.join(there)}")
    return [one for one in made if not names or one.name in names]


def ended(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Exits as it went."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        table_command.deliver(select_tables(ANSWERS[given.answer](given), given.table), given, parser)
    except ImpossibleRequest as error:
        parser.error(printable_text(str(error)))
    except ValueError as error:
        sys.exit(printable_text(f"plan: {error}"))
    except OSError as error:
        sys.exit(f"plan: {error.filename or given.into}: {error.strerror}")
    sys.exit(1 if recording_files.skipped_lines else 0)
