"""Which recordings there are, the newest first or those that were named, and the runs of their stacks.

The user's own, in data/local, are used only when named: answers without names are the same on every machine."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.base.paths import ROOT
from tlsmem.schema import configuration_records, recording_files
from tlsmem.schema.live_records import FOLDER
from tlsmem.schema.recording_files import (
    find_recording,
    is_recording,
    list_files,
    require_recording,
    stack_name,
)
from tlsmem.store import read_runs
from tlsmem.store.record import Record

DATA = Path("data")


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


def find_live_recordings(named: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the recordings that have live runs: those that were named, then the committed ones, the newest first."""
    return find_with(FOLDER, named)


def find_configurations(named: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return the recordings that have records of configurations, in the same order."""
    return find_with(configuration_records.FOLDER, named)


def find_with(folder: str, named: Sequence[Path]) -> tuple[Path, ...]:
    """Return the named recordings, then the committed ones that have this folder."""
    return tuple(dict.fromkeys([*named, *find_within(ROOT / DATA, folder)]))


def find_within(directory: Path, folder: str) -> list[Path]:
    """Return the recordings in a directory such as data/ that have this folder, the newest first; or the directory
    itself, where it is such a recording."""
    found = [directory] if (directory / folder).is_dir() else [one.parent for one in directory.glob(f"20*/{folder}/")]
    return sorted(found, reverse=True)


def split_live(named: Sequence[Path] | None) -> tuple[list[Path] | None, list[Path]]:
    """Return the named recordings that have runs of the harness, and those that have runs of real servers; None where
    none of the harness was named."""
    folders = (FOLDER, configuration_records.FOLDER)
    live = [
        found
        for one in named or ()
        if (found := find_recording(one)) and any((found / folder).is_dir() for folder in folders)
    ]
    others = [one for one in named or () if (found := find_recording(one)) not in live or is_recording(found)]
    return others or None, live


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


def load_recording(recording: Path, way: str = recording_files.WAY) -> list[Record]:
    """All runs. Raises Usage when there is no such recording, with the way to one and the names there are."""
    return read_runs.load(require_recording(recording, way=way))


def load_runs(recording: Path) -> list[Record]:
    """Return the runs of all its stacks."""
    return [run for stack in stacks(recording) for run in load_stack(recording, stack)]
