"""Spreads runs over executors, whatever they are (concurrent.futures.Executor), and records each as it arrives.

Executors may make a run twice, or give one up, or answer with anything at all. Each run is recorded once, and only from
the record that was asked for; what was given up, refused or answered otherwise is said."""

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.printable import printable_text
from tlsmem.config.run import Run
from tlsmem.run import progress, remote_run
from tlsmem.run.provenance import Provenance, read_manifest
from tlsmem.run.remote_run import RefusedRun
from tlsmem.schema import append_records, read_records
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.recording_files import RESTORE
from tlsmem.schema.records import RecordLine, record_cell_key

ExecutorOf = Callable[[Mapping[str, str]], Executor]  # by the builds that a run needs


class SpreadResult(NamedTuple):
    """What came of the runs: recorded as failed, and not made at all."""

    failed: int
    missing: int


def builds_of(run: Run) -> dict[str, str]:
    """Return the SHA-256 of the run's binaries in this clone."""
    return {stack: read_manifest(stack).binary_sha256 for stack in run.stacks}


def record_all(
    runs: list[Run], executor_of: ExecutorOf, provenance: Provenance, recording: Path, limit_s: float | None
) -> SpreadResult:
    """Make all runs and record each one once."""
    began, recorded, failed, missing = time.monotonic(), set[str](), 0, 0
    futures = {}
    for run in runs:
        builds, cell = builds_of(run), provenance.cell_key(run)
        futures[executor_of(builds).submit(remote_run.measure, run, builds, cell, limit_s)] = run, cell
    for number, future in enumerate(as_completed(futures), start=1):
        run, cell = futures.pop(future)
        spent = progress.describe_time(time.monotonic() - began, number, number, len(runs))
        try:
            record = read_answer(future, cell)
        except RefusedRun as refusal:
            missing += 1
            say(f"{number:>4}/{len(runs)} {run}: not made: {refusal} ({spent})")
            continue
        failed += store(recording, record, recorded)
        say(f"{number:>4}/{len(runs)} {run}: {describe_record(record)} ({spent})")
    return SpreadResult(failed, missing)


def read_answer(future: "Future[bytes]", cell: str) -> RecordLine:
    """Return the record that a machine answered with.

    Raises RefusedRun where it made none, or what came is not the record of the run with this key."""
    if future.cancelled():
        raise RefusedRun("the cluster dropped it")
    if error := future.exception():
        raise RefusedRun(describe_error(error))
    answer: object = future.result()
    if not isinstance(answer, bytes):
        raise RefusedRun(f"the machine answered with {type(answer).__name__}, not with a record")
    try:
        record = read_records.parse(answer.removesuffix(b"\n"), "the machine's answer")
    except BadRecording as error:
        raise RefusedRun(str(error).removesuffix(f"; {RESTORE}")) from None
    if record_cell_key(record) != cell:
        raise RefusedRun(f"the machine answered with another run: {record.describe()}, repeat {record.repeat}")
    return record


def store(recording: Path, record: RecordLine, recorded: set[str]) -> bool:
    """Record a run unless it is in `recorded`, which takes it; return whether it failed."""
    cell = record_cell_key(record)
    if cell in recorded:
        return False
    append_records.append(recording, record)
    recorded.add(cell)
    return record.status == "failed"


def describe_record(record: RecordLine) -> str:
    """Return what came of a run, in words."""
    took = f"{record.elapsed_ns / 1e9:.1f} s"
    return took if record.status == "measured" else f"{record.status}: {record.reason}"


def describe_error(error: BaseException) -> str:
    """Return why a run was not made: a refusal's own sentence, or that its workers died."""
    if isinstance(error, RefusedRun):
        return printable_text(str(error))
    if type(error).__name__ == "KilledWorker":
        return "each worker that began it died"
    return printable_text(f"{type(error).__name__}: {error}")


def say(line: str) -> None:
    """Tell who waits."""
    print(line, file=sys.stderr, flush=True)
