"""Runs of configurations: which there are, which are recorded, and the tables of all."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base import repository, stdout
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.paths import shorten
from tlsmem.cli.campaign_plan import recording as recording_directory
from tlsmem.cli.live_campaign import stop_by_signals
from tlsmem.config import choices
from tlsmem.live import cgroup, own_configuration
from tlsmem.live.configuration_run import ConfigurationProvenance, ConfigurationRun, Findings, measure_configuration
from tlsmem.live.running_server import FOLDER_PREFIX
from tlsmem.live.servers import Server, ServerError, choose_stack, find_program
from tlsmem.live.settings import Varied, vary
from tlsmem.run import heap_page, progress, stale_files
from tlsmem.run.harness import utc_now
from tlsmem.schema import append_records
from tlsmem.schema.configuration_records import (
    FOLDER,
    ConfigurationRecord,
    append_configuration,
    load_configuration,
)
from tlsmem.schema.recording_files import require_recording


class Asked(NamedTuple):
    """A run that is asked for, what it shares with others of the server, and what identifies it in a recording, which
    takes hundreds of files to tell."""

    run: ConfigurationRun
    provenance: ConfigurationProvenance
    key: str


def list_runs(varied: Sequence[Varied]) -> list[ConfigurationRun]:
    """Return the runs of a server: each configuration without a meter and under the heap meter, and the smallest and
    largest of a setting under heaptrack."""
    found = []
    for one in varied:
        sizes = [other.size for other in varied if (other.setting.name, other.kind) == (one.setting.name, one.kind)]
        found += [ConfigurationRun(one, "rss"), ConfigurationRun(one, "heap")]
        if one.size in (min(sizes), max(sizes)):
            found.append(ConfigurationRun(one, "sites"))
    return found


def find_servers(given: argparse.Namespace) -> list[Server]:
    """Return the servers that are asked for, each on each stack. Raises UserError where one cannot be had."""
    packaged = [own_configuration.find_server(name) for name in given.server]
    return [
        server if stack == choices.PACKAGED else choose_stack(server, stack)
        for server in packaged
        for stack in given.stack or [choices.PACKAGED]
    ]


def run(given: argparse.Namespace) -> int:
    """Return the exit status."""
    recording = recording_directory(given)
    repository.check_recording(recording, named=bool(given.out))
    varied = [(server, vary(server, given.what, given.sizes)) for server in find_servers(given)]
    asked = [
        Asked(run, provenance, str(provenance.declared(run)["key"]))
        for server, several in varied
        for provenance in [ConfigurationProvenance(find_program(server))]
        for run in list_runs(several)
    ]
    known = {one.key for one in load_configuration(recording) if one.status == "measured"}
    to_go = [one for one in asked if given.fresh or one.key not in known]
    summary = (
        f"{len(asked)} runs, {len(asked) - len(to_go)} already recorded in {shorten(recording)}, {len(to_go)} to go"
    )
    if given.list:
        with stdout.raise_write_errors():
            for one in asked:
                print(f"{'to go' if one in to_go else 'measured':<9} {one.run}")
            print(summary)
        return 0
    print(f"memtest: {summary}", file=sys.stderr)
    append_records.prepare(recording)
    append_records.refuse_sealed(recording / FOLDER)
    heap_page.remove_stale_pages()
    cgroup.remove_stale_groups()
    stale_files.remove_stale(Path(tempfile.gettempdir()), FOLDER_PREFIX)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that has ended is a failed run, not this command's end
    stop_by_signals(shorten(recording))
    failures = measure_all(to_go, recording)
    show_runs(recording, load_runs(recording, {one.key for one in asked}), given.format)
    return 1 if failures else 0


def measure_all(asked: list[Asked], recording: Path) -> int:
    """Make the runs and record each; return how many failed."""
    failures, begin = 0, time.monotonic()
    for number, one in enumerate(asked, start=1):
        record = measure_one(one)
        append_configuration(recording, record)
        failures += record.status == "failed"
        spent = progress.describe_time(time.monotonic() - begin, number, number, len(asked))
        took = f"{record.elapsed_ns / 1e9:.0f} s" if not record.reason else f"failed: {record.reason}"
        print(f"{number:>4}/{len(asked)} {one.run}: {took} ({spent})", file=sys.stderr, flush=True)
    return failures


def measure_one(asked: Asked) -> ConfigurationRecord:
    """Return the record of a run, failed or not."""
    findings, reason = Findings(), None
    started_at, begin = utc_now(), time.monotonic_ns()
    try:
        measure_configuration(asked.run, asked.provenance.program, findings)
    except ServerError as error:
        reason = str(error)
    return asked.provenance.record(asked.run, findings, started_at, time.monotonic_ns() - begin, reason)


def show(recording: Path, form: str | None) -> None:
    """Print the tables of a recording. Raises UserError where it has no such runs."""
    with raise_user_errors(recording):
        recording = require_recording(recording)
    records = load_runs(recording)
    if not records:
        raise UserError(
            f"{shorten(recording)}: no runs of configurations here; `tools/tls-memtest measure configuration "
            f"--server nginx` makes some"
        )
    show_runs(recording, records, form)


def load_runs(recording: Path, keys: Collection[str] | None = None) -> list[ConfigurationRecord]:
    """Return the runs of a recording, or those with these keys. Raises UserError where they cannot be read."""
    with raise_user_errors(recording):
        return [one for one in load_configuration(recording) if keys is None or one.key in keys]


def show_runs(recording: Path, records: Sequence[ConfigurationRecord], form: str | None = None) -> None:
    """Print the tables of these runs of a recording."""
    from tlsmem.tables import render
    from tlsmem.topics.configuration.table import build

    with stdout.raise_write_errors():
        render.print_all([table for table in build(records) if table.rows or table.without], form)
        if form in (None, choices.TABLE, choices.MARKDOWN):
            print(f"\nrecording: {shorten(recording)}")
