"""The runs of a campaign, and which of them a recording has already. Listing them imports no more than it needs."""

import argparse
import sys
from pathlib import Path

from tlsmem.base import paths, stdout
from tlsmem.build import trees
from tlsmem.config import campaign_options, definitions
from tlsmem.config.campaigns import Campaign, TimedCampaign
from tlsmem.config.matrix import campaign_runs, unmetered_reason
from tlsmem.config.run import Run
from tlsmem.run.provenance import Provenance, is_built
from tlsmem.schema.machine import allowed_cpus
from tlsmem.schema.recording_name import default_recording
from tlsmem.schema.records import record_cell_key
from tlsmem.store import read_runs
from tlsmem.store.record import Record

JOBS = 2  # memory runs do not disturb each other's figures


class Plan:
    """The runs of a campaign, and which of them a recording has already: runs of this machine's path, or of any."""

    def __init__(
        self,
        campaign: Campaign | TimedCampaign,
        recording: Path,
        provenance: Provenance,
        fresh: bool,
        anywhere: bool = False,
    ) -> None:
        self.campaign, self.runs, self.recording = campaign, campaign_runs(campaign), recording
        self.name, self.provenance = paths.shorten(recording), provenance
        self.anywhere = anywhere
        recorded = [] if fresh else read_runs.load_existing(recording)
        self.states = {self.key_of_record(record): record.status for record in recorded}
        self.to_go = [run for run in self.runs if self.state(run) not in ("measured", "unsupported")]

    def key_of_record(self, record: Record) -> str:
        return record_cell_key(record) if self.anywhere else record.key

    def key_of_run(self, run: Run) -> str:
        return self.provenance.cell_key(run) if self.anywhere else self.provenance.key(run)

    def state(self, run: Run) -> str:
        if not all(map(is_built, run.stacks)):
            return "to go (not built)"
        state = self.states.get(self.key_of_run(run), "to go")
        return "to go (failed before)" if state == "failed" else state

    def summary(self) -> str:
        recorded = len(self.runs) - len(self.to_go)
        return f"{len(self.runs)} runs, {recorded} already recorded in {self.name}, {len(self.to_go)} to go"

    def show(self) -> None:
        for run in self.runs:
            print(f"{self.state(run):<21} {run}")
        print(self.summary())


def show(given: argparse.Namespace) -> None:
    """Prints the runs that were asked for; nothing is run or written."""
    trees.resolve_named(given)
    campaign = campaign_options.campaign_from_arguments(given)
    if not campaign.is_timed:
        slots_cpus(given.jobs)
    tell_unmetered(given, campaign)
    provenance = Provenance(definitions.suites(), definitions.allocators())
    plan = Plan(campaign, recording(given), provenance, given.fresh, anywhere=bool(given.cluster))
    with stdout.raise_write_errors():
        plan.show()


def recording(given: argparse.Namespace) -> Path:
    return given.out or default_recording()


def tell_unmetered(given: argparse.Namespace, campaign: Campaign | TimedCampaign) -> None:
    if given.heap and (where := unmetered_reason(campaign)):
        print(f"memtest: heap runs are made {where}", file=sys.stderr)


def slots_cpus(jobs: int | None) -> list[int]:
    """One CPU for each job."""
    cpus = allowed_cpus()
    if jobs and jobs > len(cpus):
        print(f"memtest: JOBS={jobs}, but this process has {len(cpus)} CPUs: JOBS={len(cpus)}", file=sys.stderr)
    return cpus[: jobs or JOBS]
