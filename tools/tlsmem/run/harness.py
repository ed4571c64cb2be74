"""Runs a harness, as one process or as a pair of a client's and a server's, and judges what it came to."""

import asyncio
import os
import re
import socket
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple

from tlsmem.run.process import STOPPED, WAITING, Process, ProcessResult, start_process
from tlsmem.run.validate import Outcome, judge
from tlsmem.schema.harness_output import EndLine, OutputLine, PhaseLine

KILLED = "killed because its peer had failed"  # by the runner: the process did not notice by itself
NOTICED = re.compile(r"the (client|server)'s process has ended$")  # as docs/reference/records.md has it
SAME = ("sessions", "window", "meter", "keep", "threads", "aslr", "thp")  # of the run lines
AGREE = ("protocol", "cipher", "group", "resumed", "retried")  # of the end lines


def merge_outcomes(client: Outcome, server: Outcome) -> Outcome:
    """The server's outcome with the client's phases, each before its own; the reason names whom it is about."""
    whole = replace(
        server,
        status="measured",
        reason=None,
        lines=lines(client, server),
        elapsed_ns=max(client.elapsed_ns, server.elapsed_ns),
        peer_reported=client.run.reported if client.run else None,
    )
    if blamed := blame(client, server):
        return replace(whole, status=blamed.outcome.status, reason=describe_blamed(blamed, client, server))
    different = disagreement(client, server)
    return whole.failed(different) if different else whole


class Blamed(NamedTuple):
    outcome: Outcome
    reason: str


def blame(client: Outcome, server: Outcome) -> Blamed | None:
    """The one that failed by itself, and first; a process that only noticed the other's end, or waited for it until
    the time limit, is last to blame."""

    def place(one: Blamed) -> tuple[bool, bool, bool, int]:
        waited = bool(NOTICED.search(one.reason)) or one.reason.endswith(WAITING)
        return one.reason == KILLED, waited, not one.reason.endswith(STOPPED), one.outcome.elapsed_ns

    return min((Blamed(one, one.reason) for one in (client, server) if one.reason), key=place, default=None)


def describe_blamed(blamed: Blamed, client: Outcome, server: Outcome) -> str:
    if client.reason == server.reason:
        return blamed.reason
    return f"the {'client' if blamed.outcome is client else 'server'}'s process: {blamed.reason}"


def disagreement(client: Outcome, server: Outcome) -> str | None:
    """Of two that were measured: what one end says and the other does not."""
    runs = client.measured_run, server.measured_run
    if [run.role for run in runs] != ["client", "server"]:
        return f"asked for a client and a server, but they say {' and '.join(run.role for run in runs)}"
    if [phase.phase for phase in client.phases] != [phase.phase for phase in server.phases]:
        return "client and server went through different phases"
    agreed = client.measured_end.negotiated, server.measured_end.negotiated
    for one, other, names in ((*runs, SAME), (*agreed, AGREE)):
        for name in names:
            if str(getattr(one, name)).lower() != str(getattr(other, name)).lower():
                return f"{name}: the client says {getattr(one, name)}, but the server says {getattr(other, name)}"
    return None


def lines(client: Outcome, server: Outcome) -> list[OutputLine]:
    """A run line with the notes of both; their stacks, the client's first; phases side by side; one end line."""
    said = [line for line in (server.run, client.run) if line][:1]
    if server.run and client.run:
        notes = [*server.run.notes, *(f"client: {note}" for note in client.run.notes)]
        said = [server.run.model_copy(update={"notes": notes})]
    shift = len(client.stacks)
    stacks = [*client.stacks, *(stack.model_copy(update={"stack": stack.stack + shift}) for stack in server.stacks)]
    phases = zip_longest(phase_lines(client), (shifted(phase, shift) for phase in phase_lines(server)))
    both = [phase for pair in phases for phase in pair if phase]
    return [*said, *stacks, *both, *end(client.end, server.end)]


def phase_lines(outcome: Outcome) -> list[PhaseLine]:
    return [line for line in outcome.lines if isinstance(line, PhaseLine)]


def shifted(phase: PhaseLine, shift: int) -> PhaseLine:
    """With stacks numbered behind `shift` others."""
    if not phase.sites:
        return phase
    sites = phase.sites
    moved = {
        name: blocks and [one.model_copy(update={"stack": one.stack + shift}) for one in blocks]
        for name, blocks in (("live", sites.live), ("temporary", sites.temporary), ("peak", sites.peak))
    }
    return phase.model_copy(update={"sites": sites.model_copy(update=moved)})


def end(client: EndLine | None, server: EndLine | None) -> list[EndLine]:
    """Each knows of its own verification."""
    if not (client and server and client.negotiated and server.negotiated):
        return []
    agreed = server.negotiated
    return [
        server.model_copy(
            update={"negotiated": agreed.model_copy(update={"client_verified": client.negotiated.client_verified})}
        )
    ]


GRACE_S = 1  # for a process whose peer has failed: it sees that at its barrier and says so


async def run(argv: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """Runs `argv` in the root of the repository, for at most `limit_s` seconds, with no environment but `variables`."""
    started_at = utc_now()
    try:
        async with start_process(argv, variables) as process:
            await process.wait(limit_s)
        ended = process.ended()
    except OSError as error:
        ended = describe_start_error(error)
    return judge(ended, argv, started_at)


async def run_pair(client: list[str], server: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """As `run`, a process for each role, which share the wires' memfd and a barrier; what ends one ends both."""
    started_at, wires = utc_now(), os.memfd_create("wires")
    barrier = socket.socketpair()
    argvs = [
        [*argv, f"wires={wires}", f"barrier={end.fileno()}"]
        for argv, end in zip((client, server), barrier, strict=True)
    ]
    try:
        async with (
            start_process(argvs[0], variables, (wires, barrier[0].fileno())) as one,
            start_process(argvs[1], variables, (wires, barrier[1].fileno())) as other,
        ):
            for end in barrier:  # else neither would see the other's end close
                end.close()
            await wait_both(one, other, limit_s)
        ended = [one.ended(), other.ended()]
    except OSError as error:
        ended = [
            describe_start_error(error) if argv[0] == error.filename else ProcessResult(stopped=KILLED)
            for argv in argvs
        ]
    finally:
        os.close(wires)
        for end in barrier:
            end.close()
    return merge_outcomes(*(judge(end, argv, started_at) for end, argv in zip(ended, argvs, strict=True)))


async def wait_both(one: Process, other: Process, limit_s: float) -> None:
    """Once one has failed, its peer has a moment to end by itself."""
    waiting = {asyncio.create_task(process.wait(limit_s)): process for process in (one, other)}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        late = [process for task, process in waiting.items() if not task.done()]
        failed = any(process.failed for task, process in waiting.items() if task.done())
        await asyncio.wait(waiting, timeout=GRACE_S if failed else None)
        if failed and late and late[0].process.returncode is None:
            await late[0].stop(KILLED)
        await asyncio.gather(*waiting)
    finally:
        for task in waiting:
            task.cancel()


def describe_start_error(error: OSError) -> ProcessResult:
    return ProcessResult(stopped=f"cannot be started: {error.strerror}")


def utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
