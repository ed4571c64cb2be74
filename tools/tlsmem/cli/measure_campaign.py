"""A campaign, measured and recorded run by run; or what of it is recorded."""

import argparse
import sys
from pathlib import Path

from tlsmem.base import repository
from tlsmem.base.errors import UserError
from tlsmem.build import trees
from tlsmem.cli import campaign_conclusion, campaign_output, campaign_plan
from tlsmem.cli.campaign_plan import Plan, slots_cpus
from tlsmem.config import campaign_options, definitions, toml_tables
from tlsmem.config.campaigns import Campaign, TimedCampaign
from tlsmem.profile.capture import instructions
from tlsmem.run import exclusive, heap_page, preflight, verify_stacks
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import Provenance, describe_missing, is_built, read_manifest
from tlsmem.run.runner import Runner
from tlsmem.schema import append_records


def run(given: argparse.Namespace) -> int:
    """Return the exit status. Raises UserError."""
    trees.resolve_named(given)
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), given.timeout, instructions.count_after)
    if given.verify:
        cpus = slots_cpus(given.jobs)
        return verify_stacks.verify(runner, cpus, given.stacks or [toml_tables.ALL_STACKS], given.prefix)
    campaign = campaign_options.campaign_from_arguments(given)
    if given.cluster and campaign.is_timed:
        raise UserError(f"--cluster takes campaigns of memory: {given.campaign} compares times of one machine's runs")
    cpus = exclusive.cores_first()[:1] if campaign.is_timed else slots_cpus(given.jobs)
    campaign_plan.tell_unmetered(given, campaign)
    recording = campaign_plan.recording(given)
    repository.check_recording(recording, named=bool(given.out))
    campaign = keep_built_stacks(campaign)
    prepare(recording, campaign)
    title = campaign_conclusion.title(given.campaign, campaign, definitions.campaigns()[given.campaign])
    plan = Plan(campaign, recording, runner.provenance, given.fresh, anywhere=bool(given.cluster))
    failures = measure_on_cluster(plan, given) if given.cluster else measure(plan, runner, cpus)
    fine = campaign_output.show_campaign(plan, title)
    if failures:
        raise UserError(f"{failures} of {len(plan.runs)} runs failed; {plan.name} has the reasons")
    return 0 if fine else 1


def keep_built_stacks(campaign: Campaign | TimedCampaign) -> Campaign | TimedCampaign:
    """Without the stacks that are not built, where the campaign may be without; each is said."""
    if not campaign.built_only:
        return campaign
    kept = campaign.restrict_to_stacks(is_built)
    if not kept:
        raise UserError("no stack of this campaign is built; build them with `tools/tls-memtest build`")
    for stack in campaign.every_stack:
        if not is_built(stack):
            print(f"memtest: left out: {describe_missing(stack)}", file=sys.stderr)
    return kept


def prepare(recording: Path, campaign: Campaign | TimedCampaign) -> None:
    """All that can be wrong before a run."""
    for stack in campaign.every_stack:
        read_manifest(stack)
    exclusive.claim_machine(campaign.is_timed)
    preflight.check_memory(campaign)
    append_records.prepare(recording)
    heap_page.remove_stale_pages()


def measure_on_cluster(plan: Plan, given: argparse.Namespace) -> int:
    """Make the runs that are to go on other machines; return how many failed.

    Raises UserError where some were not made."""
    from tlsmem.cli import cluster_campaign

    result = cluster_campaign.measure(plan, given.cluster, given.tls, given.timeout)
    if result.missing:
        way_out = f"what was made is kept in {plan.name}, and the same command goes on from there"
        raise UserError(f"{result.missing} of {len(plan.to_go)} runs were not made; {way_out}")
    return result.failed


def measure(plan: Plan, runner: Runner, cpus: list[int]) -> int:
    """Makes the runs that are to go; the number of those that failed."""
    print(f"memtest: {plan.summary()}", file=sys.stderr)
    if not plan.to_go:
        return 0

    async def work() -> int:
        jobs = len(cpus)
        if isinstance(plan.campaign, Campaign):
            jobs = preflight.limit_jobs(await runner.forecast(plan.to_go, cpus), jobs, plan.campaign.n)
        return await runner.record_all(plan.to_go, cpus[:jobs], plan.recording)

    stopped = f"stopped; finished runs are kept in {plan.name}, and the same command goes on from there"
    return run_to_completion(work(), stopped)
