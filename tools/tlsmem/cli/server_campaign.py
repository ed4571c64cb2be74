"""Campaigns of real servers, whatever is measured of them: which runs are to go, and how they are made one by one."""

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, Protocol, TypeVar

from tlsmem.base import stdout
from tlsmem.base.paths import shorten
from tlsmem.base.termination import Terminated
from tlsmem.live import cgroup
from tlsmem.live.running_server import FOLDER_PREFIX
from tlsmem.run import heap_page, progress, stale_files
from tlsmem.schema import append_records


class Asked(Protocol):
    """A run that is asked for. Its text is what people read; `key` identifies it in a recording."""

    @property
    def run(self) -> object: ...

    @property
    def key(self) -> str: ...


class Recorded(Protocol):
    """The record of a run."""

    @property
    def key(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def elapsed_ns(self) -> int: ...


One = TypeVar("One", bound=Asked)
Record = TypeVar("Record", bound=Recorded)


def select_to_go(asked: Sequence[One], records: Iterable[Recorded], fresh: bool) -> list[One]:
    """Return the runs that are not measured yet, or all where they are asked for afresh."""
    known = {one.key for one in records if one.status == "measured"}
    return [one for one in asked if fresh or one.key not in known]


def describe(asked: Sequence[Asked], to_go: Sequence[Asked], recording: Path) -> str:
    """Return how many runs there are, how many of them are recorded, and how many are to go."""
    known = len(asked) - len(to_go)
    return f"{len(asked)} runs, {known} already recorded in {shorten(recording)}, {len(to_go)} to go"


def print_list(asked: Sequence[Asked], to_go: Sequence[Asked], recording: Path) -> None:
    """Print each run, and whether it is recorded. Raises UserError where nobody reads."""
    waiting = {one.key for one in to_go}
    with stdout.raise_write_errors():
        for one in asked:
            print(f"{'to go' if one.key in waiting else 'measured':<9} {one.run}")
        print(describe(asked, to_go, recording))


def prepare(recording: Path, folder: str) -> None:
    """Get ready to make runs whose records go into this folder of a recording: what earlier runs left behind is
    removed. Raises UserError where the recording takes no runs."""
    append_records.prepare(recording)
    append_records.refuse_sealed(recording / folder)
    heap_page.remove_stale_pages()
    cgroup.remove_stale_groups()
    stale_files.remove_stale(Path(tempfile.gettempdir()), FOLDER_PREFIX)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that has ended is a failed run, not this command's end
    stop_by_signals(shorten(recording))


def stop_by_signals(name: str) -> None:
    """Let SIGTERM and Ctrl-C end this command by an exception, so that no server outlives it."""

    def stop(number: int, _frame: object) -> NoReturn:
        print(
            f"memtest: stopped; finished runs are kept in {name}, and the same command goes on from there",
            file=sys.stderr,
        )
        raise Terminated(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def measure_all(
    asked: Sequence[One],
    measure: Callable[[One], Record],
    append: Callable[[Record], None],
    weigh: Callable[[One], int] = lambda _: 1,
) -> int:
    """Make the runs and record each; return how many failed. `weigh`: how long a run takes, beside the others."""
    failures, begin = 0, time.monotonic()
    done, weight = 0, sum(map(weigh, asked))
    for number, one in enumerate(asked, start=1):
        record = measure(one)
        append(record)
        failures += record.status == "failed"
        done += weigh(one)
        spent = progress.describe_time(time.monotonic() - begin, number, done, weight)
        took = f"{record.elapsed_ns / 1e9:.0f} s" if not record.reason else f"failed: {record.reason}"
        print(f"{number:>4}/{len(asked)} {one.run}: {took} ({spent})", file=sys.stderr, flush=True)
    return failures
