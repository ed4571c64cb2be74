#!/usr/bin/env python3
"""Whether the harness itself keeps anything: 1,000 waves of the null stacks and of OpenSSL, which must be flat.

Live heap must be flat to the byte in every stack, and RSS in the null stacks. Runs are bounded in time."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import shutil
import subprocess

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

CAMPAIGN, OUT = "soak", ROOT / "build/soak"
LIMIT_S = 900  # of one run


def main() -> None:
    """Record the campaign anew; exit with 1 and a sentence at the first stack that is not flat."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    venv.activate()
    from tlsmem.store import read_runs
    from tlsmem.topics.churn.waves import find_churn, find_growth

    shutil.rmtree(OUT, ignore_errors=True)
    command = [ROOT / "tools/tls-memtest", "measure", CAMPAIGN, "--out", OUT, "--timeout", str(LIMIT_S)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("soak: not all runs were measured")
    if growth := find_growth(find_churn(read_runs.load(OUT))):
        sys.exit(f"soak: {growth}")
    print("soak: flat")


if __name__ == "__main__":
    run(main)
