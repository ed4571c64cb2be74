"""Draw libraries release by release: what an established session keeps, and its peak in the handshake."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o releases --library openssl --library rustls+ring
  tools/plot_releases.py data/local/2026-01-31-some-cpu -o a.svg --suite tls13-rsa-aes128 --suite tls13-rsa-aes128-pq"""


def parser() -> CommandParser:
    return make_parser("plot_releases", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command, releases

    plot_command.draw_and_exit("plot_releases", given, releases.draw_from_arguments)
