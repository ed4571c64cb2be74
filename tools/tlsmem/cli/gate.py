"""Check what sessions cost against the limits of BUDGET.toml: measure, then print each limit, value and verdict.

Exit status:
  0    all limits are met; with --into: the page is written
  1    a run failed
  2    an input file cannot be used
  3    a limit is exceeded or cannot be judged
  125  a build failed, so that `git bisect run` skips the commit"""

import signal

from tlsmem.base import repository, venv
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/gate.py BUDGET.toml                                 measure here and now, and judge
  tools/gate.py BUDGET.toml --junit gate.xml --out runs     for a CI: JUnit XML, and the runs are kept
  tools/gate.py BUDGET.toml --recording data/local/mine         judge an existing recording
  tools/gate.py BUDGET.toml --new-baseline baselines/DATE   record the baseline of limits such as "+1%"
  tools/gate.py BUDGET.toml --list                          what would be measured

docs/how-to/ci.md has a BUDGET.toml, and workflows. GITHUB_STEP_SUMMARY in the environment is appended to."""


def parser() -> CommandParser:
    return make_parser("gate", __doc__, EXAMPLES)


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    option_check.check_definitions_or_exit()
    if target := given.out or given.new_baseline:
        repository.check_recording_or_exit(target, option="--out" if given.out else "--new-baseline")
    venv.activate(core=True)
    from tlsmem.gate import judge

    return judge.run_gate(given, asked)
