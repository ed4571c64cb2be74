"""One picture of a library release by release: what a session holds, stacked by what it is for, with its peak."""

import argparse
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import plot_arguments
from tlsmem.compare import release_options
from tlsmem.config import option_check

EXAMPLES = """examples:
  tools/plot_versions.py data/local/2026-01-31-some-cpu -o versions --library openssl
  tools/plot_versions.py data/local/2026-01-31-some-cpu -o idle.svg --library rustls+ring --stage idle --role server"""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.bare(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    plot_arguments.add_output(made)
    made.add_argument("--library", required=True, metavar="NAME", help="as before the @ of its stacks")
    made.add_argument(
        "--versions", type=option_check.split_names, metavar="NAMES", help="only these releases: 3.0.22,3.5.5"
    )
    made.add_argument(
        "--suites", type=option_check.split_names, metavar="NAMES", help=f"default: {' '.join(release_options.SUITES)}"
    )
    made.add_argument(
        "--role", choices=(*release_options.ROLES, "both"), default="both", help="whose sessions (default: both)"
    )
    made.add_argument("--stage", choices=release_options.PHASES, default="established", help="whose bars are drawn")
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.compare import release_plot
    from tlsmem.plots import plot_command

    plot_command.draw_and_exit("plot_versions", given, release_plot.draw_given)
