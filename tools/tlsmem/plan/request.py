"""What was asked for on the command line: the law of a stack with its prices, and the load."""

import argparse
from fractions import Fraction

from tlsmem.config.servers import find_server
from tlsmem.plan import assumptions, capacity, find_model, recordings
from tlsmem.plan.capacity import Demand
from tlsmem.plan.configuration import configure
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.memory_answer import Case


class ImpossibleRequest(Exception):
    """What was asked for cannot be: exit 2."""


def requested_stacks(given: argparse.Namespace) -> list[str]:
    """The stacks that were asked for, else those of the usual ones that the server runs on."""
    usual = find_model.choose_stacks(given.stack)
    if given.stack or given.server is None:
        return usual
    there = [one for one in usual if find_server(given.server).can_run(one)]
    if not there:
        known = ", ".join(find_server(given.server).libraries)
        raise ImpossibleRequest(f"--as {given.server} needs a --stack: one of {known} (tools/list_stacks.py)")
    return there


def requested_model(
    given: argparse.Namespace, stack: str, role: str | None = None, handshakes: bool = True, strict: bool | None = None
) -> ConnectionModel:
    """The connections as --as and --state have them; `handshakes`: with H. Where that is not recorded: connections at
    rest that were not used yet, unless a server was named (`strict`). ValueError with a sentence where nothing is
    recorded."""
    among = recordings.find_recordings(given.recording)
    named = (stack, find_model.check_suite(given.suite), given.allocator, role or given.role)
    configuration = configure(given.server, given.state, stack)
    found = find_model.choose_configured(*named, configuration, among)
    if found and not (handshakes and found.handshake is None):
        return found
    if not (given.server is not None if strict is None else strict):
        return find_model.choose_model(*named, among)
    if not found:
        raise ValueError(find_model.why_not_configured(stack, given.suite, named[3], configuration, among))
    command = f'tools/measure.py c10k-in-use --stacks "{stack}" --suites {given.suite}'
    variant = configuration.variant(given.suite)
    raise ValueError(f"not recorded: H, what a handshake adds, of {stack}, {variant}; `{command}` records it")


def requested_case(given: argparse.Namespace, stack: str, handshakes: bool = True) -> Case:
    """`handshakes`: connections are in the handshake, beyond 100 at a time."""
    return priced_case(given, requested_model(given, stack, handshakes=handshakes))


def priced_case(given: argparse.Namespace, law: ConnectionModel) -> Case:
    """With the prices that were given or are assumed."""
    assumed = {name: assumptions.assumed_size(name).value for name in ("kernel_bytes", "record_bytes")}
    kernel = assumed["kernel_bytes"] if given.kernel_bytes is None else given.kernel_bytes
    kernel *= 2 if law.role == "both" and given.kernel_bytes is None else 1
    of = capacity.price_model(law, kernel, given.record_bytes, assumed["record_bytes"])
    return Case(law, of, law.record(0)[1] if given.record_bytes is None else None)


def requested_demand(given: argparse.Namespace) -> Demand:
    by_time = (given.rate, given.rtt, given.client_time, given.stalled_rate, given.timeout)
    if given.handshaking is not None and any(one is not None for one in by_time):
        raise ImpossibleRequest(
            "--handshaking says how many are in the handshake; leave out --rate, --stalled-rate and their times"
        )
    if (given.rate is None) != (given.rtt is None and given.client_time is None):
        raise ImpossibleRequest("--rate needs --rtt or --client-time, and they need --rate")
    if (given.stalled_rate is None) != (given.timeout is None):
        raise ImpossibleRequest("--stalled-rate and --timeout need each other")
    shaking = given.handshaking if given.handshaking is not None else Fraction(0)
    if given.rate is not None or given.stalled_rate is not None:
        shaking = capacity.apply_littles_law(given.rate or 0, (given.rtt or 0) + (given.client_time or 0))
        shaking += capacity.apply_littles_law(given.stalled_rate or 0, given.timeout or 0)
    return Demand(shaking, given.in_flight if given.in_flight is not None else Fraction(0))


def check_demand(of: Demand, sessions: int | None) -> Demand:
    """Impossible where more would shake hands or read than there are."""
    parts = (of.handshaking, of.in_flight)
    if all(isinstance(one, Fraction) for one in parts) and sum(parts) > 1:
        raise ImpossibleRequest(
            "--handshaking and --in-flight are more than 100% together: a connection does one of them"
        )
    asked = sum(one * sessions if isinstance(one, Fraction) else one for one in parts) if sessions else 0
    if sessions and asked > sessions:
        raise ImpossibleRequest(
            f"{float(asked):,.0f} in the handshake or reading are more than {sessions:,} connections"
        )
    return of
