"""Pictures of timed runs: bulk transfer, handshakes, rate per thread over threads, latencies, sizes of a write."""

import argparse
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import plot_arguments

EXAMPLES = """examples:
  tools/plot_timing.py data/local/2026-01-31-some-cpu               every picture, into the directory pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --campaign throughput --out docs/pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256  with its resumed handshakes
  tools/plot_timing.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+aws-lc@0.23.46

transfer, handshake, latency-SUITE, threads-SUITE, threads-transfer-SUITE and sizes-SUITE are drawn where their runs
are there, each as .png and .svg."""


def parser() -> argparse.ArgumentParser:
    made = plot_arguments.bare(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    plot_arguments.add_campaign(made)
    made.add_argument("--stack", action="append", help="may be repeated, in this order")
    made.add_argument("--suite", action="append", help="may be repeated")
    where = "directory of the pictures (default: pictures)"
    made.add_argument("--out", dest="output", type=Path, metavar="DIR", default=Path("pictures"), help=where)
    return made


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command
    from tlsmem.plots.timed import selected_pictures

    plot_command.draw_and_exit("plot_timing", given, selected_pictures.draw_from_arguments)
