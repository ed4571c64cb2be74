"""The memory model for a plan, from the newest recording that has it; a sentence where none does; and models made of
recorded ones: a proxy's connection of two sessions, and connections under another allocator."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.releases import version
from tlsmem.config.suite_variants import LOW_MEMORY
from tlsmem.config.toml_tables import read_tables
from tlsmem.plan.configuration import describe_recording, describe_recording_of_handshakes
from tlsmem.plan.connection_model import (
    BY_RATIO,
    RSS_CLOSED,
    SUMMED,
    SYSTEM,
    ConnectionModel,
    ModelRequest,
    find_series,
    fit_configuration,
    fit_slope,
    select_runs,
    share,
)
from tlsmem.plan.recorded_states import RecordedSuite
from tlsmem.stats import memory_model, recorded_stacks
from tlsmem.stats.series import limit_to_common_sessions
from tlsmem.store import recordings
from tlsmem.store.record import Record


def choose_model(wanted: ModelRequest, among: Sequence[Path], handshakes: bool = False) -> ConnectionModel:
    """Return the wanted model; `handshakes`: with H. Raises ValueError with the command to record it."""
    found = find_model(wanted, among, handshakes)
    if not found:
        raise ValueError(describe_missing(wanted, among))
    if handshakes and found.handshake is None:
        variant, full = (wanted.configuration.variant(wanted.suite), wanted.configuration.full_variant(wanted.suite))
        raise ValueError(
            f"{wanted.stack}, {variant}: what a handshake adds is not recorded; "
            f"{describe_recording_of_handshakes(wanted.stack, full, wanted.allocator)}"
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
        why = f"{stack} in {runs[-1].suite}: {runs[-1].status}: {' '.join((runs[-1].reason or '').split())}"
        return why + (suggest_defaults(stack, among) if configuration.options == LOW_MEMORY else "")
    under = "" if allocator == SYSTEM else f" under {allocator}"
    return (
        f"not recorded: RSS of {stack} as {describe_role(role)}{under}, {variant}, after a full record each way; "
        f"{describe_recording(stack, variant, allocator)}{describe_recorded(stack, suite, among)}"
    )


def suggest_defaults(stack: str, among: Sequence[Path]) -> str:
    """Return what to plan in place of an option that the library does not have: its defaults, and those of its default
    build where that is recorded."""
    key, there = library_key(stack), {one for path in among for one in recordings.stacks(path)}
    build, known = f"{key}@{version(stack)}", libraries().get(key)
    is_other = known and known.build and key in known.other_builds and build != stack and build in there
    return "; leave --low-memory out to plan with its defaults" + (f", or those of {build}" if is_other else "")


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


def add_roles(server: ConnectionModel, client: ConnectionModel) -> ConnectionModel:
    """Return the model of a proxy's connection: the sum of both sessions, in one process."""
    known = server.handshake is not None and client.handshake is not None
    peak = server.peak + client.peak
    return replace(
        server,
        role="both",
        how=SUMMED,
        fixed=max(server.fixed, client.fixed),
        connection=server.connection + client.connection,
        handshake=(server.handshake or 0.0) + (client.handshake or 0.0) if known else None,
        widest=min(server.widest, client.widest),
        narrowest=max(server.narrowest, client.narrowest),
        has_record_buffer=server.has_record_buffer and client.has_record_buffer,
        handshake_retention=max(server.handshake_retention, client.handshake_retention),
        closed_retention=share(server.closed_retention * server.peak + client.closed_retention * client.peak, peak),
        left_out=tuple(dict.fromkeys(server.left_out + client.left_out)),
        live=add_known(server.live, client.live),
        in_use=add_known(server.in_use, client.in_use),
    )


def add_known(first: float | None, second: float | None) -> float | None:
    """Return the sum; None where one is not known."""
    return None if first is None or second is None else first + second


def convert_allocator(found: ConnectionModel, allocator: str, runs: Sequence[Record]) -> ConnectionModel | None:
    """Return a model of glibc malloc for another allocator, by the ratio of peak RSS with both ends in one process.

    None where the recording has no such runs."""
    selection = select_runs(runs, found.stack, found.suite)
    wide = [find_series(selection, name, "both") for name in (SYSTEM, allocator)] if selection else [None]
    series = [one for one in wide if one]
    if len(series) < 2:
        return None
    system, other = limit_to_common_sessions(series)
    before, peak = (fit_slope(one, memory_model.handshake_peak_rss) for one in (system, other))
    closed = fit_slope(other, RSS_CLOSED)
    if not before or not peak or not closed:
        return None
    ratio = peak.each / before.each
    return replace(
        found,
        allocator=allocator,
        how=BY_RATIO,
        fixed=max(0.0, found.fixed + peak.fixed - before.fixed),
        connection=ratio * found.connection,
        handshake=None if found.handshake is None else ratio * found.handshake,
        in_use=None if found.in_use is None else ratio * found.in_use,
        widest=min(found.widest, peak.widest),
        closed_retention=share(closed.each, peak.each),
        live=None,
    )
