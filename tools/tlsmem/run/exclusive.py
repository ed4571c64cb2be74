"""Makes a timed run: alone, on CPUs of its own, with the machine read before it and after."""

import fcntl
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tlsmem.base import paths
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run import harness, machine_noise
from tlsmem.run.validate import Outcome
from tlsmem.schema import append_records
from tlsmem.schema.machine import allowed_cpus

TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
InstructionCounter = Callable[[Outcome, Sequence[str], Mapping[str, str], float], Awaitable[Outcome]]
# Descriptors of the harnesses' directory; the kernel lets go of them, however the runner ends.
held_locks: list[int] = []


def cores_first() -> list[int]:
    """The CPUs that this process may run on: one of each core, then what shares a core with another."""
    cores: dict[str, list[int]] = {}
    for cpu in allowed_cpus():
        cores.setdefault(siblings(cpu), []).append(cpu)
    return sorted(allowed_cpus(), key=lambda cpu: (cores[siblings(cpu)].index(cpu), cpu))


def siblings(cpu: int) -> str:
    try:
        return Path(TOPOLOGY.format(cpu)).read_text()
    except OSError:
        return str(cpu)


def claim_machine(timed: bool, wait: bool = False) -> None:
    """Holds the harnesses until the runner ends, of a timed campaign against all others.

    While another runs that does not go with this one it raises UserError, or with `wait` says so and waits."""
    while held_locks:  # of an earlier campaign of this process
        os.close(held_locks.pop())
    held_locks.append(os.open(ROOT / "build/harness", os.O_RDONLY | os.O_DIRECTORY))
    how = fcntl.LOCK_EX if timed else fcntl.LOCK_SH
    try:
        fcntl.flock(held_locks[-1], how | fcntl.LOCK_NB)
    except BlockingIOError:
        busy = "another campaign runs here, and timed runs" if timed else "a timed campaign runs here, and it"
        if not wait:
            raise UserError(f"{busy} must run alone: wait until it has ended") from None
        wait_for_lock(held_locks[-1], how, f"{busy} must run alone: waiting until it has ended")
    except OSError:
        pass  # a file system that locks no directories, such as NFS


def claim_to_record(recording: Path, timed: bool) -> None:
    """Hold the machine and the recording until this process ends; while another holds either, say so and wait.

    Raises UserError where nothing can be recorded there. Call it before anything is built."""
    (ROOT / "build/harness").mkdir(parents=True, exist_ok=True)
    claim_machine(timed, wait=True)
    busy = f"another campaign records into {paths.shorten(recording)}: waiting until it has ended"
    busy += "; another OUT does not wait"
    append_records.prepare(recording, lambda lock: wait_for_lock(lock, fcntl.LOCK_EX, busy))


def wait_for_lock(descriptor: int, how: int, why: str) -> None:
    """Say why, and wait."""
    print(f"memtest: {why}", file=sys.stderr, flush=True)
    fcntl.flock(descriptor, how)


async def run_timed(
    run: TimedRun,
    argv: list[str],
    cpu: int,
    variables: dict[str, str],
    limit_s: float,
    count_instructions: InstructionCounter | None,
) -> Outcome:
    """Runs on `cpu`; with several threads on as many CPUs as there are, from that one on.

    A run whose meter is instructions needs `count_instructions`: it gets a plain run's outcome, argv, variables and
    time limit in seconds."""
    cpus = [cpu, *(other for other in cores_first() if other != cpu)][: run.threads]
    words = [*argv, f"cpus={','.join(map(str, cpus))}"]
    before = machine_noise.take_reading(cpus)
    outcome = await harness.run(words, variables, limit_s)
    outcome = replace(
        outcome, noise=machine_noise.noise_between(before, machine_noise.take_reading(cpus), outcome.elapsed_ns)
    )
    if run.meter == "time" or outcome.status != "measured":
        return outcome
    if count_instructions is None:
        raise ValueError(f"{run}: this campaign has no way to count instructions")
    return await count_instructions(outcome, words, variables, limit_s)
