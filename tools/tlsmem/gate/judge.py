"""Hold what sessions cost against budgets: measure what BUDGET.toml needs, print each limit, value and verdict.

Exit 0 when all are held, 3 when one is exceeded or cannot be judged, 2 when the budgets or a file that is
named cannot be used, 1 when runs or builds failed. With --into 0 when it is written."""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tlsmem.base import markdown_embedding, paths, stdout
from tlsmem.build.commands import Failed
from tlsmem.config import option_check
from tlsmem.gate import baselines, budget, builds, ci_outputs, growth, measuring, needed_runs, verdict_table, verdicts
from tlsmem.gate.budget import Budget, Budgets, Unusable
from tlsmem.gate.evidence import Recording
from tlsmem.tables import render
from tlsmem.tables.table import clean

HELD, FAILED, USAGE, EXCEEDED = 0, 1, 2, 3
EXAMPLES = """examples:
  tools/gate.py BUDGET.toml                                 measure here and now, and judge
  tools/gate.py BUDGET.toml --junit gate.xml --out runs     for a CI: JUnit XML, and the runs are kept
  tools/gate.py BUDGET.toml --recording data/local/DATE-CPU judge a recording that is there
  tools/gate.py BUDGET.toml --new-baseline baselines/DATE   record what budgets like "+1%" are held against
  tools/gate.py BUDGET.toml --list                          what would be measured

docs/ci.md has a BUDGET.toml, and workflows. GITHUB_STEP_SUMMARY in the environment is appended to."""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("budget", type=Path, metavar="BUDGET.toml")
    where = made.add_mutually_exclusive_group()
    where.add_argument("--recording", type=Path, metavar="DIR", help="judge this recording, and measure nothing")
    where.add_argument("--out", type=Path, metavar="DIR", help="keep what is measured (default: a temporary directory)")
    where.add_argument("--new-baseline", type=Path, metavar="DIR", help="measure into DIR, and judge nothing")
    where.add_argument("--list", action="store_true", help="print the runs that would be made")
    made.add_argument("--git", type=Path, metavar="DIR", help="the clone that has the commits of stacks @git:REF")
    made.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML too")
    made.add_argument("--summary", type=Path, metavar="FILE", help="append a summary in Markdown to this file too")
    made.add_argument("--format", choices=render.FORMATS, help="default: a table on a terminal, else Markdown")
    made.add_argument("--into", type=Path, metavar="FILE", help="write the summary where this command stands in FILE")
    return made


def run(given: argparse.Namespace) -> int:
    """The exit status. Unusable, with a sentence."""
    asked = budget.load(given.budget)
    ci_outputs.check([given.junit, given.summary], given.budget)
    found = builds.resolved(list(budget.spread(asked)), given.budget, given.git)
    if given.list:
        with stdout.checked():
            print(*needed_runs.runs(found, asked.sessions, asked.repeats), sep="\n")
        return HELD
    if given.new_baseline:
        return record(given, asked, found)
    baseline, found = baselines.of_budgets(asked, found, given.budget)
    check_apart(given, asked)
    if given.recording:
        measured = baselines.judged(given.recording, baseline, given.budget.parent / (asked.baseline or ""))
        baselines.tell_left_out(measured, {(one.stack, one.place.suite) for one in found})
        return judge(given, found, measured, baseline)
    with ExitStack() as until_done:
        folder = given.out or Path(until_done.enter_context(tempfile.TemporaryDirectory(prefix="memtest-gate-")))
        return judge(given, found, measure(asked, found, folder), baseline)


def check_apart(given: argparse.Namespace, asked: Budgets) -> None:
    """A baseline that runs are added to would no longer be one."""
    folder = given.budget.parent / (asked.baseline or "")
    if asked.baseline and given.out and given.out.resolve() == folder.resolve():
        raise Unusable(f"--out={given.out} is the baseline; --new-baseline with another directory makes a new one")


def measure(asked: Budgets, budgets: Sequence[Budget], folder: Path) -> Recording:
    """Failed, with a sentence, where a stack could not be built."""
    runs = needed_runs.runs(budgets, asked.sessions, asked.repeats)
    builds.make(dict.fromkeys(run.stack for run in runs))
    return Recording("this recording", measuring.measure(runs, folder))


def record(given: argparse.Namespace, asked: Budgets, budgets: Sequence[Budget]) -> int:
    """A new baseline."""
    if given.new_baseline.exists() and any(given.new_baseline.glob("*.jsonl")):
        raise Unusable(f"--new-baseline={given.new_baseline}: a recording is there; a newer one stands beside it")
    measured = measure(asked, budgets, given.new_baseline)
    if failures(measured):
        return FAILED
    with stdout.checked():
        place = os.path.relpath(given.new_baseline, given.budget.parent)
        made = f"{paths.shorten(given.new_baseline)}: {len(measured.records)} runs"
        print(f'{made}; in {given.budget}: baseline = "{place}"')
    return HELD


def failures(measured: Recording) -> int:
    failed = [one for one in measured.records if one.status == "failed"]
    for one in failed:
        tell(f"{one.stack}, {one.suite}, {one.sessions:,} sessions, {one.meter}: {one.reason}")
    return len(failed)


def judge(given: argparse.Namespace, budgets: Sequence[Budget], measured: Recording, baseline: Recording | None) -> int:
    """Everything that is told, and the exit status."""
    rulings = [verdicts.ruling(one, measured, baseline) for one in budgets]
    explained = growth.of_rulings(rulings, measured.records, baseline.records if baseline else [])
    if given.into:
        return into(given, ci_outputs.summary(rulings, explained))
    render.print_all([verdict_table.table(rulings), *(one.table() for one in explained)], given.format)
    for one in rulings:
        if one.verdict != verdicts.HELD:
            tell(verdict_table.sentence(one))
    tell(verdict_table.summary(rulings))
    ci_outputs.write(rulings, explained, given.junit, given.summary)
    used = {run.key: run for one in rulings for run in one.new}
    if failures(Recording(measured.name, list(used.values()))):
        return FAILED
    return HELD if all(one.verdict == verdicts.HELD for one in rulings) else EXCEEDED


def into(given: argparse.Namespace, text: str) -> int:
    try:
        markdown_embedding.replace(given.into, given, parser(), text)
    except ValueError as error:
        raise Unusable(str(error)) from None
    return HELD


def tell(sentence: object) -> None:
    """On stderr, in one line: names in it are of whoever wrote the budgets, or made the recording."""
    print(f"gate: {clean(str(sentence))}", file=sys.stderr)


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends with it
    given = parser().parse_args()
    option_check.insist({})
    try:
        sys.exit(run(given))
    except Unusable as error:
        tell(error)
        sys.exit(USAGE)
    except Failed as error:
        sys.exit(f"gate: {error}")
    except OSError as error:
        sys.exit(f"gate: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)
