"""tls-memtest why: in words, why a session of one stack holds more than a session of another."""

import argparse

from tlsmem.cli.command import IN_WORDS, Command, CommandParser, each


def run(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.tables import explain_buckets

    return explain_buckets.explain(given, asked)


COMMANDS = (
    Command(
        "why",
        "why a session of one stack holds more bytes than a session of another, in words",
        each("sources", "into", "only stack", "only suite", *IN_WORDS, "format", "output text"),
        run,
        """Explain in words why a session of one stack holds more bytes than a session of another.

The output is Markdown. Figures come from the sites runs of a recording, or from profiles; reasons come from
memtest/buckets.toml.""",
        """\
  tools/tls-memtest why data/2026-11-22-amd-epyc --suite tls13-rsa-aes256
  tools/tls-memtest why data/2026-11-22-amd-epyc --suite tls13-rsa-aes256 --stack openssl@3.5.5 \\
      --stack rustls+ring@0.23.46
  tools/tls-memtest why openssl.heaptrack.zst rustls.heaptrack.zst        of what make profile keeps""",
    ),
)
