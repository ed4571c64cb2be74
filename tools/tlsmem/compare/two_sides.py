"""The runs of OLD and of NEW, as the command line of tls-memtest diff recordings names them."""

import argparse
from collections.abc import Sequence

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.printable import printable_text
from tlsmem.compare import declared_settings
from tlsmem.config.choices import NARROWED
from tlsmem.config.suite_variants import expand_words
from tlsmem.schema.recording_files import find_stack, require_recording
from tlsmem.stats.selection import ASPECTS
from tlsmem.store import read_runs
from tlsmem.store.record import Record


def loaded(file: str, stacks: Sequence[str]) -> list[Record]:
    """All runs; of a directory with a file for each of these stacks only those files, where its runs of them are."""
    place = require_recording(file)
    files = [find_stack(place, stack) for stack in dict.fromkeys(stacks)] if place.is_dir() else []
    alone = [one for one in files if one] if files and all(files) else [place]
    found = [one for part in alone for one in read_runs.load(part)]
    if not found:
        raise ValueError(f"{file}: the recording is empty")
    return found


def load_sides(given: argparse.Namespace) -> tuple[list[Record], list[Record], tuple[str, str]]:
    """The runs of OLD and of NEW, and what these are."""
    names = list(zip(*parse_stack_pairs(given).items(), strict=True)) or [(), ()]
    files = [given.recording[at] for at in (0, -1)]
    both = [loaded(file, stacks) for file, stacks in zip(files, names, strict=True)]
    suites = expand_words(given.suite, [one.suite for one in both[0] if one.suite in {new.suite for new in both[1]}])
    both = [narrowed(runs, given, stacks, suites) for runs, stacks in zip(both, names, strict=True)]
    if given.by:
        aspect, *values = given.by
        both = [select_value(*side) for side in zip(both, (aspect, aspect), values, strict=True)]
    labels = given.by[1:] if given.by and len(given.recording) == 1 else given.recording
    return *both, tuple(map(printable_text, labels))


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
