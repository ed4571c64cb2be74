#!/usr/bin/env python3
"""Does the live heap of servers, as `make live` records it, equal what valgrind's massif counts in the same server?

HAProxy, on OpenSSL and on AWS-LC or what --stack names, runs twice with each number of connections: once under the
heap meter, and once under massif, which knows nothing of the meter. In each state both say how much more is live than
without connections. nginx is left out: valgrind 3.19 cannot be asked about a process that was forked. Exit status 1:
they differ by a byte.

Exit status 77: valgrind is not installed, or this is not root."""

import argparse
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.cli.main import run

STACKS = "openssl@3.5.5,awslc@5.12.0"
CONNECTIONS = "50,150"
EXAMPLES = """examples:
  tools/dev/check_live.py
  tools/dev/check_live.py --stack wolfssl+haproxy@5.9.4 --n 100,300"""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("--stack", default=STACKS, help="on whose libraries it is built (default: %(default)s)")
    made.add_argument("--n", default=CONNECTIONS, type=numbers, help=f"numbers of connections (default: {CONNECTIONS})")
    return made


def numbers(text: str) -> list[int]:
    if not all(one.isdecimal() and int(one) for one in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text} must be whole numbers from 1 on, separated by commas")
    return [int(one) for one in text.split(",")]


def main() -> int:
    given = parser().parse_args()
    if not shutil.which("vgdb"):
        raise UserError("valgrind is not installed: apt install valgrind", status=77)
    if os.geteuid():
        raise UserError("this needs root, for network namespaces and memory cgroups", status=77)
    venv.activate()
    import live_counts

    status: int = live_counts.count(given.stack.split(","), given.n)
    return status


if __name__ == "__main__":
    run(main)
