"""Runs of configurations: which there are, which are recorded, and the tables of all."""

import argparse
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base import repository, stdout
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.paths import shorten
from tlsmem.cli import server_campaign
from tlsmem.cli.campaign_plan import recording as recording_directory
from tlsmem.config import choices
from tlsmem.live import own_configuration
from tlsmem.live.configuration_run import ConfigurationProvenance, ConfigurationRun, Findings, measure_configuration
from tlsmem.live.servers import Server, ServerError, choose_stack, find_program
from tlsmem.live.settings import Varied, vary
from tlsmem.run.harness import utc_now
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
    to_go = server_campaign.select_to_go(asked, load_configuration(recording), given.fresh)
    if given.list:
        server_campaign.print_list(asked, to_go, recording)
        return 0
    print(f"memtest: {server_campaign.describe(asked, to_go, recording)}", file=sys.stderr)
    server_campaign.prepare(recording, FOLDER)
    failures = server_campaign.measure_all(to_go, measure_one, lambda record: append_configuration(recording, record))
    show_runs(recording, load_runs(recording, {one.key for one in asked}), given.format)
    return 1 if failures else 0


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
