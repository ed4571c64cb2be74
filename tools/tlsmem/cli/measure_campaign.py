"""A campaign, measured and recorded run by run; or what of it is recorded."""

import argparse
import sys
from pathlib import Path

from tlsmem.base import paths, repository, stdout
from tlsmem.cli import campaign_conclusion, campaign_output
from tlsmem.config import campaign_options, definitions, option_check
from tlsmem.config.campaigns import AnyCampaign
from tlsmem.config.matrix import matrix, unmetered
from tlsmem.config.run import Run
from tlsmem.profile.capture import instructions
from tlsmem.run import exclusive, memory_forecast, stale_heap_pages, transfer_memory, verify_stacks
from tlsmem.run.provenance import Provenance, built, manifest, missing
from tlsmem.run.runner import Runner
from tlsmem.run.slots import complete
from tlsmem.schema import store
from tlsmem.schema.machine import allowed_cpus
from tlsmem.schema.recording_name import default_recording

JOBS = 2  # memory runs do not disturb each other's figures


def run(arguments: argparse.Namespace) -> None:
    """Exits as it went."""
    runner = Runner(
        Provenance(definitions.suites(), definitions.allocators()), arguments.timeout, instructions.count_after
    )
    if arguments.verify:
        cpus = slots_cpus(arguments.jobs)
        sys.exit(verify_stacks.verify(runner, cpus, arguments.stacks or option_check.ALL, arguments.prefix))
    campaign = campaign_options.campaign(arguments)
    timed = campaign.scenario != "memory"
    cpus = exclusive.cores_first()[:1] if timed else slots_cpus(arguments.jobs)
    recording = Path(arguments.out) if arguments.out else default_recording()
    if arguments.heap and (where := unmetered(campaign)):
        print(f"memtest: heap runs are made {where}", file=sys.stderr)
    if not arguments.list:
        repository.insist(recording, named=bool(arguments.out))
        campaign = of_built(campaign)
        prepare(recording, campaign)
    title = campaign_conclusion.title(arguments.campaign, campaign, definitions.campaigns()[arguments.campaign])
    plan = Plan(title, campaign, recording, runner.provenance, arguments.fresh)
    if arguments.list:
        with stdout.checked():
            plan.show()
        return
    failures, fine = measure(plan, runner, cpus), campaign_output.results(plan)
    if failures:
        sys.exit(f"memtest: {failures} of {len(plan.runs)} runs failed; each says why in {plan.name}")
    sys.exit(0 if fine else 1)


def slots_cpus(jobs: str | None) -> list[int]:
    """One CPU for each job."""
    cpus = allowed_cpus()
    if jobs and int(jobs) > len(cpus):
        print(f"memtest: JOBS={jobs}, but this process has {len(cpus)} CPUs: JOBS={len(cpus)}", file=sys.stderr)
    return cpus[: int(jobs or JOBS)]


def of_built(campaign: AnyCampaign) -> AnyCampaign:
    """Without the stacks that are not built, where the campaign may be without; each is said."""
    if not campaign.built_only:
        return campaign
    kept = campaign.of_stacks(built)
    if not kept:
        sys.exit("memtest: no stack of this campaign is built; `tools/build.py` builds them")
    for stack in campaign.every_stack:
        if not built(stack):
            print(f"memtest: left out: {missing(stack)}", file=sys.stderr)
    return kept


def prepare(recording: Path, campaign: AnyCampaign) -> None:
    """All that can be wrong before a run."""
    for stack in campaign.every_stack:
        manifest(stack)
    exclusive.claim(campaign.scenario != "memory")
    transfer_memory.check(campaign)
    store.prepare(recording)
    stale_heap_pages.sweep()


class Plan:
    """The runs of a campaign, and which of them a recording has already."""

    def __init__(self, title: str, campaign: AnyCampaign, recording: Path, provenance: Provenance, fresh: bool) -> None:
        self.campaign, self.runs, self.recording = campaign, matrix(campaign), recording
        self.title, self.name, self.provenance = title, paths.shorten(recording), provenance
        self.states = {} if fresh else {record.key: record.status for record in store.existing(recording)}
        self.to_go = [run for run in self.runs if self.state(run) not in ("measured", "unsupported")]

    def state(self, run: Run) -> str:
        if not all(map(built, run.stacks)):
            return "to go (not built)"
        state = self.states.get(self.provenance.key(run), "to go")
        return "to go (failed before)" if state == "failed" else state

    def summary(self) -> str:
        recorded = len(self.runs) - len(self.to_go)
        return f"{len(self.runs)} runs, {recorded} already recorded in {self.name}, {len(self.to_go)} to go"

    def show(self) -> None:
        for run in self.runs:
            print(f"{self.state(run):<21} {run}")
        print(self.summary())


def measure(plan: Plan, runner: Runner, cpus: list[int]) -> int:
    """Makes the runs that are to go; the number of those that failed."""
    print(f"memtest: {plan.summary()}", file=sys.stderr)
    if not plan.to_go:
        return 0

    async def work() -> int:
        jobs = len(cpus)
        if plan.campaign.scenario == "memory":
            jobs = memory_forecast.admit(await runner.forecast(plan.to_go, cpus), jobs, plan.campaign.n)
        return await runner.record_all(plan.to_go, cpus[:jobs], plan.recording)

    stopped = f"stopped; finished runs are kept in {plan.name}, and the same command goes on from there"
    return complete(work(), stopped)
