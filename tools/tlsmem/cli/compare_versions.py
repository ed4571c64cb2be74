"""Walk a library's releases: what a session of each holds in live heap, by stage and by bucket, and what changed from
each release to the next, as tables and as a picture.

Of a RECORDING what is there is shown. Without one, all releases of the library are built, two at a time, and measured
at N = 100 and 200; one that cannot be built is left out with a sentence, and the exit status is then 77 where its
source is no longer offered, else 1."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

from tlsmem.base import repository, venv
from tlsmem.cli import table_arguments
from tlsmem.compare import release_options
from tlsmem.config import option_check

EXAMPLES = """examples:
  tools/compare_versions.py --library openssl                                   builds and measures every release
  tools/compare_versions.py --library rustls+aws-lc --suites tls13-rsa-aes256-pq --role server
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --table buckets --stage idle
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --versions 3.4.1,3.5.5 --format csv

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> argparse.ArgumentParser:
    made = table_arguments.parser(__doc__, EXAMPLES)
    made.add_argument("recording", nargs="?", type=Path, help="a directory under data/, or one of its files")
    library = "as before the @ of its stacks, with variants: rustls+aws-lc"
    made.add_argument("--library", "--lib", required=True, metavar="NAME", help=library)
    made.add_argument(
        "--versions", type=option_check.split_names, metavar="NAMES", help="only these releases: 3.0.22,3.5.5"
    )
    suites = f"default: {' '.join(release_options.SUITES)}; of a recording with neither all that it has"
    made.add_argument("--suites", type=option_check.split_names, metavar="NAMES", help=suites)
    made.add_argument(
        "--role", choices=(*release_options.ROLES, "both"), default="both", help="whose sessions (default: both)"
    )
    stage = "when sessions are told apart by bucket (default: established)"
    made.add_argument("--stage", choices=release_options.PHASES, default="established", help=stage)
    made.add_argument("--table", action="append", choices=release_options.TABLES, help="only this; may be repeated")
    table_arguments.add_format(made)
    made.add_argument(
        "--out", metavar="DIRECTORY", help="what is measured and the picture (default: build/versions/NAME)"
    )
    return made


def usage(sentence: object) -> NoReturn:
    print(f"compare_versions: {sentence}", file=sys.stderr)
    sys.exit(2)


def stacks_of(given: argparse.Namespace) -> list[str]:
    """The stacks to build, of memtest/stacks.toml. Exits with 2 and a sentence for what cannot be."""
    if given.into:
        usage("--into is for a page that shows a RECORDING: name one")
    if given.out:
        repository.check_recording_or_exit(Path(given.out))
    try:
        stacks = release_options.stacks_of(given.library, list(option_check.read_tables("stacks")), given.versions)
    except ValueError as error:
        usage(error)
    option_check.check_options_or_exit({"SUITES": " ".join(given.suites)} if given.suites is not None else {})
    return stacks


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    stacks = [] if given.recording else stacks_of(given)
    venv.activate()
    from tlsmem.compare import compare_releases
    from tlsmem.tables import table_command

    if given.recording:
        table_command.run_and_exit("compare_versions", given, partial(compare_releases.compare_recorded, parser=asked))
    compare_releases.ended(given, asked, stacks)
