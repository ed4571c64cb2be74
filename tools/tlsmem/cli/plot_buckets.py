"""One picture of what a session's bytes are for: by bucket and phase, a panel for each stack and role on one scale."""

import argparse
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import plot_arguments

EXAMPLES = """examples:
  tools/plot_buckets.py data/local/2026-01-31-some-cpu -o buckets --suite tls13-rsa-aes256  both buckets.png and .svg
  tools/plot_buckets.py data/local/2026-01-31-some-cpu -o ring.png --suite tls12-rsa-aes256 --stack rustls+ring@0.23.46
  tools/plot_buckets.py old.heaptrack.zst new.heaptrack.zst -o both.svg                   profiles of any tool"""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.bare(__doc__, EXAMPLES)
    made.add_argument("source", type=Path, nargs="+", help="a recording below data/, or profiles, a stack each")
    plot_arguments.add_output(made)
    made.add_argument("--suite", help="of a recording with several")
    made.add_argument("--stack", action="append", help="of a recording; may be repeated, in this order")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import buckets

    buckets.run(given)
