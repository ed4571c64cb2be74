"""tls-memtest gate: what sessions cost, against limits."""

import argparse

from tlsmem.base import repository
from tlsmem.cli import checks
from tlsmem.cli.command import CORE, Command, CommandParser, each
from tlsmem.cli.options import Words


def check(given: argparse.Namespace, asked: CommandParser) -> None:
    checks.check_definitions()
    if target := given.out or given.new_baseline:
        repository.check_recording(target, option="--out" if given.out else "--new-baseline")


def run(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.gate import judge

    return judge.run_gate(given, asked)


COMMANDS = (
    Command(
        "gate",
        "check what sessions cost against the limits of a file: for CI",
        each("budget", "recording judged")
        | {"out kept": Words("a temporary directory")}
        | each("new baseline", "list gate", "git gate", "junit", "summary", "into", "output text")
        | {"format": Words("table on a terminal, else markdown")},
        run,
        """\
Check what sessions cost against the limits of BUDGET.toml: measure, then print each limit, value and verdict.

Exit status:
  0    all limits are met; with --into: the page is written
  1    a run failed
  2    an input file cannot be used
  3    a limit is exceeded or cannot be judged
  125  a build failed, so that `git bisect run` skips the commit""",
        """\
  tools/tls-memtest gate BUDGET.toml                                 measure here and now, and judge
  tools/tls-memtest gate BUDGET.toml --junit gate.xml --out runs     for a CI: JUnit XML, and the runs are kept
  tools/tls-memtest gate BUDGET.toml --recording data/local/mine     judge an existing recording
  tools/tls-memtest gate BUDGET.toml --new-baseline baselines/DATE   record the baseline of limits such as "+1%"
  tools/tls-memtest gate BUDGET.toml --list                          what would be measured

docs/how-to/ci.md has a BUDGET.toml, and workflows. GITHUB_STEP_SUMMARY in the environment is appended to.""",
        check,
        CORE,
    ),
)
