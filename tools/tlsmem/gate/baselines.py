"""Recordings that budgets are held against, and those that are judged: found, read, and what is not comparable told."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tlsmem.base import paths
from tlsmem.base.errors import UserError
from tlsmem.gate import builds
from tlsmem.gate.budget import Budget, BudgetError, Budgets, entry_name
from tlsmem.gate.budget_figure import Recording
from tlsmem.schema.recording_files import find_recording, name_recordings
from tlsmem.stats import comparability
from tlsmem.store import read_runs

WAY = "`tools/tls-memtest gate {} --new-baseline {}` makes one"


def load_recording(folder: Path, where: str, way: str = "") -> Recording:
    """Raises BudgetError with a sentence where there is none, or it cannot be read."""
    place = find_recording(folder)
    if not place:
        near = way or name_recordings(folder)
        raise BudgetError(f"{where}: there is no recording at {paths.shorten(folder)}{near}")
    try:
        found = read_runs.load(place)
    except UserError as error:
        said = str(error)
        raise BudgetError(said if said.startswith(where) else f"{where}: {said}") from None
    if not found:
        raise BudgetError(f"{where}: there are no runs in {paths.shorten(folder)}{way}")
    return Recording(paths.shorten(folder), found)


def load_baseline(given: Budgets, budgets: Sequence[Budget], file: Path) -> tuple[Recording | None, list[Budget]]:
    """The baseline, and the budgets with the stack names that it uses; none if the file names none.

    Absolute limits need no baseline: one that cannot be read, or lacks the stack, does not affect them."""
    relative = [one for one in budgets if one.limit.relative]
    if given.baseline is None:
        if not relative:
            return None, list(budgets)
        said = f'"{relative[0].limit}" is against a baseline, and there is no baseline = at the head of the file'
        raise BudgetError(f"{file}: {entry_name(relative[0].number)}: limit: {said}")
    folder = file.parent / given.baseline
    way = WAY.format(shlex.quote(str(file)), shlex.quote(paths.shorten(folder)))
    try:
        found = load_recording(folder, f"{file}: baseline", f"; {way}")
    except BudgetError as error:
        if relative:
            raise
        print(f"memtest: {error}; no limit is relative to it, but call sites cannot be compared", file=sys.stderr)
        return None, list(budgets)
    names = [one.stack for one in found.records]
    named = [name_where_known(one, file, names) for one in budgets]
    print_left_out(found, {(one.against, one.place.suite) for one in named if one.limit.relative})
    return found, named


def name_where_known(budget: Budget, file: Path, names: Sequence[str]) -> Budget:
    """The budget with the baseline's name for its stack; unchanged if an absolute limit has no runs there."""
    try:
        return builds.name_in_baseline(budget, file, names)
    except BudgetError:
        if budget.limit.relative:
            raise
        return budget


def load_judged(folder: Path, baseline: Recording | None, of_baseline: Path) -> Recording:
    """The recording that is judged; read once where it is the baseline too. Raises BudgetError with a sentence."""
    if baseline and folder.resolve() == of_baseline.resolve():
        return baseline
    return load_recording(folder, f"{folder}")


def print_left_out(found: Recording, used: Iterable[tuple[str | None, str]]) -> None:
    """On stderr: of what is used, the runs that stand in no line."""
    used = set(used)
    runs = [one for one in found.records if (one.stack, one.suite) in used and one.scenario == "memory"]
    for sentence in comparability.describe_left_out(runs):
        print(f"memtest: {found.name}: {sentence}", file=sys.stderr)
