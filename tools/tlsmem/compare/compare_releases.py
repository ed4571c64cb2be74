"""Walk a library's releases: what a session of each holds in live heap, by stage and by bucket, and what changed from
each release to the next, as tables and as a picture.

Of a RECORDING what is there is shown. Without one, all releases of the library are built, two at a time, and measured
at N = 100 and 200; one that cannot be built is left out with a sentence, and the exit status is then 77 where its
source is no longer offered, else 1."""

import argparse
import signal
import sys
from pathlib import Path
from typing import NoReturn

from tlsmem.build.commands import CONSOLE, Failed
from tlsmem.compare import record_releases, release_plot, release_tables, release_walk
from tlsmem.config import option_check
from tlsmem.schema import records
from tlsmem.stats.selection import Selection, select
from tlsmem.tables import render, table_command

EXAMPLES = """examples:
  tools/compare_versions.py --library openssl                                   builds and measures every release
  tools/compare_versions.py --library rustls+aws-lc --suites tls13-rsa-aes256-pq --role server
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --table buckets --stage idle
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --versions 3.4.1,3.5.5 --format csv

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> argparse.ArgumentParser:
    made = table_command.parser(__doc__, EXAMPLES)
    made.add_argument("recording", nargs="?", type=Path, help="a directory under data/, or one of its files")
    library = "as before the @ of its stacks, with variants: rustls+aws-lc"
    made.add_argument("--library", "--lib", required=True, metavar="NAME", help=library)
    made.add_argument("--versions", type=option_check.listed, metavar="NAMES", help="only these releases: 3.0.22,3.5.5")
    suites = f"default: {' '.join(release_walk.SUITES)}; of a recording with neither all that it has"
    made.add_argument("--suites", type=option_check.listed, metavar="NAMES", help=suites)
    made.add_argument(
        "--role", choices=(*release_walk.ROLES, "both"), default="both", help="whose sessions (default: both)"
    )
    stage = "when sessions are told apart by bucket (default: established)"
    made.add_argument("--stage", choices=release_walk.PHASES, default="established", help=stage)
    made.add_argument("--table", action="append", choices=release_tables.NAMES, help="only this; may be repeated")
    made.add_argument("--format", choices=render.FORMATS, help="default: table on a terminal, else markdown")
    made.add_argument(
        "--out", metavar="DIRECTORY", help="what is measured and the picture (default: build/versions/NAME)"
    )
    return made


def usage(sentence: object) -> NoReturn:
    print(f"compare_versions: {sentence}", file=sys.stderr)
    sys.exit(2)


def asked(given: argparse.Namespace) -> list[str]:
    """The stacks to build, of memtest/stacks.toml. Exits with 2 and a sentence for what cannot be."""
    if given.into:
        usage("--into is for a page that shows a RECORDING: name one")
    try:
        stacks = release_walk.stacks_of(given.library, list(option_check.table("stacks")), given.versions)
    except ValueError as error:
        usage(error)
    option_check.insist({"SUITES": " ".join(given.suites)} if given.suites is not None else {})
    return stacks


def shown(given: argparse.Namespace, found: Selection, stacks: list[str]) -> list[release_walk.Walk]:
    roles = release_walk.ROLES if given.role == "both" else (given.role,)
    walks = release_walk.walks(found, stacks, roles)
    table_command.deliver(release_tables.tables(walks, given.library, given.stage, given.table), given, parser())
    return walks


def of_recording(given: argparse.Namespace) -> int:
    """ValueError with a sentence."""
    runs = table_command.loaded(given.recording, "`make compare-versions` makes one")
    runs = [run for run in runs if run.scenario == "memory"]
    stacks = release_walk.stacks_of(given.library, list(dict.fromkeys(run.stack for run in runs)), given.versions)
    shown(given, release_walk.selected(runs, stacks, given.suites), stacks)
    return 1 if records.skipped else 0


def measured(given: argparse.Namespace) -> int:
    """Failed, ValueError and OSError with a sentence."""
    built = record_releases.Built(asked(given))
    if len(built.stacks) < 2:
        raise Failed(f"of {given.library} {len(built.stacks)} releases were built, and a walk needs two")
    suites = given.suites or list(release_walk.SUITES)
    out = Path(given.out or f"build/versions/{given.library}")
    found = select(record_releases.runs(built.stacks, suites, str(out)), built.stacks, suites)
    walks = shown(given, found, built.stacks)
    for file in release_plot.saved(walks, given.library, given.stage, out / f"versions-{given.library}"):
        CONSOLE.print(f"compare-versions: {file}")
    return built.status


def main() -> None:
    given = parser().parse_args()
    if given.recording:
        table_command.end("compare_versions", given, of_recording)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what a build has started ends with it
    try:
        sys.exit(measured(given))
    except (Failed, ValueError) as error:
        sys.exit(f"compare_versions: {error}")
    except OSError as error:
        sys.exit(f"compare_versions: {error.filename or given.library}: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)
