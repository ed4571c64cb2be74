"""A campaign, measured and recorded run by run, here or on the machines of a Dask cluster; and what it shows then.

Tables go to stdout, pictures beside the recording, findings to stderr."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tlsmem.base import repository, stdout
from tlsmem.base.errors import UserError
from tlsmem.base.paths import shorten
from tlsmem.build import trees
from tlsmem.cli import campaign_conclusion, campaign_plan, cluster_connection
from tlsmem.cli.campaign_plan import Plan, slots_cpus
from tlsmem.config import campaign_options, definitions, toml_tables
from tlsmem.config.campaigns import Campaign, TimedCampaign
from tlsmem.config.matrix import distinct_stacks, distinct_suites
from tlsmem.profile.capture import instructions
from tlsmem.run import exclusive, heap_page, preflight, spread_runs, verify_stacks
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import Provenance, describe_missing, is_built, read_manifest
from tlsmem.run.remote_run import DIGITS, resource_name
from tlsmem.run.runner import Runner
from tlsmem.run.spread_runs import SpreadResult
from tlsmem.schema import append_records
from tlsmem.store import read_runs
from tlsmem.store.record import Record

if TYPE_CHECKING:  # an environment without it imports this module
    from distributed import Client


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
    fine = show_campaign(plan, title)
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
    result = spread_over_cluster(plan, given.cluster, given.tls, given.timeout)
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


class CampaignOutput(NamedTuple):
    """What is shown below a campaign's tables."""

    pictures: list[Path]
    lines: list[str]
    findings: list[str]  # what is wrong with the figures


def show_campaign(plan: Plan, title: str) -> bool:
    """Return whether all is well: False, after a sentence, with any finding, and without tables or pictures."""
    keys = {plan.key_of_run(run) for run in plan.runs}
    records = [record for record in read_runs.load(plan.recording) if plan.key_of_record(record) in keys]
    show = show_timed_campaign if plan.campaign.is_timed else SHOWN.get(plan.campaign.scenario, show_scenario_campaign)
    try:
        output = show(records, plan, title)
    except ValueError as error:
        print(f"memtest: {plan.name}: {error}", file=sys.stderr)
        return False
    except OSError as error:
        where = error.filename or plan.recording / title
        print(f"memtest: {where}: cannot draw the pictures: {error.strerror}", file=sys.stderr)
        return False
    pictures = [f"pictures: {', '.join(map(shorten, output.pictures))}"] if output.pictures else []
    with stdout.raise_write_errors():
        print(f"\nrecording: {plan.name}", *pictures, *output.lines, sep="\n")
    for finding in output.findings:
        print(f"memtest: {plan.name}: {finding}", file=sys.stderr)
    return not output.findings


def show_memory_campaign(records: list[Record], plan: Plan, title: str) -> CampaignOutput:
    from tlsmem.plots import memory, stacks
    from tlsmem.selfcheck import audit
    from tlsmem.stats.selection import select
    from tlsmem.tables import catalogue, render

    selection = select(records, distinct_stacks(plan.runs), distinct_suites(plan.runs))
    render.print_all(catalogue.build(selection))
    has_many_stacks = catalogue.has_many_stacks(selection)
    draw = stacks.save_every_suite if has_many_stacks else memory.draw
    pictures = draw(selection, plan.recording / title)
    findings = audit.findings(records)
    lines = []
    if any(record.meter == "sites" and record.status == "measured" for record in records):
        lines.append(f"call stacks: tools/tls-memtest show tables {shlex.quote(plan.name)} --table call-sites")
    if not has_many_stacks:
        lines += ["", *campaign_conclusion.sentences(selection)]
    return CampaignOutput(pictures, lines, findings)


def show_timed_campaign(records: list[Record], plan: Plan, title: str) -> CampaignOutput:
    """A noisy machine is no finding, but a warning."""
    from tlsmem.stats.timed_selection import select
    from tlsmem.tables import render, scenario_catalogue
    from tlsmem.topics.timing import pictures
    from tlsmem.topics.timing.warnings import describe_noise

    timed = select(records, distinct_stacks(plan.runs), distinct_suites(plan.runs))
    render.print_all(scenario_catalogue.build_timed(timed))
    for warning in describe_noise(records):
        print(f"memtest: {plan.name}: {warning}", file=sys.stderr)
    return CampaignOutput(pictures.draw_selected(timed, plan.recording / title), [], [])


def show_scenario_campaign(records: list[Record], plan: Plan, title: str) -> CampaignOutput:
    """Of a scenario of memory that has tables of its own."""
    from tlsmem.tables import render, scenario_catalogue

    render.print_all(scenario_catalogue.build(records))
    the_same = f"tools/tls-memtest show tables {shlex.quote(plan.name)} --table {plan.campaign.scenario}"
    return CampaignOutput([], [f"the same: {the_same}"], [])


SHOWN = {"memory": show_memory_campaign}


def spread_over_cluster(plan: Plan, address: str, tls: Path | None, limit_s: float | None) -> SpreadResult:
    """Make the runs that are to go on the cluster's machines, and record each as it arrives."""
    print(f"memtest: {plan.summary()}", file=sys.stderr)
    if not plan.to_go:
        return SpreadResult(0, 0)
    from distributed import Client

    security = cluster_connection.read_security(address, tls, "client")
    cluster_connection.check_scheduler(address, security, "client", "--cluster ")
    client = Client(address, timeout=cluster_connection.CONNECT_S, set_as_default=False, security=security)
    try:
        check_workers(client, plan.campaign.every_stack, address)

        def executor_of(builds: Mapping[str, str]) -> Executor:
            needs = {resource_name(stack, sha256): 1 for stack, sha256 in builds.items()}
            executor: Executor = client.get_executor(resources=needs, pure=False)
            return executor

        return spread_runs.record_all(plan.to_go, executor_of, plan.provenance, plan.recording, limit_s)
    finally:
        client.close()


def check_workers(client: "Client", stacks: Iterable[str], address: str) -> None:
    """Say which workers get no runs of a stack; raise UserError where nobody has its build."""
    workers = {name: set(about["resources"]) for name, about in client.scheduler_info(n_workers=-1)["workers"].items()}
    if not workers:
        raise UserError(
            f"--cluster {address}: no workers; start one on each machine: tools/tls-memtest measure worker {address}"
        )
    for stack in stacks:
        sha256 = read_manifest(stack).binary_sha256
        able = {name for name, offers in workers.items() if resource_name(stack, sha256) in offers}
        for sentence in describe_unable(stack, sha256, {name: workers[name] for name in workers.keys() - able}):
            print(f"memtest: {sentence}", file=sys.stderr)
        if not able:
            way_out = (
                f"check out the same commit there, run `tools/tls-memtest build {stack}`, and start the worker again"
            )
            raise UserError(f"no worker has this clone's build of {stack} ({sha256[:DIGITS]}): {way_out}")


def describe_unable(stack: str, sha256: str, workers: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a sentence for each of the workers, none of which has this build."""
    prefix = f"build-{stack}-"
    for name, offers in sorted(workers.items()):
        other = next((one.removeprefix(prefix) for one in offers if one.startswith(prefix)), None)
        why = f"its build is {other}, not {sha256[:DIGITS]}" if other else "it has no build of it"
        yield f"{name} gets no run of {stack}: {why}"
