"""Draw the memory of a recording: by sessions (peak RSS and its slope), and by phase of the handshake."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o memory.png
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o memory    both memory.png and memory.svg
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o pq.svg --suite tls13-rsa-aes256-pq --n 1000
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o roles.png --roles split  clients and servers beside each other
  tools/plot_mem.py data/local/2026-01-31-some-cpu -o env.png --env lab --env deployed  each repeat beside the lab's"""


def parser() -> CommandParser:
    return make_parser("plot_mem", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import memory, plot_command

    return plot_command.draw_pictures(given, memory.draw_from_arguments)
