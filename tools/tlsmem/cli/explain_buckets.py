"""Explain in words why a session of one stack holds more bytes than a session of another.

The output is Markdown. Figures come from the sites runs of a recording, or from profiles; reasons come from
memtest/buckets.toml."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+ring@0.23.46
  tools/explain_buckets.py openssl.heaptrack.zst rustls.heaptrack.zst        of what make profile keeps"""


def parser() -> CommandParser:
    return make_parser("explain_buckets", __doc__, EXAMPLES)


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.tables import explain_buckets

    return explain_buckets.explain(given, asked)
