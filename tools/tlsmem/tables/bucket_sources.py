"""Where profiles whose bytes are put into buckets come from: recordings, directories of profiles, and files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tlsmem.config.suite_variants import expand_words
from tlsmem.profile import open_profile, profile_metadata
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema.recording_files import is_recording, require_recording
from tlsmem.stats.selection import choose_values, select
from tlsmem.store import read_runs
from tlsmem.tables import buckets

Names = Sequence[str] | None


def load_profiles(paths: Sequence[Path], stacks: Names = None, suites: Names = None) -> Iterator[Profile]:
    """Of recordings the largest sites run of each stack. Raises ValueError or Unreadable with a sentence."""
    for name in paths:
        path = require_recording(name, "recording or profile")
        if path.is_dir() and not is_recording(path) and (path / "profiles").is_dir():
            yield from profiles_from_folder(path / "profiles", stacks, suites)
        elif path.is_dir() or is_recording(path):
            yield from profiles_from_recording(path, stacks, suites)
        else:
            yield open_profile.open_profile(path, suite=suites[0] if suites and len(suites) == 1 else None)


def profiles_from_recording(path: Path, stacks: Names, suites: Names) -> Iterator[Profile]:
    """Yield the largest sites run of each stack. Raises ValueError where there is none."""
    records = read_runs.load(path)
    suites = expand_words(suites, (one.suite for one in records if one.scenario == "memory"))
    found = list(buckets.profiles_from_selection(select(records, stacks, suites)))
    if not found:
        raise ValueError(f"{path}: the recording has no sites run; `make mem` records some")
    yield from found


def profiles_from_folder(folder: Path, stacks: Names, suites: Names) -> Iterator[Profile]:
    """What `make profile` kept: of each stack and suite the profile of most sessions, by one tool."""
    kept = {file: profile_metadata.load(file).run for file in sorted(folder.glob("*.json"))}
    if not kept:
        raise ValueError(f"{folder}: no profile with a record; `make profile` makes some")
    stacks = choose_values(stacks, (run.stack for run in kept.values()), "the stack")
    suites = choose_values(suites, (run.suite for run in kept.values()), "the suite")
    order = sorted(kept, key=lambda file: kept[file].sessions)
    largest = {(kept[file].suite, kept[file].stack): file for file in order}
    for suite in suites:
        for stack in stacks:
            if file := largest.get((suite, stack)):
                yield open_profile.open_profile(file)
