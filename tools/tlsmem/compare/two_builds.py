"""Two builds of a library: named, built, measured and compared; the exit status says whether anything changed."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.base.printable import printable_text
from tlsmem.build import c_stack, cache, system_packages, trees
from tlsmem.build.commands import CONSOLE, BuildFailed
from tlsmem.build.schedule import Schedule
from tlsmem.compare import comparison, comparison_output
from tlsmem.compare.comparison import Comparison, FigureFilter
from tlsmem.compare.counted_changes import CountedChanges
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.config import definitions, matrix
from tlsmem.config.campaigns import Campaign
from tlsmem.config.choices import BOTH
from tlsmem.config.definitions import TreeSource
from tlsmem.config.run import Run
from tlsmem.run import exclusive
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import Provenance, read_manifest
from tlsmem.run.runner import Runner
from tlsmem.schema.machine import allowed_cpus
from tlsmem.store import read_runs
from tlsmem.store.record import Record

CAMPAIGN = "compare"
OUT = "build/compare"
JOBS = 2  # runs of heap do not disturb each other
RSS_PARTS, RSS_REPEATS = ("1/10", "1/2", "1"), 3  # of a number of sessions, as the gate has them
Sides = dict[str, str]  # A and B, to the names in records

STOPPED = "stopped; finished runs are kept, and the same command goes on from there"


def resolve_sides(given: argparse.Namespace) -> Sides:
    """Raises ValueError with a sentence where a side is not to be found, or cannot be built like that."""
    texts = {"A": given.a, "B": given.b}
    clone = trees.find_clone([*texts.values()], given.git.expanduser() if given.git else None)
    return {side: trees.resolve_stack(text, clone, given.like) for side, text in texts.items()}


def claim(out: Path) -> Path:
    """Where the runs are kept, claimed until this process ends, before anything is built."""
    exclusive.claim_to_record(out, timed=False)
    return out


def build(sides: Sides, prefix: Path | None = None) -> None:
    """Both at a time. Raises BuildFailed with a sentence for each that was not built."""
    known = definitions.stacks()
    chosen = list(dict.fromkeys(sides.values()))
    if any(known[name].harness == "rust" or getattr(known[name].source, "crate", None) for name in chosen):
        system_packages.require_cargo()
    cache.check_writable()
    before = [name for name in chosen if was_built(name)]
    for some in (before, [name for name in chosen if name not in before]):  # what is left has all CPUs
        if some and (failures := Schedule(some, known, ROOT, prefix and prefix.absolute()).run()):
            raise BuildFailed("\nmemtest: ".join(describe_failure(name, error) for name, error in failures.items()))


def was_built(name: str) -> bool:
    """Return whether stamps say that it was built, or the library of its tree: then there is little to do."""
    stack = definitions.stacks()[name]
    folder = c_stack.build_folder(name, stack, ROOT)
    stamps = [ROOT / "build/harness" / f"{name}.stamp", folder.with_name(f"{folder.name}.stamp")]
    return any(stamp.is_file() for stamp in stamps)


def describe_failure(name: str, error: Exception) -> str:
    """Return the error's sentence, with what may be missing from its tree."""
    said = f"{name}: {str(error).removeprefix(f'{name}: ')}"
    source = definitions.stacks()[name].source
    if isinstance(source, TreeSource):
        said += f"\n{name} is built by the steps of memtest/stacks.toml for its release; LIKE=STACK takes another's."
        if source.lacking:
            said += (
                f" Its tree lacks submodules: {', '.join(source.lacking)}; `git submodule update --init` in the clone"
            )
    return said


class Runs(NamedTuple):
    """Which runs compare two builds: those of the campaign, unless something else is asked for."""

    suites: Sequence[str] | None = None
    sessions: int | None = None
    rss_sessions: int | None = None  # also RSS, with up to so many


def choose_campaign(sides: Sides, runs: Runs) -> Campaign:
    """Return the campaign of memtest/campaigns.toml, of these stacks, and suites and N where they are given."""
    turned: dict[str, object] = {"stacks": list(dict.fromkeys(sides.values()))}
    turned |= {"suites": list(runs.suites)} if runs.suites else {}
    turned |= {"n": runs.sessions} if runs.sessions else {}
    campaign = definitions.campaigns()[CAMPAIGN]
    assert isinstance(campaign, Campaign)
    return campaign.model_copy(update=turned)


