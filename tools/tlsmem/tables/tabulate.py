"""The tables of a recording that were asked for, and what a reader of them must know first."""

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base.errors import Usage
from tlsmem.config.suite_variants import expand_words
from tlsmem.schema import recording_files
from tlsmem.stats.selection import Selection, select_campaign
from tlsmem.store.recordings import load_recording
from tlsmem.tables import recording_contents, table_command
from tlsmem.tables import table as tables
from tlsmem.tables.recording_contents import RecordingContents

ADVISORIES, REGISTER = "advisories", "docs/reference/advisories.md"


def remarks(recording: Path, found: RecordingContents) -> list[str]:
    """What a reader of the tables must know first."""
    return [f"{recording}: {said}" for said in (*found.left_out, *too_little(found))]


def too_little(found: RecordingContents) -> list[str]:
    """Return sentences about runs that are too few for some figures."""
    measured = [record for record in found.records if record.status == "measured"]
    if not measured:
        return ["no run was measured; the tables show why"]
    counts = {record.sessions for record in measured if record.meter == "rss"}
    if len(counts) == 1:
        only = f"only N = {counts.pop():,} was measured and a slope needs two"
        return [f"{only}; peaks are shown, slopes are dashes"]
    return []


def select_process_rows(made: Sequence[tables.Table], process: str) -> list[tables.Table]:
    """The rows of this process, of the tables that tell processes apart. Raises ValueError when there is none."""
    told = [table for table in made if any(column.key == "process" for column in table.columns)]
    found = [table for table in (tables.select_rows(one, "process", process) for one in told) if table.rows]
    if not found:
        raise ValueError(f"no table has a row of the process {process}; leave --process out")
    return found


def check_n(wanted: Sequence[int] | None, selection: Selection | None) -> None:
    """Raise ValueError where there are no RSS runs of one of these N."""
    counts = selection.sessions() if selection else []
    for sessions in set(wanted or ()) - set(counts):
        there = ", ".join(f"{one}" for one in counts) or "none"
        raise ValueError(f"no RSS runs with N = {sessions}; the recording has N = {there}")


def command_for_all_rows(argv: Sequence[str]) -> str:
    """Return the command of these words, without --rows and without where its answer goes."""
    line = re.sub(r" (?:--rows|--into|--output|-o)(?: |=)(?:'[^']*'|\S+)", "", f" {shlex.join(argv)}")
    return f"tools/tls-memtest{line}"


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Raises ValueError or OSError with a sentence."""
    loaded = load_recording(arguments.recording)
    if not loaded:
        raise Usage("the recording is empty")
    if arguments.campaign:
        loaded = select_campaign(loaded, arguments.campaign)
    suites = expand_words(arguments.suite, (one.suite for one in loaded))
    asked = {"stacks": arguments.stack, "suites": suites, "allocators": arguments.allocator}
    asked |= {"windows": arguments.window, "roles": arguments.roles, "peers": arguments.peer}
    try:
        found = recording_contents.select(loaded, asked | {"envs": arguments.env, "cpus": arguments.cpu})
    except Usage as error:
        if ADVISORIES not in (arguments.table or ()):
            raise
        end = "" if str(error).endswith("?") else "."
        raise Usage(f"{error}{end} {REGISTER} lists the affected releases of each advisory") from None
    if not found.records:
        raise ValueError("no run matches all of these options; leave one out")
    check_n(arguments.n, found.memory)
    for remark in remarks(arguments.recording, found):
        print(f"memtest: {remark}", file=sys.stderr)
    made = found.tables(arguments.table, arguments.n)
    if arguments.process:
        made = select_process_rows(made, arguments.process)
    if arguments.rows:
        made = [tables.first_rows(one, arguments.rows, command_for_all_rows(sys.argv[1:])) for one in made]
    table_command.deliver(made, arguments, parser)
    measured = any(record.status == "measured" for record in found.records)
    return 0 if measured and not recording_files.skipped_lines else 1
