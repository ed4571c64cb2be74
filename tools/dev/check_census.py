#!/usr/bin/env python3
"""Does `heap census` count what real programs hold? A table with a row for each program and state.

Servers as their packages have them run on the loopback of a network of their own. A client opens sessions, closes
half of them, then all; then it opens connections that send nothing, half of a ClientHello, or all of it and nothing
after. In each state the census is held against the client's count, RssAnon, and two other runs of the same server:
under the heap meter, and under heaptrack, which tells by call stack what the TLS library allocated. The programs that
the census refuses are rows too, each with its sentence. So are a server that is linked to builds of OpenSSL of this
repository (`tools/tls-memtest build openssl@4.0.3`), and the servers of other systems in build/debian-*, those that
are there: `debootstrap trixie build/debian-13`. It needs root, and takes two minutes, with all programs and two other
systems ten.

Exit status 1: a count differs, or the target has changed by being looked at. Programs that are not installed are
named, and left out."""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run

EXAMPLES = """examples:
  tools/dev/check_census.py --program nginx
  tools/dev/check_census.py --delay
  tools/dev/check_census.py --into docs/reference/census.md"""


def main() -> None:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    parser.add_argument("--program", metavar="WORD", default="", help="only programs with this word in their name")
    parser.add_argument("--sessions", type=int, default=200, choices=range(4, 401), metavar="N", help="default: 200")
    parser.add_argument("--root", metavar="DIRECTORY", type=Path, help="another system (default: build/debian-*)")
    parser.add_argument(
        "--delay", action="store_true", help="only how long an echo server takes to answer, with and without censuses"
    )
    parser.add_argument("--into", metavar="PAGE.md", type=Path, help="replace the tables in this page")
    given = parser.parse_args()
    if given.into and given.program:
        parser.error("--into PAGE.md writes the tables of all programs: leave --program out")
    if os.geteuid() != 0:
        sys.exit("check-census: only root may make a network and read all processes: run it as root")
    venv.activate()
    import census_delay
    import census_table

    if given.delay:
        census_delay.print_delay(given.sessions)
    else:
        census_table.check(given, parser)


if __name__ == "__main__":
    run(main)
