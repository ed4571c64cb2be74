"""Draw timed runs: bulk transfer and handshakes as ratios to the first stack, and rates by write size."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_timing.py data/local/2026-01-31-some-cpu               every picture, into the directory pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --campaign throughput --out docs/pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256  with its resumed handshakes
  tools/plot_timing.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+aws-lc@0.23.46

transfer, handshake and sizes-SUITE are drawn if the recording has their runs, each as .png and .svg. A ratio needs two
stacks; for one stack, and for threads and latencies, use tools/tabulate.py."""


def parser() -> CommandParser:
    return make_parser("plot_timing", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command
    from tlsmem.plots.timed import selected_pictures

    return plot_command.draw_pictures(given, selected_pictures.draw_from_arguments)
