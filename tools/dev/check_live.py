#!/usr/bin/env python3
"""Does the live heap of servers, as `make live` records it, equal what valgrind's massif counts in the same server?

nginx on AWS-LC and HAProxy on OpenSSL, or the server and stack that are named, run twice with each number of
connections: once under the heap meter, and once under massif, which knows nothing of the meter. In each state both say
how much more is live than without connections. Exit status 1: they differ by a byte.

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

PAIRS = [("nginx", "awslc@5.12.0"), ("haproxy", "openssl@3.5.5")]
CONNECTIONS = "50,150"
EXAMPLES = """examples:
  tools/dev/check_live.py
  tools/dev/check_live.py --server haproxy --stack wolfssl+haproxy@5.9.4 --n 100,300"""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("--server", choices=sorted({name for name, _ in PAIRS}), help="with --stack")
    made.add_argument("--stack", help="on whose library the server is built; with --server")
    made.add_argument("--n", default=CONNECTIONS, type=numbers, help=f"numbers of connections (default: {CONNECTIONS})")
    return made


def numbers(text: str) -> list[int]:
    if not all(one.isdecimal() and int(one) for one in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text} must be whole numbers from 1 on, separated by commas")
    return [int(one) for one in text.split(",")]


def main() -> int:
    given = parser().parse_args()
    if bool(given.server) != bool(given.stack):
        raise UserError("--server and --stack go together", status=2)
    if not shutil.which("valgrind"):
        raise UserError("valgrind is not installed: apt install valgrind", status=77)
    if os.geteuid():
        raise UserError("this needs root, for network namespaces and memory cgroups", status=77)
    venv.activate()
    import live_counts

    pairs = [(given.server, given.stack)] if given.server else PAIRS
    status: int = live_counts.count(pairs, given.n)
    return status


if __name__ == "__main__":
    run(main)
