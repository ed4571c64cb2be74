"""The memory model for a plan, from the newest recording that has it; a sentence where none does."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.config.toml_tables import read_tables
from tlsmem.plan.combined_model import add_roles, convert_allocator
from tlsmem.plan.configuration import describe_recording, describe_recording_of_handshakes
from tlsmem.plan.connection_model import SYSTEM, ConnectionModel, ModelRequest, fit_configuration
from tlsmem.plan.recorded_states import RecordedSuite
from tlsmem.stats import recorded_stacks
from tlsmem.store import recordings


def choose_model(wanted: ModelRequest, among: Sequence[Path], handshakes: bool = False) -> ConnectionModel:
    """Return the wanted model; `handshakes`: with H. Raises ValueError with the command to record it."""
    found = find_model(wanted, among, handshakes)
    if not found:
        raise ValueError(describe_missing(wanted, among))
    if handshakes and found.handshake is None:
        raise ValueError(
            f"{wanted.stack}, {wanted.configuration.variant(wanted.suite)}: what a handshake adds is not recorded; "
            f"{describe_recording_of_handshakes(wanted.stack, wanted.suite, wanted.allocator)}"
        )
    return found


def find_model(wanted: ModelRequest, among: Sequence[Path], handshakes: bool = False) -> ConnectionModel | None:
    """Return the newest model of what is wanted; None where there is none.

    `handshakes`: the newest with H, where one has it. Not recorded directly: the sum of both roles, or another
    allocator by ratio."""
    newest: ConnectionModel | None = None
    for path in among:
        if one := fit_configuration(recordings.load_stack(path, wanted.stack), wanted):
            newest = newest or replace(one, origin=path)
            if not handshakes or one.handshake is not None:
                return replace(one, origin=path)
    if newest:
        return newest
    if wanted.role == "both":
        server, client = (find_model(wanted._replace(role=one), among, handshakes) for one in ("server", "client"))
        return add_roles(server, client) if server and client else None
    if wanted.allocator != SYSTEM:
        system = find_model(wanted._replace(allocator=SYSTEM), among, handshakes)
        converted = (
            convert_allocator(system, wanted.allocator, recordings.load_stack(path, wanted.stack))
            for path in among
            if system
        )
        return next(filter(None, converted), None)
    return None


def describe_missing(wanted: ModelRequest, among: Sequence[Path]) -> str:
    """Return why there is no such model: it is not recorded, or could not be measured."""
    stack, suite, allocator, role, configuration = wanted
    known = [run for path in among for run in recordings.load_stack(path, stack) if run.scenario == "memory"]
    if not known:
        return recorded_stacks.describe_unknown(stack, among)
    variant = configuration.variant(suite)
    runs = [run for run in known if run.suite == variant] or [run for run in known if run.suite == suite]
    if runs and all(run.status != "measured" for run in runs):
        return f"{stack} in {runs[-1].suite}: {runs[-1].status}: {' '.join((runs[-1].reason or '').split())}"
    under = "" if allocator == SYSTEM else f" under {allocator}"
    return (
        f"not recorded: RSS of {stack} as {describe_role(role)}{under}, {variant}, after a full record each way; "
        f"{describe_recording(stack, suite, allocator)}{describe_recorded(stack, suite, among)}"
    )


def describe_recorded(stack: str, suite: str, among: Sequence[Path]) -> str:
    """Return what is recorded of the stack in the suite with glibc malloc, and the command that prints it, if any."""
    states = RecordedSuite(stack, suite, among).states
    if not states:
        return ""
    where = recordings.display_name(states[0].recording)
    command = f"tools/tls-memtest cost {stack} --suite {suite} --recording {shlex.quote(where)}"
    return f". Recorded with glibc malloc: {states[0].describe()}: {command}"


def describe_role(role: str) -> str:
    """Return the process that has the role."""
    return "a proxy" if role == "both" else f"a {role}"


def choose_stacks(stacks: Sequence[str] | None, usual: Sequence[str] = ()) -> list[str]:
    """Return the requested stacks, else the usual ones."""
    return list(dict.fromkeys(stacks)) if stacks else list(usual or definitions.campaigns()["law"].stacks)


def check_suite(suite: str) -> str:
    """Return the suite. Raises Usage with a sentence when there is none of this name."""
    if suite not in definitions.suites():
        raise Usage(f"--suite: {definitions.describe_unknown_suite(suite)}")
    return suite


def check_allocator(allocator: str) -> str:
    """Return the allocator. Raises Usage with a sentence if there is none of this name."""
    there = [SYSTEM, *(name for name in read_tables("allocators") if name != SYSTEM)]
    if allocator not in there:
        near = suggest_nearest(allocator, there) or f"; there are: {', '.join(there)}"
        raise Usage(f"--allocator: memtest/allocators.toml has no allocator {allocator}{near}")
    return allocator
