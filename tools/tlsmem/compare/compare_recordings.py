"""What changed from one recording to another, or from one selection of a recording to another: per suite, role, phase
and meter, beyond noise or not, with the call sites of what live heap grew by.

OLD and NEW are directories under data/, or files of them. Of one recording --by says what its two sides are told apart
by. Runs whose declared settings differ otherwise are not compared, and it is said in what they differ.

Exit status: 0 no change, 3 changed, 1 nothing could be compared or read, 2 usage. With --into 0 when it is written."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import markdown_embedding
from tlsmem.compare import comparison, declared_settings, delivery, sides
from tlsmem.compare.comparison import Comparison, Wanted
from tlsmem.compare.places import METERS, PEAK, STAGES, of_people, recorded
from tlsmem.compare.sides import NARROWED, Usage
from tlsmem.config.option_check import nearest
from tlsmem.schema import records
from tlsmem.schema.records import Record
from tlsmem.tables import render
from tlsmem.tables.table import clean

EXAMPLES = """examples:
  tools/compare.py data/local/2026-01-31-some-cpu data/local/2026-02-28-some-cpu
  tools/compare.py OLD NEW --stack openssl@3.4.1=openssl@3.5.5        the same library under two names
  tools/compare.py data/local/2026-01-31-some-cpu --by stack openssl@3.4.1 openssl@3.5.5
  tools/compare.py data/local/2026-01-31-some-cpu --by allocator system jemalloc --stack openssl@3.5.5 --meter rss
  tools/compare.py data/local/2026-01-31-some-cpu --by compiler gcc clang --role server --format markdown
  tools/compare.py OLD NEW --suite tls13-rsa-aes256 --phase "server 1" --phase all

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""
ROLES = ("client", "server", "pair", "process")
ALL = "all"


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(prog="compare.py", description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("recording", nargs="+", metavar="RECORDING", help="OLD and NEW; with --by one recording will do")
    told = f"what OLD and NEW are told apart by ({', '.join(declared_settings.VALUES)}), and its values"
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
    made.add_argument("--format", choices=render.FORMATS, help="default: table on a terminal, else markdown")
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
    if given.by and given.by[0] not in declared_settings.VALUES:
        raise Usage(
            f"--by {given.by[0]}: it is one of {', '.join(declared_settings.VALUES)}"
            + nearest(given.by[0], declared_settings.VALUES)
        )
    if given.by and given.by[1] == given.by[2] and len(given.recording) == 1:
        raise Usage(f"--by {' '.join(given.by)}: OLD and NEW are the same")
    if given.by and given.by[0] == "stack" and given.stack:
        raise Usage("--by stack names the two stacks; leave --stack out")
    if given.into and given.format:
        raise Usage("--into takes Markdown; leave --format out")


def wanted(given: argparse.Namespace) -> Wanted:
    named = (ALL,) if ALL in (given.phase or ()) else tuple(of_people(recorded(one)) for one in given.phase or ())
    return Wanted(named or None, given.role and tuple(given.role), given.meter and tuple(given.meter))


def check_phases(given: argparse.Namespace, runs: Sequence[Record]) -> None:
    known = dict.fromkeys([ALL, PEAK, *STAGES, *(phase.phase for one in runs for phase in one.phases)])
    for name in given.phase or ():
        if recorded(name) not in {*map(recorded, known)}:
            raise Usage(f"no run has a phase `{name}`{nearest(name, known)}")


def compared(given: argparse.Namespace) -> Comparison:
    old, new, labels = sides.of(given)
    check_phases(given, [*old, *new])
    by = [given.by[0]] if given.by else []
    found = comparison.compare(old, new, labels, by, sides.pairs(given) or None, given.force, wanted(given))
    if not found.rows:
        raise ValueError(nothing(found, (old, new)))
    return found


def nothing(found: Comparison, both: Sequence[Sequence[Record]]) -> str:
    """Why there is not one figure of both."""
    for side, runs in zip(("OLD", "NEW"), both, strict=True):
        if not any(one.status == "measured" for one in runs):
            why = next((one.reason for one in runs if one.reason), "")
            return f"nothing to compare: no run of {side} was measured ({' '.join(why.split())})"
    if found.refused:
        first = found.refused[0]
        differ = "; ".join(map(str, first.apart))
        where = f"{first.suite} of {first.stack}"
        return f"nothing is compared, since declared settings differ: {differ} ({where}); --force compares all the same"
    if not found.alone:
        return "nothing to compare: neither side has a figure of this --role, --meter and --phase"
    only = "".join(f"{one} " for one in found.alone[:2])
    return f"nothing to compare: OLD and NEW have no figure in common. {only}--stack OLD=NEW pairs stacks of two names"


def run(given: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    check(given)
    found = compared(given)
    if given.into:
        text = delivery.text_of(found, render.MARKDOWN)
        markdown_embedding.replace(given.into, given, parser(), text)
        return int(bool(records.skipped))
    delivery.show(found, given.format)
    return 1 if records.skipped else delivery.status(found)


def ended(given: argparse.Namespace) -> int:
    """As `run`; what it raises is a sentence on stderr."""
    try:
        return run(given)
    except (ValueError, OSError) as error:
        said = error if isinstance(error, ValueError) else f"{error.filename or given.into}: {error.strerror}"
        print(clean(f"compare: {said}"), file=sys.stderr)
        return 2 if isinstance(error, Usage) else 1


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    sys.exit(ended(parser().parse_args()))
