"""A million live sessions in one process: two smaller runs predict, one run checks, and a table compares."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import repository, stdout
from tlsmem.base.errors import UserError
from tlsmem.base.paths import shorten
from tlsmem.cli.campaign_plan import recording as recording_directory
from tlsmem.config import definitions
from tlsmem.config.campaigns import Campaign
from tlsmem.config.matrix import has_tls
from tlsmem.config.run import SYSTEM, Run
from tlsmem.config.suite_variants import name_variant
from tlsmem.run import exclusive, heap_page, preflight
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import Provenance, describe_missing, is_built, read_manifest
from tlsmem.run.runner import Runner
from tlsmem.schema import append_records
from tlsmem.schema.harness_output import Role, Roles
from tlsmem.stats.missing import Missing
from tlsmem.store import read_runs
from tlsmem.store.record import Record
from tlsmem.topics.million.forecast import (
    SMALLEST_WINDOWS,
    TOLERANCE,
    SessionForecast,
    check_forecast,
    forecast_sessions,
)

CAMPAIGN = "c1m"
KEEPS: dict[Role, Roles] = {"client": "keep-client", "server": "keep-server"}
GIB = 1024**3
FIRST_TO_KILL = "800"  # of 1000: where memory runs out after all, the kernel ends the harness and no other program


class SessionRuns:
    """The runs of each stack, with what a recording has of them already."""

    def __init__(self, given: argparse.Namespace, campaign: Campaign, recording: Path) -> None:
        self.suite, self.recording = name_variant(campaign.suites[0], given.options or "default"), recording
        self.role: Role = given.role or "server"
        self.window: int = given.window
        self.most: int = given.n
        self.reserve_bytes: int = given.reserve * GIB
        self.runner = Runner(Provenance(definitions.suites(), definitions.allocators()), given.timeout)
        self.records = {} if given.fresh else {one.key: one for one in read_runs.load_existing(recording)}

    def run_of(self, stack: str, sessions: int) -> Run:
        """Return the run in which so many sessions of the role stay."""
        suite = self.suite if has_tls(stack) else "none"
        return Run(stack, suite, SYSTEM, self.window, 2 * sessions, "rss", 1, KEEPS[self.role])

    def find_record(self, run: Run) -> Record | None:
        """Return the record of a run that need not be made again."""
        found = self.records.get(self.runner.provenance.key(run))
        return found if found and found.status != "failed" else None

    def find_records(self, stack: str) -> list[Record]:
        """Return all measured runs of the stack, whatever their number of sessions; the smallest first."""
        runs = {self.run_of(stack, one.sessions // 2) for one in self.records.values() if one.stack == stack}
        found = (self.find_record(run) for run in runs)
        return sorted((one for one in found if one and one.status == "measured"), key=lambda one: one.sessions)

    async def record(self, stack: str, *counts: int) -> list[Record]:
        """Return the records of the runs with so many sessions, made now where there are none."""
        runs = [self.run_of(stack, count) for count in counts]
        to_go = [run for run in runs if not self.find_record(run)]
        if to_go:
            await self.runner.record_all(to_go, exclusive.cores_first()[:1], self.recording)
            made = {self.runner.provenance.key(run) for run in to_go}  # with --fresh, older runs must not count
            self.records |= {one.key: one for one in read_runs.load_existing(self.recording) if one.key in made}
        return [self.records[self.runner.provenance.key(run)] for run in runs]

    async def measure(self, stack: str) -> bool:
        """Return whether the stack went as predicted; that it cannot do the suite is said, and no failure."""
        step = SMALLEST_WINDOWS * self.window
        small = await self.record(stack, step, 2 * step)
        if any(one.status != "measured" for one in small):
            return all(tell_unmeasured(one) for one in small)
        sessions = self.choose_sessions(stack, forecast_sessions(*small))
        if sessions <= 2 * step:
            return False
        (largest,) = await self.record(stack, sessions)
        if largest.status != "measured":
            return tell_unmeasured(largest)
        check = check_forecast([*small, largest], self.window)
        return not isinstance(check, Missing) and abs(check.difference) <= TOLERANCE

    def choose_sessions(self, stack: str, forecast: SessionForecast) -> int:
        """Return how many sessions to run: as many as were asked for, else the most that were recorded, or that fit."""
        step, most = SMALLEST_WINDOWS * self.window, self.find_records(stack)[-1].sessions // 2
        if most == self.most:
            return most
        need = preflight.MARGIN * forecast.bytes_at(self.most)
        have = max(0, preflight.available_bytes() - self.reserve_bytes)
        beside = f" beside the {self.reserve_bytes / GIB:,.0f} GiB of RESERVE" if self.reserve_bytes else ""
        says = (
            f"memtest: {stack}: {self.most:,} {self.role} sessions need {need / GIB:,.2f} GiB "
            f"({forecast.session_bytes:,.0f} B each); {have / GIB:,.2f} GiB are available{beside}"
        )
        if need <= have:
            print(says, file=sys.stderr)
            return self.most
        fitting = forecast.largest_fitting(have / preflight.MARGIN) // step * step
        chosen = most if most > 2 * step else fitting
        few = f"the largest number that fits is {fitting:,}, and a comparison needs more than {2 * step:,}"
        print(f"{says}: {f'{chosen:,} are run' if chosen > 2 * step else few}", file=sys.stderr)
        return chosen


def tell_unmeasured(run: Record) -> bool:
    """Say why a run has no figures; return whether the stack cannot make it."""
    print(f"memtest: {run.stack}: {run.status}: {run.reason}", file=sys.stderr)
    return run.status == "unsupported"


def run(given: argparse.Namespace) -> int:
    """Return the exit status."""
    campaign = definitions.campaigns()[CAMPAIGN]
    assert isinstance(campaign, Campaign)
    recording = recording_directory(given)
    repository.check_recording(recording, named=bool(given.out))
    stacks = choose_stacks(given, campaign)
    exclusive.claim_machine(False)
    append_records.prepare(recording)
    heap_page.remove_stale_pages()
    Path("/proc/self/oom_score_adj").write_text(FIRST_TO_KILL)  # harnesses inherit it
    runs = SessionRuns(given, campaign, recording)

    async def work() -> bool:
        return all([await runs.measure(stack) for stack in stacks])

    name = shorten(recording)
    stopped = f"stopped; finished runs are kept in {name}, and the same command goes on from there"
    as_predicted = run_to_completion(work(), stopped)
    show(runs, stacks, name)
    return 0 if as_predicted else 1


def choose_stacks(given: argparse.Namespace, campaign: Campaign) -> list[str]:
    """Return the stacks that were named, which must be built, or those of the campaign that are."""
    if given.stack:
        for stack in given.stack:
            read_manifest(stack)
        named: list[str] = given.stack
        return named
    for stack in campaign.stacks:
        if not is_built(stack):
            print(f"memtest: left out: {describe_missing(stack)}", file=sys.stderr)
    built = [stack for stack in campaign.stacks if is_built(stack)]
    if not built:
        raise UserError(
            "no stack of the campaign c1m is built; build them with `tools/tls-memtest build --campaign c1m`"
        )
    return built


def show(runs: SessionRuns, stacks: Sequence[str], name: str) -> None:
    """Print the table of these stacks."""
    from tlsmem.stats.selection import select
    from tlsmem.tables import render
    from tlsmem.topics.million import table as million

    records = [one for stack in stacks for one in runs.find_records(stack)]
    with stdout.raise_write_errors():
        if records and (table := million.million_table(select(records))).rows:
            render.print_all([table])
        print(f"\nrecording: {name}")
