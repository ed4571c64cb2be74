"""Which recording a plan stands on: the newest in data/ that has what is needed, or those that were named.

The user's own, in data/local, are used only when named: plans without names are the same on every machine."""

import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import ROOT
from tlsmem.config import stack_names
from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.config.releases import group_by_library, library_with_variant, version
from tlsmem.config.suite_variants import split_variant
from tlsmem.config.toml_tables import read_tables
from tlsmem.schema.harness_arguments import has_full_records
from tlsmem.schema.live_records import FOLDER
from tlsmem.schema.recording_files import (
    is_recording,
    list_files,
    require_recording,
    stack_name,
)
from tlsmem.store import read_runs
from tlsmem.store.record import Record

DATA = Path("data")
USUAL_SUITES = (PLAN_SUITE, "tls13-rsa-aes128", "tls12-rsa-aes256")  # the first that a stack can do is its usual one


def find_recordings(named: Sequence[Path] | None) -> list[Path]:
    """Recordings, the newest first; those that were named in their order. Raises ValueError when there is none."""
    if named:
        return [find_named(one) for one in named]
    if not (found := committed_recordings()):
        raise ValueError("data: no committed recording; name yours in data/local with --recording")
    return found


def committed_recordings() -> list[Path]:
    """Return the recordings in data/, the newest first."""
    return sorted((one for one in (ROOT / DATA).glob("20*/") if is_recording(one)), reverse=True)


def find_live_recordings() -> list[Path]:
    """Return the committed recordings that have live runs, the newest first."""
    return sorted((one.parent for one in (ROOT / DATA).glob(f"20*/{FOLDER}/")), reverse=True)


def find_named(name: Path) -> Path:
    """Return the recording of this name. Raises Usage with a sentence when there is none."""
    found = require_recording(name)
    if not is_recording(found) or not list_files(found):
        raise Usage(f"{found}: no recording here (no .jsonl file); recordings are directories under data/")
    return found


def display_name(recording: Path) -> str:
    """As people name it."""
    whole = recording.resolve()
    return str(whole.relative_to(ROOT)) if whole.is_relative_to(ROOT) else str(recording)


@functools.cache
def files_by_stack(recording: Path) -> dict[str, Path]:
    """Return the files of a recording by stack. Raises ValueError as `list_files` does."""
    return {stack_name(file): file for file in list_files(recording)}


def stacks(recording: Path) -> list[str]:
    """Return the stacks of a recording, sorted. Raises ValueError as `list_files` does."""
    return [*files_by_stack(recording)]


@functools.cache
def load_stack(recording: Path, stack: str) -> tuple[Record, ...]:
    """Its runs; none where the recording has not the stack."""
    file = files_by_stack(recording).get(stack) if recording.is_dir() else recording
    if not file:
        return ()
    return tuple(one for one in load_file(file) if one.stack == stack)


loaded: dict[Path, list[Record]] = {}  # by file: pages search it in several ways


def load_together(files: Iterable[Path]) -> None:
    """Keep the runs of files. Raises ValueError."""
    new = [file for file in dict.fromkeys(files) if file not in loaded]
    loaded.update(zip(new, read_runs.load_each(new), strict=True))


def load_file(file: Path) -> list[Record]:
    """Return the runs of a file. Raises ValueError."""
    load_together([file])
    return loaded[file]


def load_runs(recording: Path) -> list[Record]:
    """Return the runs of all its stacks."""
    return [run for stack in stacks(recording) for run in load_stack(recording, stack)]


def describe_unknown(stack: str, among: Sequence[Path]) -> str:
    """A sentence: what there is instead."""
    there = sorted({name for one in among for name in stacks(one)})
    where = ", ".join(map(display_name, among))
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
    there = list(dict.fromkeys(stack for path in among for stack in stacks(path)))
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
    near = suggest_nearest(name, known if is_release else near_libraries or known)
    near = near or f"; there are: {', '.join(newest)}"
    if name in read_tables("servers"):
        near = f"; it is a server: tools/tls-memtest plan memory --connections 10000 --as {name}"
    kind = "no recording has the stack" if is_release else "unknown library or stack:"
    raise Usage(f"{kind} {name or repr(name)}{near}")


def describe_unrecorded(stack: str, among: Sequence[Path], suite: str | None) -> str:
    """A sentence: that other recordings have a stack that these do not have, or how it is recorded in the suite."""
    if any(stack in stacks(path) for path in committed_recordings()):
        where = ", ".join(map(display_name, among))
        return f"no runs of {stack} in {where}; others in data/ have some: leave --recording out"
    return f"no recording has the stack {stack}; {advise_recording(AS_DEPLOYED, stack, suite).sentence}"


def find_suites(stack: str, among: Sequence[Path]) -> list[str]:
    """Return the suites in which sessions of the stack in use were measured."""
    return list(dict.fromkeys(walk_suites(stack, among)))


def walk_suites(stack: str, among: Sequence[Path]) -> Iterator[str]:
    """Yield the suite of each such run; a recording is read when its turn comes."""
    for path in among:
        for run in load_stack(path, stack):
            if (run.scenario, run.status) == ("memory", "measured") and has_full_records(run):
                yield split_variant(run.suite)[0]


def usual_suite(stack: str, among: Sequence[Path]) -> str:
    """Return the suite of plans and costs where none is named: the usual one, else one that the stack can do.

    Go chooses AES-128 in TLS 1.3; LibreSSL 3.1 and BearSSL have TLS 1.2 only."""
    found: set[str] = set()
    for suite in walk_suites(stack, among):
        if suite == PLAN_SUITE:
            return suite
        found.add(suite)
    return next((suite for suite in USUAL_SUITES if suite in found), PLAN_SUITE)
