"""What changed from one recording to another, or from one selection of a recording to another: per suite, role, phase
and meter, beyond noise or not, with the call sites of what live heap grew by.

OLD and NEW are directories under data/, or files of them. Of one recording --by says what its two sides are told apart
by. Runs whose declared settings differ otherwise are not compared, and it is said in what they differ.

Exit status: 0 no change, 3 changed, 1 nothing could be compared or read, 2 usage. With --into 0 when it is written."""

import argparse
import signal
import sys
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import table_arguments
from tlsmem.compare.comparison_options import ALL, ASPECTS, METERS, NARROWED, ROLES, STAGES, Usage
from tlsmem.config.option_check import suggest_nearest
from tlsmem.tables.table import printable_text

EXAMPLES = """examples:
  tools/compare.py data/local/2026-01-31-some-cpu data/local/2026-02-28-some-cpu
  tools/compare.py OLD NEW --stack openssl@3.4.1=openssl@3.5.5        the same library under two names
  tools/compare.py data/local/2026-01-31-some-cpu --by stack openssl@3.4.1 openssl@3.5.5
  tools/compare.py data/local/2026-01-31-some-cpu --by allocator system jemalloc --stack openssl@3.5.5 --meter rss
  tools/compare.py data/local/2026-01-31-some-cpu --by compiler gcc clang --role server --format markdown
  tools/compare.py OLD NEW --suite tls13-rsa-aes256 --phase "server 1" --phase all

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(prog="compare.py", description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("recording", nargs="+", metavar="RECORDING", help="OLD and NEW; with --by one recording will do")
    told = f"what OLD and NEW are told apart by ({', '.join(ASPECTS)}), and its values"
    made.add_argument("--by", nargs=3, metavar=("ASPECT", "OLD", "NEW"), help=told)
    made.add_argument("--force", action="store_true", help="compare although declared settings differ, and say in what")
    stack = "only this one, may be repeated; OLD=NEW where it has another name in each"
    made.add_argument("--stack", action="append", metavar="STACK", help=stack)
    for name in NARROWED:
        made.add_argument(f"--{name}", action="append", help="only this; may be repeated")
    made.add_argument("--role", action="append", choices=ROLES, help="only figures of this; may be repeated")
    made.add_argument("--meter", action="append", choices=METERS, help="only figures of this; may be repeated")
    usual = f"default: {', '.join(STAGES)}; `{ALL}`: the ends of all phases too; may be repeated"
    made.add_argument("--phase", action="append", metavar="PHASE", help=usual)
    table_arguments.add_format(made)
    made.add_argument(
        "--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command stands"
    )
    return made


def check(given: argparse.Namespace) -> None:
    """Usage, with a sentence, for what cannot go together, before anything is read."""
    if len(given.recording) > 2:
        raise Usage(f"two recordings are compared, and {len(given.recording)} were named")
    if len(given.recording) == 1 and not given.by:
        raise Usage("name OLD and NEW, or say --by what the two sides of one recording are told apart")
    if given.by and given.by[0] not in ASPECTS:
        raise Usage(f"--by {given.by[0]}: it is one of {', '.join(ASPECTS)}" + suggest_nearest(given.by[0], ASPECTS))
    if given.by and given.by[1] == given.by[2] and len(given.recording) == 1:
        raise Usage(f"--by {' '.join(given.by)}: OLD and NEW are the same")
    if given.by and given.by[0] == "stack" and given.stack:
        raise Usage("--by stack names the two stacks; leave --stack out")
    if given.into and given.format:
        raise Usage("--into takes Markdown; leave --format out")


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    try:
        check(given)
    except Usage as error:
        print(printable_text(f"compare: {error}"), file=sys.stderr)
        sys.exit(2)
    venv.activate()
    from tlsmem.compare import compare_recordings

    sys.exit(compare_recordings.run_and_report(given, asked))
