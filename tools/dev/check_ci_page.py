#!/usr/bin/env python3
"""Run the steps of docs/how-to/ci.md, "GitHub, from another repository", in a bare Debian 12.

The system has a clone of this repository and a tree of OpenSSL 3.5.5 that has a budget. Prints what was installed, its
size and the time of each step. Needs root."""

import argparse
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bare_system import BareSystem
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

PAGE = ROOT / "docs/how-to/ci.md"
LIBRARY = ROOT / "build/sources/openssl-src-300.5.5+3.5.5/openssl"
BUDGET = """[[budget]]
stack = "openssl@path:."
suite = "tls13-rsa-aes256"
role = ["client", "server"]
phase = ["established", "closed"]
meter = "heap"
limit = "64 KiB"
"""


def parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)


def main() -> None:
    parser().parse_args()
    system = BareSystem("check-ci-page", time_limit_s=1_800, variables={"MEMTEST_CACHE": "/var/cache/memtest"})
    steps = read_steps(PAGE.read_text())
    system.make()
    shutil.copytree(LIBRARY, system.home / "library", symlinks=True)
    (system.home / "library/BUDGET.toml").write_text(BUDGET)
    for step in steps:
        system.run_timed(step)
    if not (system.home / "gate.xml").exists():
        sys.exit("check-ci-page: the steps wrote no gate.xml")
    print(f"check-ci-page: passed; .venv takes {system.measure_packages_mb()} MB")


def read_steps(page: str) -> list[str]:
    """Return the commands of the page's workflow, without those that another step of the host's stands for."""
    workflow = page.partition("```yaml")[2].partition("```")[0]
    return re.findall(r"^ +- run: (.+)$", workflow, re.MULTILINE)


if __name__ == "__main__":
    run(main)
