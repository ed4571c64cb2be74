#!/usr/bin/env python3
"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

# ruff: noqa: E402
import environment

environment.activate()

import signal

for number in (signal.SIGINT, signal.SIGPIPE):  # nothing is lost by dying of them, and harnesses go along
    signal.signal(number, signal.SIG_DFL)

import sys
from pathlib import Path

import conclusion
import definitions
import forecast
import names
import pages
import recorder
import repository
import request
import shown
import stdout
import verification
from campaign import matrix, unmetered
from machine import allowed_cpus, default_recording
from provenance import Provenance, built, manifest, missing
from run import Run
from runner import Runner
from scenarios import AnyCampaign
from slots import complete
from timing import alone, room

JOBS = 2  # memory runs do not disturb each other's figures


def main() -> None:
    arguments = request.parser(__doc__).parse_args()
    request.check(arguments)
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), arguments.timeout)
    if arguments.verify:
        cpus = slots_cpus(arguments.jobs)
        sys.exit(verification.verify(runner, cpus, arguments.stacks or names.ALL, arguments.prefix))
    campaign = request.campaign(arguments)
    timed = campaign.scenario != "memory"
    cpus = alone.cores_first()[:1] if timed else slots_cpus(arguments.jobs)
    recording = Path(arguments.out) if arguments.out else default_recording()
    if arguments.heap and (where := unmetered(campaign)):
        print(f"memtest: heap runs are made {where}", file=sys.stderr)
    if not arguments.list:
        repository.insist(recording, named=bool(arguments.out))
        campaign = of_built(campaign)
        prepare(recording, campaign)
    title = conclusion.title(arguments.campaign, campaign, definitions.campaigns()[arguments.campaign])
    plan = Plan(title, campaign, recording, runner.provenance, arguments.fresh)
    if arguments.list:
        with stdout.checked():
            plan.show()
        return
    failures, fine = measure(plan, runner, cpus), shown.results(plan)
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
    alone.claim(campaign.scenario != "memory")
    room.check(campaign)
    recorder.prepare(recording)
    pages.sweep()


class Plan:
    """The runs of a campaign, and which of them a recording has already."""

    def __init__(self, title: str, campaign: AnyCampaign, recording: Path, provenance: Provenance, fresh: bool) -> None:
        self.campaign, self.runs, self.recording = campaign, matrix(campaign), recording
        self.title, self.name, self.provenance = title, shown.place(recording), provenance
        self.states = {} if fresh else {record.key: record.status for record in recorder.existing(recording)}
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
            jobs = forecast.admit(await runner.forecast(plan.to_go, cpus), jobs, plan.campaign.n)
        return await runner.record_all(plan.to_go, cpus[:jobs], plan.recording)

    stopped = f"stopped; finished runs are kept in {plan.name}, and the same command goes on from there"
    return complete(work(), stopped)


if __name__ == "__main__":
    main()
