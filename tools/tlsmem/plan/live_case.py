"""The case of a plan from a server's live runs alone, and what cannot be asked of it."""

import argparse
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.servers import servers
from tlsmem.live.live_run import WARM_UP
from tlsmem.plan import assumptions, capacity
from tlsmem.plan.capacity import Price
from tlsmem.plan.case import Case
from tlsmem.plan.configuration_costs import requested_costs
from tlsmem.plan.connection_model import SYSTEM
from tlsmem.plan.live_check import check_plan
from tlsmem.plan.live_model import LiveFit, fit_live
from tlsmem.plan.server_memory import PHASES, list_builds
from tlsmem.stats.missing import replace_missing

HARNESS_OPTIONS = {  # options that change what only the harness measured: the attribute, and its value without them
    "--low-memory": ("low_memory", False),
    "--tickets": ("tickets", None),
    "--allocator": ("allocator", SYSTEM),
    "--role": ("role", "server"),
    "--suite": ("suite", None),
}


def find_live_fit(given: argparse.Namespace, among: tuple[Path, ...]) -> LiveFit | None:
    """Return what the live runs of the server of the plan give, where the plan is for them alone; None where it is for
    a library, or without a server. Raises Usage with a sentence where the server is not recorded so."""
    name = given.server
    if not name or (name in servers() and (given.stack or servers()[name].packaged)):
        return None
    builds = list_builds(name, among)
    if not builds:
        if name in servers():
            return None
        raise Usage(f"--as {name}: no live runs of it are recorded; `make live SERVER={name}` makes some")
    wanted = given.stack or [None if None in builds else builds[0]]
    for stack in wanted:
        if stack not in builds:
            there = [one for one in builds if one]
            near = suggest_nearest(stack, there) or (f"; there are: {', '.join(there)}" if there else "")
            raise Usage(f"--as {name}: it was not measured on {stack}; leave out --stack{near}")
    if len(wanted) > 1:
        raise Usage(f"--as {name} takes one --stack: its figures are those of its live runs")
    found = fit_live(name, wanted[0], among)
    if not found:
        raise Usage(
            f"--as {name}: its live runs have not two numbers of connections over TLS; "
            f"`make live SERVER={name} N=1000,3000` makes some"
        )
    return found


def live_case(given: argparse.Namespace, fit: LiveFit, among: tuple[Path, ...]) -> Case:
    """Return the case; `among`: the recordings of live runs. Raises Usage where an option asks for what these have
    not."""
    for option, (attribute, usual) in HARNESS_OPTIONS.items():
        if vars(given).get(attribute, usual) != usual:
            raise Usage(
                f"--as {fit.name}: the plan has the figures of its live runs, {fit.title}; leave out {option}, "
                "which they do not tell"
            )
    if any(vars(given).get(one) is not None for one in ("backends", "backend_servers")):
        raise Usage(f"--as {fit.name}: backend connections were not measured; leave out --backends")
    state = given.state
    model = fit.model(state)
    idle, active = (price_state(given, fit, one) for one in PHASES)
    price = (idle if state == "at-rest" else active)._replace(rest=idle.tls)
    note = model.record(0)[1] if given.record_bytes is None else None
    configured = requested_costs(given, fit.run.stack, model.suite)
    checks = [] if configured.found else check_plan(fit.run, state, among, is_modelled=False)
    return Case(model, price, note, idle, active, configured=configured, live=fit, checks=checks)


def price_state(given: argparse.Namespace, fit: LiveFit, state: str) -> Price:
    """Return the prices in a state: the kernel's as given, else as the live runs have it, else as assumed."""
    measured = replace_missing(fit.kernel[state], assumptions.assumed_kernel_bytes("server"))
    kernel = round(measured) if given.kernel_bytes is None else given.kernel_bytes
    assumed = assumptions.assumed_size("record_bytes").value
    price = capacity.price_model(fit.model(state), kernel, given.record_bytes, assumed)
    first = {name: round(size - WARM_UP * fit.handshake[name]) for name, size in fit.first.items()}
    price = price._replace(first=first[state], first_at_rest=first["at-rest"])
    return price._replace(own=fit.table, settings=requested_costs(given, fit.run.stack, fit.model(state).suite).found)
