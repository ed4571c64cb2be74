"""One picture of libraries release by release: what an established session keeps, and its peak in the handshake."""

import argparse

from tlsmem.base import venv
from tlsmem.cli import plot_arguments
from tlsmem.plots.release_limits import LEAST, MOST

EXAMPLES = """examples:
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o releases --library openssl --library rustls+ring
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o a.svg --suite tls13-rsa-aes128 --suite tls13-rsa-aes128-pq"""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.parser(__doc__, EXAMPLES)
    made.add_argument("--library", action="append", help=f"default: all of {LEAST} releases; may be repeated, in order")
    made.add_argument("--suite", action="append", help=f"a line each; may be repeated, up to {MOST}")
    made.add_argument("--roles", action="append", help="together or split, where there are both")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command, releases

    plot_command.draw_and_exit("plot_releases", given, releases.draw_from_arguments)
