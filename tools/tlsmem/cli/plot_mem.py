"""One picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

import argparse

from tlsmem.base import venv
from tlsmem.cli import plot_arguments

EXAMPLES = """examples:
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o memory.png
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o memory    both memory.png and memory.svg
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o pq.svg --suite tls13-rsa-aes256-pq --n 1000
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o roles.png --roles split  clients and servers beside each other
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o env.png --env lab --env deployed  each repeat beside the lab's"""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.parser(__doc__, EXAMPLES)
    made.add_argument("--suite", action="append", help="one panel each; may be repeated")
    made.add_argument("--roles", action="append", help="together, split, keep-client or keep-server; may be repeated")
    made.add_argument("--env", action="append", help="lab, deployed or deployed-thp: panels beside each other")
    made.add_argument("--cpu", action="append", help="all, no-avx512, no-aes or baseline: one panel each")
    made.add_argument("--n", type=int, metavar="N", help="sessions of the lower row; default: the most there are")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import memory, plot_command

    plot_command.draw_and_exit("plot_mem", given, memory.draw_from_arguments)
