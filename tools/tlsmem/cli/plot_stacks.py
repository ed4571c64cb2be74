"""Draw every stack in one suite: what an established session keeps, smallest first, and its peak."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_stacks.py data/local/2026-01-31-some-cpu -o stacks --suite tls13-rsa-aes128  both stacks.png and .svg
  tools/plot_stacks.py data/local/2026-01-31-some-cpu -o clients.png --suite tls12-rsa-aes256 --role client"""


def parser() -> CommandParser:
    return make_parser("plot_stacks", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command, stacks

    return plot_command.draw_pictures(given, stacks.draw_from_arguments)
