#!/usr/bin/env python3
"""What an idle connection costs an unmodified nginx, in bytes and blocks of its heap, over TLS 1.3 and over plain HTTP.

Debian's nginx runs under the heap meter, on loopback, with one worker, without tickets and session cache, afresh for
each number of connections. A connection must cost the same integer at every number, and leave nothing when it is
closed; otherwise the exit status is 1. Nothing is recorded.

With --recording, `plan --as nginx` must say within 10 % what an idle connection to an nginx with its defaults holds,
before a request and after it: live heap and RSS."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nginx_limits import MOST
from tlsmem.base import venv
from tlsmem.config.choices import FORMATS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("connections", nargs="*", type=count, metavar="N", help="how many (default: 500 1000 2000)")
    parser.add_argument("--recording", type=Path, metavar="DIR", help="of openssl@system, that plan --as nginx is from")
    parser.add_argument("--format", choices=FORMATS, help="default: table on a terminal, else markdown")
    return parser.parse_args()


def count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST // 2:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 to {MOST // 2:,}")
    return int(text)


def main() -> None:
    given = arguments()
    venv.activate()
    import idle_connections

    idle_connections.run(given)


if __name__ == "__main__":
    main()
