"""The law that an operator asked for, from the recording that tells it best; a sentence where none does."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.plan import allocator_retention, recordings
from tlsmem.plan.configuration import Configuration, recording_commands
from tlsmem.plan.configured_model import fit_configuration
from tlsmem.plan.connection_model import MEASURED, SYSTEM, ConnectionModel, fit_pair, fit_role, select_runs
from tlsmem.schema.records import Record


def choose_model(stack: str, suite: str, allocator: str, role: str, among: Sequence[Path]) -> ConnectionModel:
    """The first measured one, else the first estimate. ValueError with a sentence."""
    found = [one for path in among if (one := in_recording(path, stack, suite, allocator, role))]
    if not found:
        raise ValueError(why_not(stack, suite, allocator, role, among))
    order = [one for one in found if one.how == MEASURED] or found
    return order[0]


def choose_configured(
    stack: str, suite: str, allocator: str, role: str, configuration: Configuration, among: Sequence[Path]
) -> ConnectionModel | None:
    """The first in this configuration whose handshakes are recorded too, else the first; None where there is none."""
    found = []
    for path in among:
        runs = recordings.load_stack(path, stack)
        if one := fit_configuration(runs, stack, suite, allocator, role, configuration):
            found.append(replace(one, origin=path))
    complete = [one for one in found if one.handshake is not None]
    return next(iter(complete or found), None)


def why_not_configured(stack: str, suite: str, role: str, configuration: Configuration, among: Sequence[Path]) -> str:
    """Why there is no model of the configuration: it is not recorded, or could not be measured."""
    variant = configuration.variant(suite)
    runs = [run for path in among for run in recordings.load_stack(path, stack) if run.suite == variant]
    if runs and all(run.status != "measured" for run in runs):
        return f"{stack} in {variant}: {runs[-1].status}: {' '.join((runs[-1].reason or '').split())}"
    if not any(recordings.load_stack(path, stack) for path in among):
        return recordings.describe_unknown(stack, among)
    who = f"the {role}s" if role != "both" else "both ends in one process"
    return (
        f"not recorded: {stack}, {variant} with full records, RSS of {who}; "
        f"{recording_commands(stack, suite)}, and --recording names what they recorded"
    )


def in_recording(path: Path, stack: str, suite: str, allocator: str, role: str) -> ConnectionModel | None:
    selection = select_runs(recordings.load_stack(path, stack), stack, suite)
    if not selection:
        return None
    told = fit_pair(selection) if role == "both" else fit_role(selection, role)
    if not told:
        return None
    law, series = replace(told[0], origin=path, left_out=selection.left_out), told[1]
    return (
        allocator_retention.add_retention(law, series)
        if allocator == SYSTEM
        else allocator_retention.model_under_allocator(law, allocator, selection)
    )


def why_not(stack: str, suite: str, allocator: str, role: str, among: Sequence[Path]) -> str:
    runs = [run for path in among for run in recordings.load_stack(path, stack) if run.scenario == "memory"]
    if not runs:
        return recordings.describe_unknown(stack, among)
    suites = list(dict.fromkeys(run.suite for run in runs))
    if suite not in suites:
        return f"no runs of memory of {stack} in the suite {suite}; there are: {', '.join(suites)}"
    here = [run for run in runs if run.suite == suite]
    if measured := [run for run in here if run.status == "measured"]:
        return lacking(stack, suite, allocator, role, measured)
    return f"no run of {stack} in {suite} was measured: {here[-1].status}: {' '.join((here[-1].reason or '').split())}"


def lacking(stack: str, suite: str, allocator: str, role: str, runs: Sequence[Record]) -> str:
    names = list(dict.fromkeys(run.allocator.name for run in runs if run.roles == "together"))
    if allocator != SYSTEM and allocator not in names:
        return f"no runs of {stack} in {suite} under {allocator}; there are: {', '.join(names) or 'none'}"
    made = f'`make mem ROLES=split N=20000 STACKS="{stack}" SUITES={suite}`, with OUT= a recording, does'
    if role == "both":
        return f"{stack} in {suite} was never measured with both ends in one process; `make mem` does"
    beside = " (--role both is recorded)" if any(run.roles == "together" for run in runs) else ""
    return f"no {role} of {stack} in {suite} was measured in a process of its own{beside}; {made}"


def choose_stacks(stacks: Sequence[str] | None, usual: Sequence[str] = ()) -> list[str]:
    """Those that were asked for, else those whose law is recorded."""
    return list(dict.fromkeys(stacks)) if stacks else list(usual or definitions.campaigns()["law"].stacks)


def check_suite(suite: str) -> str:
    there = definitions.suites()
    if suite not in there:
        raise ValueError(f"no suite {suite} in memtest/suites.toml{suggest_nearest(suite, there)}")
    return suite
