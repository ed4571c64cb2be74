"""Build a library twice, measure both, and say what changed: a commit against another, or against a directory.

A side is a stack of memtest/stacks.toml, or LIBRARY@git:REVISION, or LIBRARY@path:DIRECTORY, where LIBRARY may have
variants (rustls+ring). Both are built at once, each tree once; the originals are not changed.

Exit status: 0 no change, 3 changed, 1 a side could not be built or measured, 2 usage. With --bisect, for
`git bisect run`: 0 as A is, 1 otherwise, 125 if there is no verdict. --at-least, --site and --worse-only say which
changes count for it; all are shown."""

import argparse
import sys
from pathlib import Path

from tlsmem.base import repository, termination, venv
from tlsmem.base.errors import Usage, UserError
from tlsmem.compare.exits import BAD, CHANGED, SKIP, UNCHANGED
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser
from tlsmem.config.options import options_of_goal

EXAMPLES = """examples:
  tools/compare_builds.py --a openssl@git:openssl-3.5.5 --b openssl@path:. --role server    from within the clone
  tools/compare_builds.py --a openssl@3.4.1 --b openssl@3.5.5 --suites tls13-rsa-aes256
  tools/compare_builds.py --a rustls+ring@git:v/0.23.46 --b rustls+ring@git:main --git ~/src/rustls
  git bisect run ~/tls-memtest/tools/compare_builds.py --bisect --a openssl@git:GOOD --b openssl@git:HEAD
  git bisect run ~/tls-memtest/tools/compare_builds.py --bisect --a openssl@git:GOOD --b openssl@git:HEAD \\
      --worse-only --at-least 100B --site ssl_cert_dup       only what grew by 100 B, allocated below this function"""
SIGNALLED = 128
OF_BISECT = {UNCHANGED: 0, CHANGED: BAD}


def parser() -> CommandParser:
    return make_parser("compare_builds", __doc__, EXAMPLES)


def options_from_arguments(given: argparse.Namespace) -> dict[str, str]:
    """Raises UserError with exit status 2 for what cannot be."""
    taken = options_of_goal("compare")
    options = {name: value for name in taken if (value := getattr(given, name.lower())) is not None}
    option_check.check_goal_or_exit("compare", options)
    if "OUT" in options:
        repository.check_recording_or_exit(Path(options["OUT"]))
    for name in ("A", "B"):
        if name not in options:
            raise Usage(f"{name}= is missing: {taken[name].help}")
    if int(options["N"]) < 4:
        raise Usage(f"N={options['N']}: a cost per session needs two numbers of sessions, N/2 and N; the least N is 4")
    return options


def run_comparison(words: list[str] | None = None) -> int:
    """Return the exit status. Raises UserError."""
    given = parser().parse_args(words)
    options = options_from_arguments(given)
    venv.activate()
    from tlsmem.compare import compare_builds
    from tlsmem.compare.counted_changes import CountedChanges

    return compare_builds.compare(options, CountedChanges(given.at_least, given.site, given.worse_only))


def run_bisect_step() -> int:
    """Return the exit status for `git bisect run`, and raise UserError with such a one.

    No commit is bad by what went wrong here: git is told to skip it; but a signal ends the search."""
    try:
        return choose_bisect_status(run_comparison())
    except UserError as error:
        error.status = choose_bisect_status(error.status)
        raise
    except Exception as error:
        raise UserError(f"{type(error).__name__}: {error}", SKIP) from None


def choose_bisect_status(status: int) -> int:
    """Return what git bisect is to be told where a comparison ends with this status."""
    return OF_BISECT.get(status, status if status > SIGNALLED else SKIP)


def asks_for_bisect(word: str) -> bool:
    """Abbreviated too, as argparse has it: what cannot be parsed must not be a bad commit either."""
    return "--bisect".startswith(word) and len(word) > len("--b")


def main() -> int:
    termination.end_on_signals()
    return run_bisect_step() if any(map(asks_for_bisect, sys.argv[1:])) else run_comparison()