def choose_rss_campaign(campaign: Campaign, sessions: int) -> Campaign:
    """Return the same of RSS alone: a line through three numbers of sessions, each run three times."""
    turned = {"rss": True, "heap": 0, "sites": None, "n": sessions}
    return campaign.model_copy(update=turned | {"sessions": list(RSS_PARTS), "repeats": RSS_REPEATS})


def list_runs(sides: Sides, runs: Runs) -> list[Run]:
    campaign = choose_campaign(sides, runs)
    resident = [choose_rss_campaign(campaign, runs.rss_sessions)] if runs.rss_sessions else []
    return [run for one in (*resident, campaign) for run in matrix.campaign_runs(one)]


def measure_sides(sides: Sides, asked: Runs, out: Path) -> dict[str, list[Record]]:
    """The runs of each side, in `out`, which was claimed; what is recorded of a binary is not measured again, and the
    same binary not twice."""
    binaries = {name: read_manifest(name).binary_sha256 for name in dict.fromkeys(sides.values())}
    firsts = {name: next(one for one in binaries if binaries[one] == binaries[name]) for name in binaries}
    provenance = Provenance(definitions.suites(), definitions.allocators())
    runs = list_runs({side: firsts[name] for side, name in sides.items()}, asked)
    keys = {provenance.key(run): run.stack for run in runs}
    there = {one.key for one in read_runs.load_existing(out) if one.status in ("measured", "unsupported")}
    if to_go := [run for run in runs if provenance.key(run) not in there]:
        run_to_completion(Runner(provenance, None).record_all(to_go, allowed_cpus()[:JOBS], out), STOPPED)
    kept = {one.key: one for one in read_runs.load_existing(out) if one.key in keys}
    return {side: [one for one in kept.values() if one.stack == firsts[name]] for side, name in sides.items()}


def compare_sides(sides: Sides, given: argparse.Namespace, out: Path) -> Comparison:
    """Raises ValueError where nothing can be."""
    runs = measure_sides(sides, Runs(given.suites, given.n, given.rss), out)
    for side, records in runs.items():
        for one in records:
            if one.status == "failed":
                raise BuildFailed(f"{side}, {sides[side]}: a run failed ({one.suite}): {one.reason}")
    wanted = FigureFilter(roles=None if given.role == BOTH else (given.role,))
    labels = describe_side(given.a, sides["A"]), describe_side(given.b, sides["B"])
    found = comparison.compare(runs["A"], runs["B"], labels, wanted=wanted)
    if not found.rows:
        reasons = {one.reason for records in runs.values() for one in records if one.reason}
        raise BuildFailed(f"nothing could be compared: {'; '.join(sorted(reasons)) or 'no figure is of both'}")
    if runs["A"] == runs["B"]:
        print(f"memtest: {sides['A']} and {sides['B']} are the same binary", file=sys.stderr)
    return found


def describe_side(text: str, name: str) -> str:
    """Return what was asked for and what that is; of a directory no place of this machine."""
    asked = trees.parse_request(text)
    if not asked:
        return name
    return f"{name} ({asked.what})" if asked.how == "git" else f"{name} ({os.path.basename(asked.what.rstrip('/'))}/)"


def run(given: argparse.Namespace, counted: CountedChanges) -> int:
    """The exit status. Raises Usage, ValueError, BuildFailed or OSError with a sentence."""
    if not (ROOT / "build/core/libheapmeter.so").is_file():
        raise BuildFailed("build/core/libheapmeter.so is not there: run `make core` first")
    definitions.check_definitions()
    try:
        sides = resolve_sides(given)
    except ValueError as error:
        raise Usage(str(error)) from None
    out = claim(given.out or ROOT / OUT)
    begun = time.monotonic()
    build(sides, given.prefix)
    built = time.monotonic()
    found = compare_sides(sides, given, out)
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
