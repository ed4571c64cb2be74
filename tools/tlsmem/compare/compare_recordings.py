"""`diff recordings`: what changed from OLD to NEW, or why nothing can be compared, and the exit status."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tlsmem.base import markdown_embedding
from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.base.nearest import suggest_nearest
from tlsmem.compare import comparison, comparison_output, two_sides
from tlsmem.compare.comparison import Comparison, FigureFilter
from tlsmem.compare.figure_places import parse_phase, recorded_phase
from tlsmem.config import choices
from tlsmem.config.choices import ALL_PHASES, COMPARED_STAGES, PEAK
from tlsmem.schema import recording_files
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
    old, new, labels = two_sides.load_sides(given)
    check_phases(given, [*old, *new])
    by = [given.by[0]] if given.by else []
    found = comparison.compare(
        old, new, labels, by, two_sides.parse_stack_pairs(given) or None, given.force, requested_figures(given)
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
