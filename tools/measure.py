#!/usr/bin/env python3
"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

# ruff: noqa: E402
import environment

environment.activate()

import signal

for number in (signal.SIGINT, signal.SIGPIPE):  # nothing is lost by dying of them, and harnesses go along
    signal.signal(number, signal.SIG_DFL)

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import conclusion
import definitions
import forecast
import names
import pages
import recorder
import records
import request
import stdout
import verification
from campaign import Run, distinct, matrix, unmetered
from definitions import ROOT, Campaign
from machine import allowed_cpus, cpu_model, recording_name
from provenance import Provenance, built, git, manifest, missing
from runner import Runner
from slots import complete

JOBS = 2  # memory runs do not disturb each other's figures


def main() -> None:
    arguments = request.parser(__doc__).parse_args()
    request.check(arguments)
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), arguments.timeout)
    cpus = slots_cpus(arguments.jobs)
    if arguments.verify:
        sys.exit(verification.verify(runner, cpus, arguments.stacks or names.ALL, arguments.prefix))
    campaign = request.campaign(arguments)
    recording = Path(arguments.out) if arguments.out else ROOT / "data" / recording_name(date.today(), cpu_model())
    if arguments.heap and (where := unmetered(campaign)):
        print(f"memtest: heap runs are made {where}", file=sys.stderr)
    if not arguments.list:
        campaign = of_built(campaign)
        prepare(recording, campaign)
    title = conclusion.title(arguments.campaign, campaign, definitions.campaigns()[arguments.campaign])
    plan = Plan(title, campaign, recording, runner.provenance, arguments.fresh)
    if arguments.list:
        with stdout.checked():
            plan.show()
        return
    if committed(recording):
        print(f"memtest: {plan.name} is committed, and runs are added to it; OUT= keeps yours apart", file=sys.stderr)
    failures, shown = measure(plan, runner, cpus), show_results(plan)
    if failures:
        sys.exit(f"memtest: {failures} of {len(plan.runs)} runs failed; each says why in {plan.name}")
    sys.exit(0 if shown else 1)


def slots_cpus(jobs: str | None) -> list[int]:
    """One CPU for each job."""
    cpus = allowed_cpus()
    if jobs and int(jobs) > len(cpus):
        print(f"memtest: JOBS={jobs}, but this process has {len(cpus)} CPUs: JOBS={len(cpus)}", file=sys.stderr)
    return cpus[: int(jobs or JOBS)]


def of_built(campaign: Campaign) -> Campaign:
    """Without the stacks that are not built, where the campaign may be without; each is said."""
    if not campaign.built_only:
        return campaign
    stacks, peers = (list(filter(built, named)) for named in (campaign.stacks, campaign.peers))
    if not stacks or (campaign.peers and not peers):
        sys.exit("memtest: no stack of this campaign is built; `tools/build.py` builds them")
    for stack in dict.fromkeys([*campaign.stacks, *campaign.peers]):
        if not built(stack):
            print(f"memtest: left out: {missing(stack)}", file=sys.stderr)
    return campaign.model_copy(update={"stacks": stacks, "peers": peers})


def prepare(recording: Path, campaign: Campaign) -> None:
    """All that can be wrong before a run."""
    for stack in [*campaign.stacks, *campaign.peers]:
        manifest(stack)
    recorder.prepare(recording)
    pages.sweep()


def committed(recording: Path) -> bool:
    """Whether git has files of this recording; False outside a clone."""
    try:
        return bool(git("ls-files", "--", str(recording)))
    except (FileNotFoundError, subprocess.CalledProcessError):
        return False


class Plan:
    """The runs of a campaign, and which of them a recording has already."""

    def __init__(self, title: str, campaign: Campaign, recording: Path, provenance: Provenance, fresh: bool) -> None:
        self.runs, self.recording, self.name = matrix(campaign), recording, shown(recording)
        self.title, self.n, self.provenance = title, campaign.n, provenance
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


def shown(path: Path) -> str:
    """From here when it is below, else in full."""
    short = os.path.relpath(path)
    return str(path.resolve()) if short.startswith("..") else short


def measure(plan: Plan, runner: Runner, cpus: list[int]) -> int:
    """Makes the runs that are to go; the number of those that failed."""
    print(f"memtest: {plan.summary()}", file=sys.stderr)
    if not plan.to_go:
        return 0

    async def work() -> int:
        needs = await runner.forecast(plan.to_go, cpus)
        jobs = forecast.admit(needs, len(cpus), plan.n)
        return await runner.record_all(plan.to_go, cpus[:jobs], plan.recording)

    stopped = f"stopped; finished runs are kept in {plan.name}, and the same command goes on from there"
    return complete(work(), stopped)


def show_results(plan: Plan) -> bool:
    """Tables of this campaign on stdout, pictures beside the recording, findings on stderr; False with any finding, and
    without tables, with a sentence."""
    import audit
    import catalogue
    import forms
    import plot_mem  # slow to import, and not needed before
    import plot_stacks
    from selection import select

    keys = {plan.provenance.key(run) for run in plan.runs}
    made = [record for record in records.load(plan.recording) if record.key in keys]
    try:
        selection = select(made, distinct("stack", plan.runs), distinct("suite", plan.runs))
        forms.print_all(catalogue.build(selection))
        draw = plot_stacks.each_suite if catalogue.many(selection) else plot_mem.draw
        pictures = draw(selection, plan.recording / plan.title)
        found = audit.findings(made)
    except ValueError as error:
        print(f"memtest: {plan.name}: {error}", file=sys.stderr)
        return False
    except OSError as error:
        where = error.filename or plan.recording / plan.title
        print(f"memtest: {where}: cannot draw the pictures: {error.strerror}", file=sys.stderr)
        return False
    with stdout.checked():
        print(f"\nrecording: {plan.name}\npictures: {', '.join(map(shown, pictures))}")
        if any(record.meter == "sites" and record.status == "measured" for record in made):
            print(f"call stacks: tools/tabulate.py {plan.name} --table call-sites")
        if not catalogue.many(selection):
            print("", *conclusion.sentences(selection), sep="\n")
    for finding in found:
        print(f"memtest: {plan.name}: {finding}", file=sys.stderr)
    return not found


if __name__ == "__main__":
    main()
