"""Makes the runs that budgets need, here and now, into a recording."""

from collections.abc import Sequence
from pathlib import Path

import definitions
import forecast
import pages
import recorder
from campaign import distinct
from machine import allowed_cpus
from provenance import Provenance, manifest
from records import Record
from run import Run
from runner import Runner
from slots import complete
from timing import alone

JOBS = 2  # of memory: they do not disturb each other's figures


def measure(runs: Sequence[Run], recording: Path, limit_s: float | None = None) -> list[Record]:
    """What was recorded, of each run the newest. Exits with a sentence where nothing can be measured."""
    for stack in distinct("stack", runs):
        manifest(stack)
    timed = [run for run in runs if run.scenario != "memory"]
    alone.claim(bool(timed))
    recorder.prepare(recording)
    pages.sweep()
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), limit_s)
    memory = [run for run in runs if run not in timed]

    async def work() -> None:
        if memory:
            cpus = allowed_cpus()[:JOBS]
            most = max(run.sessions for run in memory)
            jobs = forecast.admit(await runner.forecast(memory, cpus), len(cpus), most)
            await runner.record_all(memory, cpus[:jobs], recording)
        if timed:
            await runner.record_all(timed, alone.cores_first()[:1], recording)

    complete(work(), "stopped; nothing was judged")
    asked = set(map(runner.provenance.key, runs))
    newest = {record.key: record for record in recorder.existing(recording) if record.key in asked}
    return list(newest.values())
