"""Tables of a recording. Of memory: peak RSS side by side, cost per session and role, C10K figures, mixed pairs, the
laboratory beside what is deployed, from requested to resident, accounts of RSS, law of memory, what was held equal. Of
time: rates side by side, latencies, threads, instructions, noise.

Results go to stdout: drawn on a terminal, Markdown in a pipe, or as --format says. JSON is
{"tables": [{"name", "title", "caption", "rows": [{COLUMN: VALUE}], "notes"}]}; a hole is {"hole": WHY}, and a value of
several parts an object: {"bytes", "bytes_remainder", "blocks", "blocks_remainder", "over_sessions"}."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tlsmem.schema import records
from tlsmem.schema.harness_output import Process
from tlsmem.stats.selection import ITSELF, Selection, of_campaign
from tlsmem.tables import contents, render, table_command
from tlsmem.tables import table as tables
from tlsmem.tables.contents import Contents

PROCESSES = get_args(Process)
EXAMPLES = """examples:
  tools/tabulate.py data/local/2026-01-31-some-cpu
  tools/tabulate.py data/local/2026-01-31-some-cpu --table peaks --n 10000 --format csv
  tools/tabulate.py data/local/2026-01-31-some-cpu --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5
  tools/tabulate.py data/local/2026-01-31-some-cpu --table c10k --into README.md
  tools/tabulate.py data/local/2026-01-31-some-cpu --roles split --process server  what a server's process holds
  tools/tabulate.py data/local/2026-01-31-some-cpu --table interop --peer rustls+aws-lc@0.23.46
  tools/tabulate.py data/local/2026-01-31-some-cpu --table deployed --format json
  tools/tabulate.py data/local/2026-01-31-some-cpu --campaign handshake --table factor --table latency  of time

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def remarks(recording: Path, found: Contents) -> list[str]:
    """What a reader of the tables must know first."""
    return [f"{recording}: {said}" for said in (*found.left_out, *too_little(found))]


def too_little(found: Contents) -> list[str]:
    measured = [record for record in found.records if record.status == "measured"]
    if not measured:
        return ["no run was measured; the tables show why"]
    counts = {record.sessions for record in measured if record.meter == "rss"}
    if len(counts) == 1:
        only = f"only N = {counts.pop():,} was measured and a slope needs two"
        return [f"{only}; peaks are shown, slopes are dashes"]
    return []


def parser() -> argparse.ArgumentParser:
    made = table_command.parser(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    made.add_argument("--table", choices=contents.TABLES, action="append", help="only this one; may be repeated")
    made.add_argument("--format", choices=render.FORMATS, help="default: table on a terminal, else markdown")
    made.add_argument("--n", type=int, action="append", metavar="N", help="rows of the table of peaks; may be repeated")
    made.add_argument("--stack", action="append", help="may be repeated; the first is what others are compared with")
    made.add_argument("--suite", action="append", help="may be repeated")
    made.add_argument("--allocator", action="append", help="may be repeated")
    made.add_argument("--window", action="append", help="pairs in the handshake at once, or all; may be repeated")
    made.add_argument("--roles", action="append", help="together, split, keep-client or keep-server; may be repeated")
    made.add_argument("--peer", action="append", help=f"of mixed pairs, the client's stack; {ITSELF}: no mixed pairs")
    made.add_argument("--cpu", action="append", help="all, no-avx512, no-aes or baseline; may be repeated")
    made.add_argument("--env", action="append", help="lab, deployed or deployed-thp; may be repeated")
    made.add_argument(
        "--process",
        choices=PROCESSES,
        help="only rows of this process (a role of split runs, or both), in tables that tell them apart",
    )
    made.add_argument("--campaign", metavar="NAME", help="only runs of this table of memtest/campaigns.toml")
    return made


def of_process(made: Sequence[tables.Table], process: str) -> list[tables.Table]:
    """The rows of this process, of the tables that tell processes apart. ValueError when there is none."""
    told = [table for table in made if any(column.key == "process" for column in table.columns)]
    found = [table for table in (tables.only(one, "process", process) for one in told) if table.rows]
    if not found:
        raise ValueError(f"none of these tables has a row of the process {process}")
    return found


def check_n(wanted: Sequence[int] | None, selection: Selection | None) -> None:
    counts = selection.sessions() if selection else []
    for sessions in set(wanted or ()) - set(counts):
        there = ", ".join(f"{one}" for one in counts) or "none"
        raise ValueError(f"no RSS runs of N = {sessions}; there are: {there}")


def run(arguments: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    loaded = table_command.loaded(arguments.recording, "recordings are directories under data/")
    if not loaded:
        raise ValueError("the recording is empty")
    if arguments.campaign:
        loaded = of_campaign(loaded, arguments.campaign)
    asked = {"stacks": arguments.stack, "suites": arguments.suite, "allocators": arguments.allocator}
    asked |= {"windows": arguments.window, "roles": arguments.roles, "peers": arguments.peer}
    found = contents.select(loaded, asked | {"envs": arguments.env, "cpus": arguments.cpu})
    if not found.records:
        raise ValueError("no run has all of what was asked for")
    check_n(arguments.n, found.memory)
    for remark in remarks(arguments.recording, found):
        print(f"tabulate: {remark}", file=sys.stderr)
    made = found.tables(arguments.table, arguments.n)
    table_command.deliver(of_process(made, arguments.process) if arguments.process else made, arguments, parser())
    measured = any(record.status == "measured" for record in found.records)
    return 0 if measured and not records.skipped else 1


def main() -> None:
    table_command.end("tabulate", parser().parse_args(), run)
