"""Which recorded stack a name means, and the suites that sessions of it were measured in."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import stack_names
from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.config.releases import group_by_library, library_with_variant, version
from tlsmem.config.suite_variants import SuiteInWords, split_variant
from tlsmem.config.toml_tables import read_tables
from tlsmem.schema.recorded_arguments import has_full_records
from tlsmem.store import recordings

USUAL_SUITES = (PLAN_SUITE, "tls13-rsa-aes128", "tls12-rsa-aes256")  # the first that a stack can do is its usual one


def describe_unknown(stack: str, among: Sequence[Path]) -> str:
    """A sentence: what there is instead."""
    there = sorted({name for one in among for name in recordings.stacks(one)})
    where = ", ".join(map(recordings.display_name, among))
    return f"no runs of {stack} in {where}{suggest_nearest(stack, there)}"


def resolve_stacks(names: Iterable[str], among: Sequence[Path], suite: str | None) -> list[str]:
    """Return the stacks of these names, each once; stderr has which release an abbreviated version stands for."""
    found = {name: resolve_stack(name, among, suite) for name in names}
    for name, stack in found.items():
        if version(name) and version(name) != version(stack):
            print(f"{name}: using {stack}, its newest recorded release", file=sys.stderr)
    return list(dict.fromkeys(found.values()))


def resolve_stack(name: str, among: Sequence[Path], suite: str | None = None) -> str:
    """Return the recorded stack of this name, which may be a library or a release series, as `match_stack` takes them.

    Raises ValueError with a sentence when nothing is recorded of the name: how it is recorded in the suite; Usage with
    the nearest names when there is no such stack."""
    there = list(dict.fromkeys(stack for path in among for stack in recordings.stacks(path)))
    if found := stack_names.match_stack(name, there):
        return found
    if defined := stack_names.match_stack(name, read_tables("stacks")):
        raise ValueError(describe_unrecorded(defined, among, suite))
    releases, newest = group_by_library(there), stack_names.newest_releases(there)
    known = list(dict.fromkeys([*newest, *releases, *there]))
    name = stack_names.fold_name(name, known)
    library = library_with_variant(name)
    near_libraries = [one for one in dict.fromkeys([*newest, *releases]) if suggest_nearest(name, [one])]
    is_release = (library in releases or library in newest) and version(name)
    near = stack_names.suggest_releases(name, there) if is_release else ""
    near = near or suggest_nearest(name, known if is_release else near_libraries or known)
    near = near or f"; there are: {', '.join(newest)}"
    if name in read_tables("servers"):
        near = f"; it is a server: tools/tls-memtest plan memory --connections 10000 --as {name}"
    kind = "no recording has the stack" if is_release else "unknown library or stack:"
    raise Usage(f"{kind} {name or repr(name)}{near}")


def describe_unrecorded(stack: str, among: Sequence[Path], suite: str | None) -> str:
    """A sentence: that other recordings have a stack that these do not have, or how it is recorded in the suite."""
    if any(stack in recordings.stacks(path) for path in recordings.committed_recordings()):
        where = ", ".join(map(recordings.display_name, among))
        return f"no runs of {stack} in {where}; others in data/ have some: leave --recording out"
    return f"no recording has the stack {stack}; {advise_recording(AS_DEPLOYED, stack, suite).sentence}"


def find_suites(stack: str, among: Sequence[Path]) -> list[str]:
    """Return the suites in which sessions of the stack in use were measured."""
    return list(dict.fromkeys(walk_suites(stack, among)))


def walk_suites(stack: str, among: Sequence[Path]) -> Iterator[str]:
    """Yield the suite of each such run; a recording is read when its turn comes."""
    for path in among:
        for run in recordings.load_stack(path, stack):
            if (run.scenario, run.status) == ("memory", "measured") and has_full_records(run):
                yield split_variant(run.suite)[0]


def match_suite(stack: str, suite: str, among: Sequence[Path]) -> str:
    """Return the suite; for one in words that the stack cannot do, as Go chooses AES-128 in TLS 1.3 by itself, the same
    with AES-128 where that is recorded. stderr then has it."""
    other = suite.replace("-aes256", "-aes128")
    if not isinstance(suite, SuiteInWords) or other == suite or advise_recording(AS_DEPLOYED, stack, suite).command:
        return suite
    there = set(walk_suites(stack, among))
    if suite in there or other not in there:
        return suite
    announce_suite(stack, suite, other)
    return other


@cache
def announce_suite(stack: str, suite: str, other: str) -> None:
    """Say once which suite is used."""
    print(f"{stack}: using {other}, as it does not do {suite}", file=sys.stderr)


def usual_suite(stack: str, among: Sequence[Path]) -> str:
    """Return the suite of plans and costs where none is named: the usual one, else one that the stack can do.

    Go chooses AES-128 in TLS 1.3; LibreSSL 3.1 and BearSSL have TLS 1.2 only."""
    found: set[str] = set()
    for suite in walk_suites(stack, among):
        if suite == PLAN_SUITE:
            return suite
        found.add(suite)
    return next((suite for suite in USUAL_SUITES if suite in found), PLAN_SUITE)
