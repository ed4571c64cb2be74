#!/usr/bin/env python3
"""Whether the gate lets through what has not changed: a baseline is made, then the same builds are judged many times.

Heap and RSS must be held every time; time, on a machine where nothing else runs, 48 times of 50."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import shutil
import subprocess
import tempfile

from tlsmem.base import stdout, venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

ROUNDS = 50
LEAST = 0.96  # of the rounds with budgets of time
BUDGETS = {False: "gate_check.toml", True: "gate_check_time.toml"}
EXAMPLES = """examples:
  tools/dev/check_gate.py               heap and RSS, 50 times: half an hour
  tools/dev/check_gate.py --time        rates, 50 times: an hour and a half
  tools/dev/check_gate.py --rounds 3    fewer"""


def arguments() -> argparse.Namespace:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    parser.add_argument("--rounds", type=int, choices=range(1, 1001), metavar="N", default=ROUNDS, help="default: 50")
    parser.add_argument("--time", action="store_true", help="budgets of time, and not of heap and RSS")
    return parser.parse_args()


def gate(budget: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/tls-memtest"), "gate", str(budget), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def baseline(budget: Path) -> None:
    """Exits with the gate's own sentence when it cannot be made."""
    made = gate(budget, "--new-baseline", str(budget.parent / "baseline"))
    if made.returncode:
        sys.exit(f"check-gate: no baseline: {made.stderr.strip().splitlines()[-1]}")


def is_held(budget: Path, number: int) -> bool:
    """One round; what was not held is said."""
    done = gate(budget)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    verdict = [line[len(mark) :] for line in lines for mark in ("### ", "- ", "gate: ") if line.startswith(mark)]
    with stdout.raise_write_errors():
        print(f"round {number}: exit {done.returncode}; {'; '.join(verdict)}", flush=True)
    return done.returncode == 0


def main() -> None:
    given = arguments()
    venv.activate()
    least = round(given.rounds * LEAST) if given.time else given.rounds
    with tempfile.TemporaryDirectory(prefix="memtest-check-gate-") as folder:
        budget = Path(shutil.copy(ROOT / "tools/dev" / BUDGETS[given.time], folder))
        baseline(budget)
        count = sum(is_held(budget, number) for number in range(1, given.rounds + 1))
    print(f"check-gate: {count} of {given.rounds} rounds were held; at least {least} must be")
    sys.exit(0 if count >= least else 1)


if __name__ == "__main__":
    run(main)
