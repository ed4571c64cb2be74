"""What changed from one recording to another, or from one selection of a recording to another: per suite, role, phase
and meter, whether the change exceeds noise, and which call sites the extra live heap comes from.

OLD and NEW are directories under data/, or files of them. To compare within one recording, use --by ASPECT OLD NEW, for
example --by allocator system jemalloc. Runs whose declared settings differ otherwise are not compared; the output
names the difference.

Exit status: 0 no change, 3 changed, 1 nothing could be compared or read, 2 usage. With --into: 0 if written."""

import argparse
import signal

from tlsmem.base import venv
from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.choices import ASPECTS
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/compare.py data/local/2026-01-31-some-cpu data/local/2026-02-28-some-cpu
  tools/compare.py OLD NEW --stack openssl@3.4.1=openssl@3.5.5        the same library under two names
  tools/compare.py data/local/2026-01-31-some-cpu --by stack openssl@3.4.1 openssl@3.5.5
  tools/compare.py data/local/2026-01-31-some-cpu --by allocator system jemalloc --stack openssl@3.5.5 --meter rss
  tools/compare.py data/local/2026-01-31-some-cpu --by compiler gcc clang --role server --format markdown
  tools/compare.py OLD NEW --suite tls13-rsa-aes256 --phase "server 1" --phase all

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> CommandParser:
    return make_parser("compare", __doc__, EXAMPLES)


def check(given: argparse.Namespace) -> None:
    """Raises Usage with a sentence for what cannot go together, before anything is read."""
    if len(given.recording) > 2:
        raise Usage(f"two recordings are compared, and {len(given.recording)} were named")
    if len(given.recording) == 1 and not given.by:
        raise Usage("give OLD and NEW, or one recording with --by ASPECT OLD NEW")
    if given.by and given.by[0] not in ASPECTS:
        raise Usage(f"--by {given.by[0]}: it is one of {', '.join(ASPECTS)}" + suggest_nearest(given.by[0], ASPECTS))
    if given.by and given.by[1] == given.by[2] and len(given.recording) == 1:
        raise Usage(f"--by {' '.join(given.by)}: OLD and NEW are the same")
    if given.by and given.by[0] == "stack" and given.stack:
        raise Usage("--by stack names the two stacks; leave --stack out")
    if given.into and given.format:
        raise Usage("--into takes Markdown; leave --format out")


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    check(given)
    venv.activate()
    from tlsmem.compare import compare_recordings

    return compare_recordings.compare(given, asked)
