"""One picture of every stack in one suite: what an established session keeps, the smallest first, and its peak."""

import argparse

from tlsmem.base import venv
from tlsmem.cli import plot_arguments
from tlsmem.schema.roles import ROLES

EXAMPLES = """examples:
  tools/plot_stacks.py data/local/2026-01-31-some-cpu -o stacks --suite tls13-rsa-aes128  both stacks.png and .svg
  tools/plot_stacks.py data/local/2026-01-31-some-cpu -o clients.png --suite tls12-rsa-aes256 --role client"""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.parser(__doc__, EXAMPLES)
    made.add_argument("--suite", help="of a recording with several")
    made.add_argument("--roles", action="append", help="together or split, where there are both")
    made.add_argument("--role", choices=ROLES, default="server", help="default: server")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command, stacks

    plot_command.draw_and_exit("plot_stacks", given, stacks.draw_from_arguments)
