"""What stacks can do here: whether they are built, and which suites their harnesses do, by their own word."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tlsmem.base.errors import UserError
from tlsmem.base.printable import strip_suite
from tlsmem.config import definitions, toml_tables
from tlsmem.config.definitions import Suite
from tlsmem.config.matrix import has_tls
from tlsmem.config.recording_command import why_unseen
from tlsmem.config.run import SYSTEM, Run, argv
from tlsmem.config.timed_matrix import probe_run
from tlsmem.run.cpu_slots import run_in_slots, run_to_completion
from tlsmem.run.harness import describe_start_error
from tlsmem.run.process import ProcessResult, start_process
from tlsmem.run.provenance import describe_missing, is_built, read_manifest
from tlsmem.run.validate import EXIT_UNSUPPORTED, describe_exit, find_refusal, last_sentence, parse_output
from tlsmem.schema.machine import allowed_cpus

LIMIT_S = 60
JOBS = 2

Does = Literal["yes", "no", "failed"]


@dataclass(frozen=True)
class Ability:
    does: Does
    reason: str | None = None


def ability_from_result(ended: ProcessResult) -> Ability:
    """What a harness said that was asked to go as far as its contexts."""
    if not ended.status and not ended.stopped:
        return Ability("yes")
    said = (
        find_refusal(parse_output(ended.stdout)[0])
        or last_sentence(ended.stderr)
        or ended.stopped
        or describe_exit(ended.status)
    )
    return Ability("no" if ended.status == EXIT_UNSUPPORTED else "failed", said)


async def ask(stack: str, name: str, suite: Suite, cpu: int) -> Ability:
    """Two sessions, whose handshake the harness makes to warm up; resumed ones are timed."""
    if suite.resume == "on":
        words = [*argv(probe_run(stack, name, "handshake", 1), suite), f"cpus={cpu}"]
    else:
        words = [*argv(Run(stack, name, SYSTEM, "all", 2, "rss", 1), suite), "until=contexts", f"cpu={cpu}"]
    try:
        async with start_process(words, {}) as process:
            await process.wait(LIMIT_S)
        found = ability_from_result(process.ended())
    except OSError as error:
        found = ability_from_result(describe_start_error(error))
    return replace(found, reason=found.reason and strip_suite(found.reason))


async def ask_all(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], Ability]:
    found, suites = {}, definitions.suites()

    async def work(_: int, cpu: int, pair: tuple[str, str]) -> None:
        found[pair] = await ask(*pair, suites[pair[1]], cpu)

    await run_in_slots(pairs, allowed_cpus()[:JOBS], work)
    return found


def find_abilities(stacks: Iterable[str], suites: Iterable[str]) -> dict[tuple[str, str], Ability]:
    """By stack and suite; a stack without TLS is asked for the suite `none` only."""
    known = list(suites)
    pairs = [(stack, suite) for stack in stacks for suite in (known if has_tls(stack) else ["none"])]
    return run_to_completion(ask_all(list(dict.fromkeys(pairs))), "stopped")


def select_stacks(names: Sequence[str], prefix: Path | None, metered: bool = False, lenient: bool = False) -> list[str]:
    """What STACKS names, all of it built; raises UserError when one is not.

    `metered`: all their allocations must be seen. Of `all` stacks, and when lenient, those that will not do are left
    out, and stderr says why."""
    found, lenient = (
        toml_tables.expand_stacks(names, prefix),
        lenient or list(names) == [toml_tables.ALL_STACKS],
    )
    chosen = []
    for stack in found:
        unfit = (metered and why_unseen(stack)) or (None if is_built(stack) else describe_missing(stack))
        if unfit and not lenient:
            raise UserError(unfit)
        if unfit:
            print(f"memtest: left out: {unfit}", file=sys.stderr)
        else:
            read_manifest(stack)  # raises where the binary is not the one it describes
            chosen.append(stack)
    return chosen


def select_supported(stacks: list[str], suites: list[str]) -> list[tuple[str, str]]:
    """Stack and suite wherever the stack does the suite; why another does not stands on stderr.

    Raises UserError where a harness fails."""
    found = find_abilities(stacks, suites)
    for (stack, suite), ability in found.items():
        if ability.does == "failed":
            raise UserError(f"{stack} in {suite}: {ability.reason}")
        if ability.does == "no":
            print(f"memtest: left out: {stack} in {suite}: {ability.reason}", file=sys.stderr)
    return [pair for pair, ability in found.items() if ability.does == "yes"]
