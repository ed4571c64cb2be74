"""Hold what sessions cost against budgets: measure what BUDGET.toml needs, print each limit, value and verdict.

Exit 0 when all are held, 3 when one is exceeded or cannot be judged, 2 when the budgets or a file that is
named cannot be used, 1 when runs or builds failed. With --into 0 when it is written."""

import argparse
import signal
from pathlib import Path

from tlsmem.base import repository, venv
from tlsmem.config import option_check
from tlsmem.tables.forms import FORMATS

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
    made.add_argument("--format", choices=FORMATS, help="default: a table on a terminal, else Markdown")
    made.add_argument("--into", type=Path, metavar="FILE", help="write the summary where this command stands in FILE")
    return made


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    option_check.check_options_or_exit({})
    if target := given.out or given.new_baseline:
        repository.check_recording_or_exit(target)
    venv.activate()
    from tlsmem.gate import judge

    judge.ended(given, asked)
