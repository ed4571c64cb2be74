"""The heap meter and reference profilers on the same runs of the same binaries."""

import argparse
import asyncio
import sys
import tempfile
from collections import ChainMap
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import rich.console

from tlsmem.base.errors import UserError, raise_first
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.config import definitions
from tlsmem.run import stack_abilities
from tlsmem.selfcheck import meter_agreement, reference_profilers
from tlsmem.selfcheck.reference_profilers import Statement, Subject
from tlsmem.stats.remainders import repeats_exactly
from tlsmem.tables import render

Work = Callable[[Path], Awaitable[Any]]


class Runs:
    """So many at a time, each told on stderr and in a folder of its own."""

    def __init__(self, jobs: int, folder: Path):
        self.slots, self.folder, self.made = asyncio.Semaphore(jobs), folder, 0
        self.console = rich.console.Console(stderr=True, highlight=False)

    async def one(self, name: str, work: Work) -> Any:
        async with self.slots:
            self.made += 1
            place = self.folder / str(self.made)
            place.mkdir()
            self.console.print(f"selfcheck: {name}")
            return await work(place)

    async def all(self, works: dict[str, Work]) -> list[Any]:
        """Their results, in their order."""
        return await gather([self.one(name, work) for name, work in works.items()])


async def gather(works: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run them side by side and return their results in order.

    When one raises UserError, the others are ended and that is raised."""
    with raise_first(UserError):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    return [task.result() for task in tasks]


async def hear(runs: Runs, subject: Subject, meter: Path, phases: list[str] | None) -> list[Statement]:
    """Of all tools; the heap meter is first, since its phases are DHAT's where no others are named."""
    first = await runs.one(f"{subject}: heap meter", lambda _: reference_profilers.heap_meter(subject, meter))
    works: dict[str, Work] = {
        f"{subject}: {reference_profilers.SITES}": lambda _: reference_profilers.sites(subject, meter),
        f"{subject}: heaptrack": partial(reference_profilers.heaptrack, subject),
        f"{subject}: massif": partial(reference_profilers.massif, subject),
    }
    phases = phases or list(first.by_phase)
    up_to = {phase: list(first.by_phase)[: at + 1] for at, phase in enumerate(first.by_phase)}
    works |= {
        f"{subject}: DHAT until {phase}": partial(reference_profilers.dhat, subject, up_to[phase]) for phase in phases
    }
    sites, heaptrack, massif, *dhat = await runs.all(works)
    by_phase, sparse = ChainMap(*(one.by_phase for one in dhat)), ChainMap(*(one.sparse for one in dhat))
    whole = Statement(reference_profilers.DHAT, {phase: by_phase[phase] for phase in phases}, sparse=dict(sparse))
    return [
        first,
        sites,
        heaptrack,
        *(reference_profilers.remove_sparse_levels(one, heaptrack) for one in (massif, whole)),
    ]


async def ask(
    subjects: list[Subject], jobs: int, meter: Path, phases: list[str] | None
) -> dict[Subject, list[Statement]]:
    with tempfile.TemporaryDirectory(prefix="selfcheck.") as folder:
        runs = Runs(jobs, Path(folder))
        statements = await gather(hear(runs, subject, meter, phases) for subject in subjects)
        return dict(zip(subjects, statements, strict=True))


def subjects(stacks: list[str], suites: list[str], sessions: int) -> list[Subject]:
    """Exits with a sentence at a suite whose bytes differ from run to run."""
    for suite in suites:
        if not repeats_exactly(definitions.suites()[suite].model_dump()):
            sys.exit(f"memtest: {suite}: its live bytes differ from run to run; RSA suites without tickets repeat")
    return [Subject(stack, suite, sessions) for stack, suite in stack_abilities.select_supported(stacks, suites)]


def run(given: argparse.Namespace) -> None:
    """Prints the table; exits with 1 after sentences about what does not agree."""
    meter = (given.meter or ROOT / HEAP_METER).resolve()
    stacks = stack_abilities.select_stacks(given.stacks, given.prefix, metered=True, lenient=given.leave_out)
    chosen = subjects(stacks, given.suites, given.n)
    if not chosen:
        sys.exit(None if given.leave_out else "memtest: none of the stacks does any of the suites")
    reference_profilers.check_ready(meter)
    found = asyncio.run(ask(chosen, given.jobs, meter, given.quick))
    render.print_all([meter_agreement.table(found)], given.format)
    for said in meter_agreement.describe_constants(found):
        print(f"selfcheck: subtracted: {said}", file=sys.stderr)
    wrong = [said for subject, told in found.items() for said in meter_agreement.disagreements(subject, told)]
    for said in wrong:
        print(f"memtest: {said}", file=sys.stderr)
    sys.exit(bool(wrong))
