"""What sessions cost against budgets: the runs that are needed, each limit, value and verdict, and the exit status.

The recordings that are judged, and the baselines that budgets are held against, are found and read here too; what of
them is not comparable is told."""

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import rich.console

from tlsmem.base import markdown_embedding, paths, stdout, termination
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.printable import printable_text
from tlsmem.build.commands import BuildFailed
from tlsmem.compare.comparison_output import SKIP
from tlsmem.config import choices
from tlsmem.gate import budget, builds, ci_outputs, grown_call_sites, measure_budgets, verdict_table, verdicts
from tlsmem.gate.budget import Budget, BudgetError, Budgets, entry_name
from tlsmem.gate.budget_figure import Recording
from tlsmem.gate.ci_outputs import Explained
from tlsmem.gate.verdicts import Ruling
from tlsmem.run import exclusive
from tlsmem.schema.recording_files import find_recording, is_recording, name_recordings
from tlsmem.stats import comparability
from tlsmem.store import read_runs
from tlsmem.tables import render

WAY = "`tools/tls-memtest gate {} --new-baseline {}` makes one"
HELD, FAILED, EXCEEDED = 0, 1, 3


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """The exit status. Raises BudgetError with a sentence."""
    asked = budget.load_budgets(given.budget)
    ci_outputs.check_outputs([given.junit, given.summary], given.budget)
    found = builds.resolve_budgets(list(budget.expand_entries(asked)), given.budget, given.git)
    if given.list:
        with stdout.raise_write_errors():
            print(*measure_budgets.needed_runs(found, asked.sessions, asked.repeats), sep="\n")
        return HELD
    if given.new_baseline:
        return record(given, asked, found)
    baseline, found = load_baseline(asked, found, given.budget)
    check_apart(given, asked)
    if given.recording:
        measured = load_judged(given.recording, baseline, given.budget.parent / (asked.baseline or ""))
        print_left_out(measured, {(one.stack, one.place.suite) for one in found})
        return judge(given, parser, found, measured, baseline)
    with ExitStack() as until_done:
        folder = given.out or Path(until_done.enter_context(tempfile.TemporaryDirectory(prefix="memtest-gate-")))
        return judge(given, parser, found, measure(asked, found, folder), baseline)


def check_apart(given: argparse.Namespace, asked: Budgets) -> None:
    """A baseline that runs are added to would no longer be one."""
    folder = given.budget.parent / (asked.baseline or "")
    if asked.baseline and given.out and given.out.resolve() == folder.resolve():
        raise BudgetError(f"--out={given.out} is the baseline; --new-baseline with another directory makes a new one")


def measure(asked: Budgets, budgets: Sequence[Budget], folder: Path, new: bool = False) -> Recording:
    """Raises BuildFailed with a sentence where a stack could not be built, BudgetError where the recording is to be
    new."""
    runs = measure_budgets.needed_runs(budgets, asked.sessions, asked.repeats)
    exclusive.claim_to_record(folder, any(run.is_timed for run in runs))
    if new:  # another gate that was waited for may have made it
        check_new(folder)
    builds.build_needed(dict.fromkeys(run.stack for run in runs))
    return Recording("this recording", measure_budgets.measure(runs, folder))


def record(given: argparse.Namespace, asked: Budgets, budgets: Sequence[Budget]) -> int:
    """A new baseline."""
    check_new(given.new_baseline)
    measured = measure(asked, budgets, given.new_baseline, new=True)
    if failures(measured):
        return FAILED
    with stdout.raise_write_errors():
        place = os.path.relpath(given.new_baseline, given.budget.parent)
        made = f"{paths.shorten(given.new_baseline)}: {len(measured.records)} runs"
        print(f'{made}; in {given.budget}: baseline = "{place}"')
    return HELD


def check_new(baseline: Path) -> None:
    if is_recording(baseline):
        raise BudgetError(f"--new-baseline={baseline}: a recording is there; a newer one stands beside it")


def failures(measured: Recording) -> int:
    failed = [one for one in measured.records if one.status == "failed"]
    for one in failed:
        tell(f"{one.stack}, {one.suite}, {one.sessions:,} sessions, {one.meter}: {one.reason}")
    return len(failed)


def judge(
    given: argparse.Namespace,
    parser: argparse.ArgumentParser,
    budgets: Sequence[Budget],
    measured: Recording,
    baseline: Recording | None,
) -> int:
    """Everything that is told, and the exit status."""
    rulings = [verdicts.judge_budget(one, measured, baseline) for one in budgets]
    explained = grown_call_sites.explain_rulings(rulings, measured.records, baseline.records if baseline else [])
    if given.into:
        return into(given, parser, ci_outputs.format_summary(rulings, explained))
    print_verdict(rulings, explained, given.format)
    ci_outputs.write_outputs(rulings, explained, given.junit, given.summary)
    used = {run.key: run for one in rulings for run in one.new}
    if failures(Recording(measured.name, list(used.values()))):
        return FAILED
    return HELD if all(one.verdict == verdicts.HELD for one in rulings) else EXCEEDED


def print_verdict(rulings: Sequence[Ruling], explained: Explained, form: str | None) -> None:
    """Print the verdict first, then what is not held, then the tables.

    CSV and JSON are for programs, so there the sentences are on stderr."""
    form = form or (choices.TABLE if stdout.is_terminal() else choices.MARKDOWN)
    with stdout.raise_write_errors():
        if form == choices.MARKDOWN:
            print(ci_outputs.format_summary(rulings, explained), end="")
        elif form == choices.TABLE:
            ci_outputs.print_terminal(rulings, explained, rich.console.Console())
        else:
            for sentence in (verdict_table.summarise(rulings), *verdict_table.describe_failures(rulings)):
                tell(sentence)
            print(render.format_tables(ci_outputs.build_tables(rulings, explained), form), end="")


def into(given: argparse.Namespace, parser: argparse.ArgumentParser, text: str) -> int:
    try:
        markdown_embedding.replace_block(given.into, given, parser, text)
    except ValueError as error:
        raise BudgetError(str(error)) from None
    return HELD


def tell(sentence: object) -> None:
    """On stderr, in one line: names in it are of whoever wrote the budgets, or made the recording."""
    print(f"memtest: {printable_text(str(sentence))}", file=sys.stderr)


def run_gate(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Return the exit status. Raises UserError."""
    termination.end_on_signals()
    try:
        with raise_user_errors(given.budget):
            return run(given, parser)
    except BuildFailed as error:  # it says of no commit what a session costs
        error.status = SKIP
        raise


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
    return load_recording(folder, "--recording")


def print_left_out(found: Recording, used: Iterable[tuple[str | None, str]]) -> None:
    """On stderr: of what is used, the runs that stand in no line."""
    used = set(used)
    runs = [one for one in found.records if (one.stack, one.suite) in used and one.scenario == "memory"]
    for sentence in comparability.describe_left_out(runs):
        print(f"memtest: {found.name}: {sentence}", file=sys.stderr)
