"""What a campaign shows when its runs are made: tables on stdout, pictures beside the recording, findings on stderr."""

import sys
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.base.paths import shorten
from tlsmem.cli import campaign_conclusion
from tlsmem.cli.campaign_plan import Plan
from tlsmem.config.matrix import distinct_values
from tlsmem.schema import read_records
from tlsmem.schema.records import Record

Shown = tuple[list[Path], list[str], list[str]]  # pictures, sentences, findings


def results(plan: Plan, title: str) -> bool:
    """False with any finding, and without tables, with a sentence."""
    keys = {plan.provenance.key(run) for run in plan.runs}
    made = [record for record in read_records.load(plan.recording) if record.key in keys]
    show = show_memory_campaign if plan.campaign.scenario == "memory" else show_timed_campaign
    try:
        pictures, told, found = show(made, plan, title)
    except ValueError as error:
        print(f"memtest: {plan.name}: {error}", file=sys.stderr)
        return False
    except OSError as error:
        where = error.filename or plan.recording / title
        print(f"memtest: {where}: cannot draw the pictures: {error.strerror}", file=sys.stderr)
        return False
    with stdout.exit_on_write_error():
        print(f"\nrecording: {plan.name}\npictures: {', '.join(map(shorten, pictures))}", *told, sep="\n")
    for finding in found:
        print(f"memtest: {plan.name}: {finding}", file=sys.stderr)
    return not found


def show_memory_campaign(made: list[Record], plan: Plan, title: str) -> Shown:
    from tlsmem.plots import memory, stacks
    from tlsmem.selfcheck import audit
    from tlsmem.stats.selection import select
    from tlsmem.tables import catalogue, render

    selection = select(made, distinct_values("stack", plan.runs), distinct_values("suite", plan.runs))
    render.print_all(catalogue.build(selection))
    draw = stacks.save_every_suite if catalogue.has_many_stacks(selection) else memory.draw
    pictures = draw(selection, plan.recording / title)
    found = audit.findings(made)
    told = []
    if any(record.meter == "sites" and record.status == "measured" for record in made):
        told.append(f"call stacks: tools/tabulate.py {plan.name} --table call-sites")
    if not catalogue.has_many_stacks(selection):
        told += ["", *campaign_conclusion.sentences(selection)]
    return pictures, told, found


def show_timed_campaign(made: list[Record], plan: Plan, title: str) -> Shown:
    """A noisy machine is no finding, but a warning."""
    from tlsmem.plots.timed import pictures
    from tlsmem.stats.timed_selection import select
    from tlsmem.tables import render
    from tlsmem.tables.timed import catalogue
    from tlsmem.tables.timed.warnings import describe_noise

    timed = select(made, distinct_values("stack", plan.runs), distinct_values("suite", plan.runs))
    render.print_all(catalogue.build(timed))
    for warning in describe_noise(made):
        print(f"memtest: {plan.name}: {warning}", file=sys.stderr)
    return pictures.draw_selected(timed, plan.recording / title), [], []
