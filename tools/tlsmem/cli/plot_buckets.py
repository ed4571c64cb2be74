"""Draw what a session's bytes are for, by bucket and phase, with a panel for each stack and role on one scale."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_buckets.py data/local/2026-01-31-some-cpu -o buckets --suite tls13-rsa-aes256  both buckets.png and .svg
  tools/plot_buckets.py data/local/2026-01-31-some-cpu -o ring.png --suite tls12-rsa-aes256 --stack rustls+ring@0.23.46
  tools/plot_buckets.py old.heaptrack.zst new.heaptrack.zst -o both.svg                   profiles of any tool"""


def parser() -> CommandParser:
    return make_parser("plot_buckets", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import buckets

    buckets.run(given)
