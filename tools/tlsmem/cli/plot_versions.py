"""Draw a library release by release: what a session holds, stacked by bucket, and its peak."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_versions.py data/local/2026-01-31-some-cpu -o versions --library openssl
  tools/plot_versions.py data/local/2026-01-31-some-cpu -o idle.svg --library rustls+ring --stage idle --role server"""


def parser() -> CommandParser:
    return make_parser("plot_versions", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.compare import release_plot
    from tlsmem.plots import plot_command

    return plot_command.draw_pictures(given, release_plot.draw_given)
