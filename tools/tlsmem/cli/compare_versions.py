"""Compare the releases of a library: live heap of a session by stage and by bucket, and what each release changed, as
tables and a picture.

With a RECORDING, this shows what it has. Without one, it builds all releases of the library, two at a time, and
measures them at N = 100 and 200. A release that cannot be built is left out with a message; the exit status is then 77
if its registry no longer offers the source, else 1."""

import argparse
from functools import partial
from pathlib import Path

from tlsmem.base import repository, venv
from tlsmem.base.errors import Usage
from tlsmem.config import option_check, releases, toml_tables
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/compare_versions.py --library openssl                                   builds and measures every release
  tools/compare_versions.py --library rustls+aws-lc --suites tls13-rsa-aes256-pq --role server
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --table buckets --stage idle
  tools/compare_versions.py data/local/2026-01-31-some-cpu --library openssl --versions 3.4.1,3.5.5 --format csv

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> CommandParser:
    return make_parser("compare_versions", __doc__, EXAMPLES)


def stacks_of(given: argparse.Namespace) -> list[str]:
    """The stacks to build, of memtest/stacks.toml. Raises UserError with exit status 2."""
    if given.into:
        raise Usage("--into is for a page that shows a RECORDING: name one")
    if given.out:
        repository.check_recording_or_exit(Path(given.out))
    known, versions = toml_tables.read_tables("stacks"), toml_tables.split_names(given.versions or "")
    try:
        stacks = releases.select_stacks(given.library, known, versions)
    except ValueError as error:
        raise Usage(str(error)) from None
    option_check.check_goal_or_exit("compare-versions", {"SUITES": given.suites})
    return stacks


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    stacks = [] if given.recording else stacks_of(given)
    venv.activate()
    from tlsmem.compare import compare_releases
    from tlsmem.tables import table_command

    if given.recording:
        return table_command.run_command(given, partial(compare_releases.compare_recorded, parser=asked))
    return compare_releases.build_and_compare(given, asked, stacks)
