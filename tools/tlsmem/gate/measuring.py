"""Makes the runs that budgets need, here and now, into a recording."""

from collections.abc import Sequence
from pathlib import Path

from tlsmem.config import definitions
from tlsmem.config.matrix import distinct
from tlsmem.config.run import Run
from tlsmem.run import exclusive, memory_forecast, stale_heap_pages
from tlsmem.run.provenance import Provenance, manifest
from tlsmem.run.runner import Runner
from tlsmem.run.slots import complete
from tlsmem.schema import store
from tlsmem.schema.machine import allowed_cpus
from tlsmem.schema.records import Record

JOBS = 2  # of memory: they do not disturb each other's figures


def measure(runs: Sequence[Run], recording: Path, limit_s: float | None = None) -> list[Record]:
    """What was recorded, of each run the newest. Exits with a sentence where nothing can be measured."""
    for stack in distinct("stack", runs):
        manifest(stack)
    timed = [run for run in runs if run.scenario != "memory"]
    exclusive.claim(bool(timed))
    store.prepare(recording)
    stale_heap_pages.sweep()
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), limit_s)
    memory = [run for run in runs if run not in timed]

    async def work() -> None:
        if memory:
            cpus = allowed_cpus()[:JOBS]
            most = max(run.sessions for run in memory)
            jobs = memory_forecast.admit(await runner.forecast(memory, cpus), len(cpus), most)
            await runner.record_all(memory, cpus[:jobs], recording)
        if timed:
            await runner.record_all(timed, exclusive.cores_first()[:1], recording)

    complete(work(), "stopped; nothing was judged")
    asked = set(map(runner.provenance.key, runs))
    newest = {record.key: record for record in store.existing(recording) if record.key in asked}
    return list(newest.values())
