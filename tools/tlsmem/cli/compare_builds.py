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
from tlsmem.compare.exits import BAD, CHANGED, SKIP, UNCHANGED, Usage
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
FAILED, SIGNALLED = 1, 128
OF_BISECT = {UNCHANGED: 0, CHANGED: BAD}


def parser() -> CommandParser:
    return make_parser("compare_builds", __doc__, EXAMPLES)


def options_from_arguments(given: argparse.Namespace) -> dict[str, str]:
    """Usage, or an exit with 2 and a sentence, for what cannot be."""
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
    """The exit status, what went wrong as a sentence on stderr."""
    given = parser().parse_args(words)
    try:
        options = options_from_arguments(given)
    except Usage as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(2)
    venv.activate()
    from tlsmem.compare import compare_builds
    from tlsmem.compare.counted_changes import CountedChanges

    return compare_builds.ended(options, CountedChanges(given.at_least, given.site, given.worse_only))


def run_bisect_step() -> int:
    """No commit is bad by what went wrong here: git is told to skip it; but a signal ends the search."""
    try:
        status = run_comparison()
    except SystemExit as error:
        if not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
        status = error.code if isinstance(error.code, int) else FAILED
    except Exception as error:
        print(f"memtest: {type(error).__name__}: {error}", file=sys.stderr)
        status = FAILED
    return OF_BISECT.get(status, status if status > SIGNALLED else SKIP)


def asks_for_bisect(word: str) -> bool:
    """Abbreviated too, as argparse has it: what cannot be parsed must not be a bad commit either."""
    return "--bisect".startswith(word) and len(word) > len("--b")


def main() -> None:
    termination.end_on_signals()
    sys.exit(run_bisect_step() if any(map(asks_for_bisect, sys.argv[1:])) else run_comparison())
