"""`diff recordings`: what changed from OLD to NEW, or why nothing can be compared, and the exit status."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tlsmem.base import markdown_embedding
from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.printable import printable_text
from tlsmem.compare import comparison, comparison_output, declared_settings
from tlsmem.compare.comparison import Comparison, FigureFilter
from tlsmem.compare.figure_places import parse_phase, recorded_phase
from tlsmem.config import choices
from tlsmem.config.choices import ALL_PHASES, COMPARED_STAGES, NARROWED, PEAK
from tlsmem.config.suite_variants import expand_words
from tlsmem.schema import recording_files
from tlsmem.schema.recording_files import find_stack, require_recording
from tlsmem.stats.selection import ASPECTS
from tlsmem.store import read_runs
from tlsmem.store.record import Record


def requested_figures(given: argparse.Namespace) -> FigureFilter:
    named = (
        (ALL_PHASES,)
        if ALL_PHASES in (given.phase or ())
        else tuple(parse_phase(recorded_phase(one)) for one in given.phase or ())
    )
    return FigureFilter(named or None, given.role and tuple(given.role), given.meter and tuple(given.meter))


def check_phases(given: argparse.Namespace, runs: Sequence[Record]) -> None:
    known = dict.fromkeys([ALL_PHASES, PEAK, *COMPARED_STAGES, *(name for one in runs for name in one.phase_names)])
    for name in given.phase or ():
        if recorded_phase(name) not in {*map(recorded_phase, known)}:
            raise Usage(f"no run has a phase `{name}`{suggest_nearest(name, known)}")


def compared(given: argparse.Namespace) -> Comparison:
    old, new, labels = load_sides(given)
    check_phases(given, [*old, *new])
    by = [given.by[0]] if given.by else []
    found = comparison.compare(
        old, new, labels, by, parse_stack_pairs(given) or None, given.force, requested_figures(given)
    )
    if not found.rows:
        raise ValueError(nothing(found, (old, new)))
    if hint := describe_roles(found.sides, (old, new)):
        return replace(found, notes=(*found.notes, f"{hint[0].upper()}{hint[1:]}."))
    return found


def nothing(found: Comparison, both: Sequence[Sequence[Record]]) -> str:
    """Why there is not one figure of both."""
    for side, runs in zip(found.sides, both, strict=True):
        if not any(one.status == "measured" for one in runs):
            why = next((one.reason for one in runs if one.reason), "")
            return f"nothing to compare: no run of {side} was measured ({' '.join(why.split())})"
    if found.refused:
        first = found.refused[0]
        differ = "; ".join(one.describe(found.sides) for one in first.apart)
        where = f"{first.suite} of {first.stack}"
        return f"nothing is compared, since declared settings differ: {differ} ({where}); --force compares all the same"
    if not found.alone:
        return "nothing to compare: neither side has a figure of this --role, --meter and --phase"
    only = "".join(f"{one} " for one in found.alone[:2])
    if hint := describe_roles(found.sides, both):
        return f"nothing to compare: {hint}"
    both_names = " and ".join(found.sides)
    return f"nothing to compare: {both_names} have no figure in common. {only}--stack OLD=NEW pairs stacks of two names"


def describe_roles(names: tuple[str, str], both: Sequence[Sequence[Record]]) -> str | None:
    """Where both have a stack in a suite, but one has the roles in one process and one has them apart: a sentence, with
    the option that compares these."""
    arranged: list[dict[tuple[str, str], set[str]]] = [{}, {}]
    for of, runs in zip(arranged, both, strict=True):
        for one in runs:
            if one.status == "measured" and one.scenario == "memory":
                of.setdefault((one.stack, one.suite), set()).add(one.roles)
    for key, old in arranged[0].items():
        new = arranged[1].get(key, set())
        if new and not old & new:
            stack, suite = key
            roles = [" and ".join(sorted(some, reverse=True)) for some in (old, new)]
            return (
                f"{stack} in {suite} has roles {roles[0]} in {names[0]} and roles {roles[1]} in {names[1]}; "
                f"--by roles {max(old)} {max(new)} compares these"
            )
    return None


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Raises ValueError or OSError with a sentence."""
    found = compared(given)
    if given.into:
        text = comparison_output.format_comparison(found, choices.MARKDOWN)
        markdown_embedding.replace_block(given.into, given, parser, text)
        return int(bool(recording_files.skipped_lines))
    comparison_output.print_comparison(found, given.format)
    return 1 if recording_files.skipped_lines else comparison_output.exit_status(found)


def compare(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print what changed, or write it into a page; return the exit status. Raises UserError."""
    with raise_user_errors(given.into):
        return run(given, parser)


def loaded(file: str, stacks: Sequence[str]) -> list[Record]:
    """All runs; of a directory with a file for each of these stacks only those files, where its runs of them are."""
    place = require_recording(file)
    files = [find_stack(place, stack) for stack in dict.fromkeys(stacks)] if place.is_dir() else []
    alone = [one for one in files if one] if files and all(files) else [place]
    found = [one for part in alone for one in read_runs.load(part)]
    if not found:
        raise Usage(f"{file}: the recording is empty")
    return found


def load_sides(given: argparse.Namespace) -> tuple[list[Record], list[Record], tuple[str, str]]:
    """The runs of OLD and of NEW, and what these are."""
    pairs = parse_stack_pairs(given)
    old_stacks, new_stacks = [*pairs], [*pairs.values()]
    old, new = loaded(given.recording[0], old_stacks), loaded(given.recording[-1], new_stacks)
    there = {one.suite for one in new}
    suites = expand_words(given.suite, [one.suite for one in old if one.suite in there])
    old, new = narrowed(old, given, old_stacks, suites), narrowed(new, given, new_stacks, suites)
    if given.by:
        aspect, of_old, of_new = given.by
        old, new = select_value(old, aspect, of_old), select_value(new, aspect, of_new)
    labels = given.by[1:] if given.by and len(given.recording) == 1 else given.recording
    return old, new, (printable_text(labels[0]), printable_text(labels[1]))


def select_value(runs: Sequence[Record], aspect: str, value: str) -> list[Record]:
    try:
        return declared_settings.select_value(runs, aspect, value)
    except ValueError as error:
        raise Usage(str(error)) from None


def parse_stack_pairs(given: argparse.Namespace) -> dict[str, str]:
    """OLD's name of each stack that is asked for to NEW's; none: all."""
    if given.by and given.by[0] == "stack":
        return {given.by[1]: given.by[2]}
    found = [(old, new or old) for old, _, new in (name.partition("=") for name in given.stack or ())]
    for names in zip(*dict.fromkeys(found), strict=True):
        if twice := [name for name in names if names.count(name) > 1]:
            raise Usage(f"--stack names {twice[0]} twice: a stack is compared with one other")
    return dict(found)


def narrowed(
    runs: Sequence[Record], given: argparse.Namespace, stacks: Sequence[str], suites: Sequence[str] | None
) -> list[Record]:
    """Raises Usage with a sentence when a name that was given is of no run."""
    wanted = {"stacks": stacks} | {plural(name): getattr(given, name) for name in NARROWED} | {"suites": suites}
    for aspect, values in wanted.items():
        what, of = ASPECTS[aspect]
        there = dict.fromkeys(map(of, runs))
        for value in values or ():
            if value not in there:
                near = suggest_nearest(value, there) or f"; there are: {', '.join(there) or 'none'}"
                raise Usage(f"no runs of {what} {value}{near}")
        runs = [one for one in runs if not values or of(one) in values]
    return list(runs)


def plural(name: str) -> str:
    return name if name == "roles" else f"{name}s"
