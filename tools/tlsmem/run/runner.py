"""Makes runs: a harness of one process or two each, judged, and recorded as soon as it has ended."""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.config.run import Run, argv
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run import certificates, cpu_features, exclusive, harness, huge_pages, preflight, preload
from tlsmem.run.cpu_slots import run_in_slots
from tlsmem.run.progress import RunBoard
from tlsmem.run.provenance import Provenance
from tlsmem.run.validate import Outcome, find_difference
from tlsmem.schema import append_records
from tlsmem.schema.machine import read_machine


class Runner:
    """Runs of a campaign on this machine; without a time limit of its own, each run gets a generous one."""

    def __init__(
        self,
        provenance: Provenance,
        limit_s: float | None,
        count_instructions: exclusive.InstructionCounter | None = None,
    ) -> None:
        self.provenance, self.limit_s, self.count_instructions = provenance, limit_s, count_instructions
        self.warned: set[str] = set()

    async def run(self, run: Run, cpu: int) -> Outcome:
        if run.env != "deployed":
            return await self.run_once(run, cpu)
        async with huge_pages.hold_unchanged():  # as the host has them, and not another runner
            return await self.run_once(run, cpu)

    async def run_once(self, run: Run, cpu: int) -> Outcome:
        suite, allocator = self.provenance.suites[run.suite], self.provenance.allocators[run.allocator]
        certificates.provide(run, suite)
        if run.env == "deployed-thp" and (reason := huge_pages.unavailable_reason()):
            return Outcome("unsupported", reason, [], harness.utc_now(), 0, tuple(argv(run, suite)))
        if reason := cpu_features.missing_mask_reason(run):
            return Outcome("unsupported", reason, [], harness.utc_now(), 0, tuple(argv(run, suite)))
        variables = preload.run_variables(run.meter, self.provenance.allocator(run), allocator)
        variables |= features.variables if (features := cpu_features.features(run)) else {}
        limit_s = self.limit_s or run.limit_s
        pinned = [f"cpu={cpu}"] if run.env == "lab" else []
        if isinstance(run, TimedRun):
            outcome = await exclusive.run_timed(run, argv(run, suite), cpu, variables, limit_s, self.count_instructions)
        elif run.roles == "split":
            client, server = [*argv(run, suite, "client"), *pinned], [*argv(run, suite, "server"), *pinned]
            outcome = await harness.run_pair(client, server, variables, limit_s)
        else:
            outcome = await harness.run([*argv(run, suite), *pinned], variables, limit_s)
        thp_host = self.provenance.machine.thp_host
        wrong = find_difference(outcome, run, suite, thp_host) if outcome.status == "measured" else None
        self.warn(run, outcome)
        return outcome.failed(wrong) if wrong else outcome

    def warn(self, run: Run, outcome: Outcome) -> None:
        """Of what measured runs said on stderr; once, however many of them say it."""
        notes = outcome.run.notes if outcome.run else []
        said = [note for note in notes if note.removeprefix("client: ").startswith("stderr: ")]
        if said and said[0] not in self.warned:
            self.warned.add(said[0])
            print(f"memtest: {run}: {said[0]} (kept in the record's notes)", file=sys.stderr)

    async def record_all(self, runs: list[Run], cpus: list[int], recording: Path) -> int:
        """How many runs failed; every run is recorded, failed ones too."""
        failures = 0
        await self.look_again(runs)
        with RunBoard(runs, len(cpus)) as board:

            async def work(slot: int, cpu: int, run: Run) -> None:
                nonlocal failures
                board.start(slot, run)
                outcome = await self.run(run, cpu)
                append_records.append(recording, self.provenance.record(run, outcome))
                board.finish(slot, run, outcome)
                failures += outcome.status == "failed"

            telling = asyncio.create_task(board.tell_each_minute())
            await run_in_slots((run for run in runs if run.env != "deployed-thp"), cpus, work)
            if huge := [run for run in runs if run.env == "deployed-thp"]:
                async with huge_pages.enable_always():
                    await run_in_slots(huge, cpus[:1], work)
            telling.cancel()
        return failures

    async def look_again(self, runs: list[Run]) -> None:
        """Before runs with the host's huge pages: another runner may have changed them when this one began."""
        if any(run.env != "lab" for run in runs):
            async with huge_pages.hold_unchanged():
                self.provenance = replace(self.provenance, machine=read_machine())

    async def verify_all(
        self, runs: list[Run], cpus: list[int], compare: Callable[[Run, Outcome], Outcome]
    ) -> Counter[str]:
        """How many runs came to what; a line on stdout for each, and nothing is recorded.

        `compare` makes a failure of an outcome that is not as expected."""
        verdicts = Counter[str]()

        async def work(_: int, cpu: int, run: Run) -> None:
            outcome = compare(run, await self.run(run, cpu))
            verdict = {"measured": "ok", "failed": "FAILED"}.get(outcome.status, outcome.status)
            verdicts[verdict] += 1
            with stdout.raise_write_errors():
                print(f"{verdict:<12} {run}" + (f" ({outcome.reason})" if outcome.reason else ""), flush=True)

        await run_in_slots(runs, cpus, work)
        return verdicts

    async def forecast(self, runs: list[Run], cpus: list[int]) -> dict[Run, preflight.MemoryNeed]:
        await self.look_again(runs)
        return await preflight.forecast_runs(runs, lambda run: self.run(run, cpus[0]))
