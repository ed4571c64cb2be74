"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for: sentences in
Markdown, with figures of a recording's sites runs, or of profiles, and the reasons of memtest/buckets.toml."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+ring@0.23.46
  tools/explain_buckets.py openssl.heaptrack.zst rustls.heaptrack.zst        of what make profile keeps"""


def parser() -> CommandParser:
    return make_parser("explain_buckets", __doc__, EXAMPLES)


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.tables import explain_buckets

    explain_buckets.ended(given, asked)
