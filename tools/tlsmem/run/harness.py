"""Runs a harness, as one process or as a pair of a client's and a server's, and judges what it came to."""

import asyncio
import os
import socket
from datetime import UTC, datetime

from tlsmem.run import process_pair
from tlsmem.run.process import Ended, Process, started
from tlsmem.run.validate import Outcome, judge

GRACE_S = 1  # for a process whose peer has failed: it sees that at its barrier and says so


async def run(argv: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """Runs `argv` in the root of the repository, for at most `limit_s` seconds, with no environment but `variables`."""
    started_at = now()
    try:
        async with started(argv, variables) as process:
            await process.wait(limit_s)
        ended = process.ended()
    except OSError as error:
        ended = cannot_start(error)
    return judge(ended, argv, started_at)


async def run_pair(client: list[str], server: list[str], variables: dict[str, str], limit_s: float) -> Outcome:
    """As `run`, a process for each role, which share the wires' memfd and a barrier; what ends one ends both."""
    started_at, wires = now(), os.memfd_create("wires")
    barrier = socket.socketpair()
    argvs = [
        [*argv, f"wires={wires}", f"barrier={end.fileno()}"]
        for argv, end in zip((client, server), barrier, strict=True)
    ]
    try:
        async with (
            started(argvs[0], variables, (wires, barrier[0].fileno())) as one,
            started(argvs[1], variables, (wires, barrier[1].fileno())) as other,
        ):
            for end in barrier:  # else neither would see the other's end close
                end.close()
            await wait_both(one, other, limit_s)
        ended = [one.ended(), other.ended()]
    except OSError as error:
        ended = [
            cannot_start(error) if argv[0] == error.filename else Ended(stopped=process_pair.KILLED) for argv in argvs
        ]
    finally:
        os.close(wires)
        for end in barrier:
            end.close()
    return process_pair.merge(*(judge(end, argv, started_at) for end, argv in zip(ended, argvs, strict=True)))


async def wait_both(one: Process, other: Process, limit_s: float) -> None:
    """Once one has failed, its peer has a moment to end by itself."""
    waiting = {asyncio.create_task(process.wait(limit_s)): process for process in (one, other)}
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        late = [process for task, process in waiting.items() if not task.done()]
        failed = any(process.failed for task, process in waiting.items() if task.done())
        await asyncio.wait(waiting, timeout=GRACE_S if failed else None)
        if failed and late and late[0].process.returncode is None:
            await late[0].stop(process_pair.KILLED)
        await asyncio.gather(*waiting)
    finally:
        for task in waiting:
            task.cancel()


def cannot_start(error: OSError) -> Ended:
    return Ended(stopped=f"cannot be started: {error.strerror}")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
