"""Reads recordings: the runs of a directory, or of one of its files, from the store, which takes in what is new."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.console import Console

from tlsmem.base.errors import UserError
from tlsmem.base.paths import PACKAGE
from tlsmem.schema import recording_files
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.records import RecordLine
from tlsmem.store import derive
from tlsmem.store.derive import Entry, derive_lines, find_entry, has_entry, remove_old
from tlsmem.store.record import Record, open_records

MUCH_BYTES = 1 << 20  # of packed files: worth another process


def load(recording: Path | str) -> list[Record]:
    """Return all runs of a recording (a directory, or one of its files), by stack in the order of recording.

    Raises BadRecording, which ends a command with its sentence, when there is no recording, or a line is no record of
    this schema or cannot be true. Warns on stderr of a last line that was cut off."""
    return [run for runs in load_each(recording_files.require_files(recording)) for run in runs]


def load_existing(directory: Path) -> list[Record]:
    """Return the runs of a recording; an empty list when there is none yet. Raises BadRecording as `load` does."""
    return load(directory) if recording_files.is_recording(directory) else []


def load_each(files: Sequence[Path]) -> list[list[Record]]:
    """Return the runs of these files, a list for each file. Raises BadRecording as `load` does."""
    return [open_records(entry) for entry in find_entries(files)]


def find_entries(files: Sequence[Path], as_parquet: bool = False) -> list[Entry]:
    """Return the entries of these files, of columns or of tables for queries; the store takes in what is new.

    Raises BadRecording as `load` does. Warns on stderr of a last line that was cut off."""
    files = [recording_files.locate(file) for file in files]
    missing = [file for file in files if not has_entry(file, as_parquet)]
    take_in(missing, as_parquet)
    entries = [find_entry(file, as_parquet) for file in files]
    if missing:
        remove_old()
    for file, entry in zip(files, entries, strict=True):
        if entry.cut:
            recording_files.warn_of_cut(file, entry.cut)
    return entries


def load_lines(records: Iterable[RecordLine]) -> list[Record]:
    """Return runs that were checked, but stand in no recording, as those of a recording. Raises OSError."""
    return open_records(derive_lines(records))


def take_in(files: Sequence[Path], as_parquet: bool) -> None:
    """Derive the entries of files that the store has not yet, on all processors where they are large.

    Raises BadRecording as `load` does, of the first file that is bad."""
    sizes = {file: file.stat().st_size for file in files}
    if len(files) < 2 or sum(sizes.values()) < MUCH_BYTES:
        return
    from concurrent.futures import ThreadPoolExecutor  # with the next it takes as long as a table

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("reading recordings, once"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    largest_first = sorted(files, key=lambda file: -sizes[file])
    with ExitStack() as running:
        workers: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        number = min(os.cpu_count() or 1, len(files))
        for _ in range(number):
            workers.put(running.enter_context(start_worker()))
        threads = running.enter_context(ThreadPoolExecutor(number))
        found = threads.map(lambda file: find_fault(file, as_parquet, workers), largest_first)
        progress = running.enter_context(
            Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        )
        faults = dict(zip(largest_first, progress.track(found, total=len(files)), strict=True))
    if sentence := next((faults[file] for file in files if faults[file]), None):
        raise BadRecording(sentence)


def start_worker() -> subprocess.Popen[str]:
    """Start a process that derives entries: not a fork, since DuckDB has threads and locks of its own."""
    variables = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "PYTHONSAFEPATH": "1"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", __name__, derive.FOLDER], env=variables, text=True, **pipes)


def find_fault(file: Path, as_parquet: bool, workers: "SimpleQueue[subprocess.Popen[str]]") -> str:
    """Let a worker derive the entry of a file; return its sentence where the file is bad, else nothing.

    A worker that was killed derives nothing: whoever asks for the file does."""
    worker = workers.get()
    try:
        assert worker.stdin and worker.stdout
        print(json.dumps([str(file), as_parquet]), file=worker.stdin, flush=True)
        answer = worker.stdout.readline()
        return str(json.loads(answer)) if answer else ""
    except OSError:
        return ""
    finally:
        workers.put(worker)


def work() -> None:
    """Derive the entry of each file that a line of stdin names, and answer each with a line on stdout, all in JSON."""
    derive.FOLDER = Path(sys.argv[1])
    for line in sys.stdin:
        fault = ""
        try:
            file, as_parquet = json.loads(line)
            find_entry(Path(file), as_parquet)
        except BadRecording as error:
            fault = str(error)
        except UserError:  # no room: whoever asks for the file is told
            pass
        print(json.dumps(fault), flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        work()
