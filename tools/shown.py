"""What a campaign shows when its runs are made: tables on stdout, pictures beside the recording, findings on stderr."""

import os
import sys
from pathlib import Path

import conclusion
import records
import stdout
from campaign import distinct
from records import Record

Shown = tuple[list[Path], list[str], list[str]]  # pictures, sentences, findings


def results(plan) -> bool:
    """False with any finding, and without tables, with a sentence."""
    keys = {plan.provenance.key(run) for run in plan.runs}
    made = [record for record in records.load(plan.recording) if record.key in keys]
    show = of_memory if plan.campaign.scenario == "memory" else of_time
    try:
        pictures, told, found = show(made, plan)
    except ValueError as error:
        print(f"memtest: {plan.name}: {error}", file=sys.stderr)
        return False
    except OSError as error:
        where = error.filename or plan.recording / plan.title
        print(f"memtest: {where}: cannot draw the pictures: {error.strerror}", file=sys.stderr)
        return False
    with stdout.checked():
        print(f"\nrecording: {plan.name}\npictures: {', '.join(map(place, pictures))}", *told, sep="\n")
    for finding in found:
        print(f"memtest: {plan.name}: {finding}", file=sys.stderr)
    return not found


def of_memory(made: list[Record], plan) -> Shown:
    import audit
    import catalogue
    import forms
    import plot_mem  # slow to import, and not needed before
    import plot_stacks
    from selection import select

    selection = select(made, distinct("stack", plan.runs), distinct("suite", plan.runs))
    forms.print_all(catalogue.build(selection))
    draw = plot_stacks.each_suite if catalogue.many(selection) else plot_mem.draw
    pictures = draw(selection, plan.recording / plan.title)
    found = audit.findings(made)
    told = []
    if any(record.meter == "sites" and record.status == "measured" for record in made):
        told.append(f"call stacks: tools/tabulate.py {plan.name} --table call-sites")
    if not catalogue.many(selection):
        told += ["", *conclusion.sentences(selection)]
    return pictures, told, found


def of_time(made: list[Record], plan) -> Shown:
    """A noisy machine is no finding, but a warning."""
    import forms
    from timing import catalogue, pictures
    from timing.timed import select
    from timing.warnings import warnings

    timed = select(made, distinct("stack", plan.runs), distinct("suite", plan.runs))
    forms.print_all(catalogue.build(timed))
    for warning in warnings(made):
        print(f"memtest: {plan.name}: {warning}", file=sys.stderr)
    return pictures.draw_selected(timed, plan.recording / plan.title), [], []


def place(path: Path) -> str:
    """From here when it is below, else in full."""
    short = os.path.relpath(path)
    return str(path.resolve()) if short.startswith("..") else short
