"""Two builds of a library, built, measured and compared; the exit status says whether anything changed."""

import argparse
import sys
import time

from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.base.printable import printable_text
from tlsmem.build.commands import CONSOLE, BuildFailed
from tlsmem.compare import comparison_output, two_builds
from tlsmem.compare.comparison import Comparison
from tlsmem.compare.counted_changes import CountedChanges
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.config import definitions


def run(given: argparse.Namespace, counted: CountedChanges) -> int:
    """The exit status. Raises Usage, ValueError, BuildFailed or OSError with a sentence."""
    if not (ROOT / "build/core/libheapmeter.so").is_file():
        raise BuildFailed("build/core/libheapmeter.so is not there: run `make core` first")
    definitions.check_definitions()
    try:
        sides = two_builds.resolve_sides(given)
    except ValueError as error:
        raise Usage(str(error)) from None
    out = two_builds.claim(given.out or ROOT / two_builds.OUT)
    begun = time.monotonic()
    two_builds.build(sides, given.prefix)
    built = time.monotonic()
    found = two_builds.compare_sides(sides, given, out)
    explained = CallSiteExplainer(found)
    comparison_output.print_comparison(found, given.format, explained)
    ended = time.monotonic()
    CONSOLE.print(f"compare: built in {built - begun:.1f} s, measured and compared in {ended - built:.1f} s")
    if counted.narrows:
        print_counted(found, counted, explained)
    return comparison_output.exit_status(found, counted, explained)


def print_counted(found: Comparison, counted: CountedChanges, explained: CallSiteExplainer) -> None:
    """On stderr: how many changes count."""
    selected = len(counted.select(found, explained))
    figures = f"{selected:,} figure{'' if selected == 1 else 's'}"
    print(f"memtest: {figures} changed as the exit status counts it: {counted.describe()}", file=sys.stderr)
    if unknown := counted.describe_unknown_site(found, explained):
        print(f"memtest: {printable_text(unknown)}", file=sys.stderr)


def compare(given: argparse.Namespace, counted: CountedChanges) -> int:
    """Return the exit status. Raises UserError."""
    with raise_user_errors("compare"):
        return run(given, counted)
