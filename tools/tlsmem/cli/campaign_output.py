"""What a campaign shows when its runs are made: tables on stdout, pictures beside the recording, findings on stderr."""

import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from tlsmem.base import stdout
from tlsmem.base.paths import shorten
from tlsmem.cli import campaign_conclusion
from tlsmem.cli.campaign_plan import Plan
from tlsmem.config.matrix import distinct_values
from tlsmem.store import read_runs
from tlsmem.store.record import Record


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

    selection = select(records, distinct_values("stack", plan.runs), distinct_values("suite", plan.runs))
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
    from tlsmem.plots.timed import pictures
    from tlsmem.stats.timed_selection import select
    from tlsmem.tables import render
    from tlsmem.tables.timed import catalogue
    from tlsmem.tables.timed.warnings import describe_noise

    timed = select(records, distinct_values("stack", plan.runs), distinct_values("suite", plan.runs))
    render.print_all(catalogue.build(timed))
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
