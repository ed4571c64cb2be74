"""One picture of libraries release by release: what an established session keeps, a line for each suite."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o releases --library openssl --library rustls+ring
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o a.svg --suite tls13-rsa-aes128 --suite tls13-rsa-aes128-pq"""


def parser() -> CommandParser:
    return make_parser("plot_releases", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command, releases

    return plot_command.draw_pictures(given, releases.draw_from_arguments)
