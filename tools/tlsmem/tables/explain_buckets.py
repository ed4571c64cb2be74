"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for: sentences in
Markdown, with figures of a recording's sites runs, or of profiles, and the reasons of memtest/buckets.toml."""

import argparse
import signal
import sys
from pathlib import Path

from tlsmem.base import markdown_embedding, stdout
from tlsmem.profile.buckets import reasons
from tlsmem.profile.unreadable import Unreadable
from tlsmem.tables import bucket_sources, table_command

EXAMPLES = """examples:
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256
  tools/explain_buckets.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+ring@0.23.46
  tools/explain_buckets.py openssl.heaptrack.zst rustls.heaptrack.zst        of what make profile keeps"""

NOTHING = (
    "nothing to compare: it needs sites runs of two families of stacks in one suite (make mem), or profiles of them "
    "(make profile)"
)


def parser() -> argparse.ArgumentParser:
    made = table_command.parser(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, nargs="+", help="a recording below data/, or profiles, a stack each")
    made.add_argument("--stack", action="append", help="may be repeated; the first is compared with each other")
    made.add_argument("--suite", action="append", help="may be repeated")
    return made


def markdown(sentences: list[str]) -> str:
    """What leads is a paragraph, what it leads is a list."""
    return "".join(f"\n{one}\n\n" if one.endswith(":") else f"- {one}\n" for one in sentences).removeprefix("\n")


def run(given: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    found = list(bucket_sources.profiles(given.recording, given.stack, given.suite))
    for profile in found:
        if profile.run is None:
            raise ValueError(f"{profile.file}: no record of a run is beside it; this is for what `make profile` keeps")
    text = markdown(reasons.explained(found))
    if not text:
        raise ValueError(f"{' '.join(map(str, given.recording))}: {NOTHING}")
    if given.into:
        markdown_embedding.replace(given.into, given, parser(), text)
    else:
        with stdout.checked():
            print(text, end="")
    return 0


def main() -> None:
    given = parser().parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        sys.exit(run(given))
    except (ValueError, Unreadable) as error:
        sys.exit(f"explain_buckets: {error}")
    except OSError as error:
        sys.exit(f"explain_buckets: {error.filename or given.into}: {error.strerror}")
