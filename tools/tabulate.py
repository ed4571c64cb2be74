#!/usr/bin/env python3
"""Tables of a recording: peak RSS side by side, cost per session and role, C10K figures, mixed pairs, the laboratory
beside what is deployed, from requested to resident, accounts of RSS, law of memory, what was held equal.

Results go to stdout: drawn on a terminal, Markdown in a pipe, or as --format says. JSON is
{"tables": [{"name", "title", "caption", "rows": [{COLUMN: VALUE}], "notes"}]}; a hole is {"hole": WHY}, and a value of
several parts an object: {"bytes", "bytes_remainder", "blocks", "blocks_remainder", "over_sessions"}."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import rich.console

import embedding
import records
import stdout
import tables
from accounts import accounts
from bends import bending, bent
from closing import closings
from environments import deployed
from interop import interop
from lines import Process
from results import c10k, laws, peaks, together
from selection import ITSELF, Selection, of_campaign, select
from session_costs import heap_costs, role_costs, rss_costs
from settings import settings
from waterfall import waterfall

TABLES = (
    "settings",
    "peaks",
    "heap",
    "rss",
    "roles",
    "c10k",
    "interop",
    "deployed",
    "waterfall",
    "accounts",
    "bends",
    "closings",
    "law",
)
BOOKS = "the books of the allocators, which records of schema 1 lack (make mem FRESH=1)"
NEEDS = {  # what a recording lacks whose table has no rows
    "waterfall": BOOKS,
    "accounts": BOOKS,
    "bends": "a line that bends, and none does",
    "closings": "sites runs (make mem)",
    "roles": "clients and servers in processes of their own (make mem ROLES=split)",
    "interop": "mixed pairs (make mem CLIENT=STACK SERVER=STACK)",
    "deployed": "runs in more environments than one (make mem ENV=both)",
}
ONE_STACK = "runs with the same stack at both ends"  # what all others need
PROCESSES = get_args(Process)
EXAMPLES = """examples:
  tools/tabulate.py data/2026-01-31-some-cpu
  tools/tabulate.py data/2026-01-31-some-cpu --table peaks --n 10000 --format csv
  tools/tabulate.py data/2026-01-31-some-cpu --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5
  tools/tabulate.py data/2026-01-31-some-cpu --table c10k --into README.md
  tools/tabulate.py data/2026-01-31-some-cpu --roles split --process server     what a server's process holds
  tools/tabulate.py data/2026-01-31-some-cpu --table interop --peer rustls+aws-lc@0.23.46
  tools/tabulate.py data/2026-01-31-some-cpu --table deployed --format json

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def build(
    selection: Selection, names: Sequence[str] | None = None, sessions: Sequence[int] | None = None
) -> list[tables.Table]:
    """The tables of these names; without names all that have rows, the law only where windows differ.

    ValueError when one that was asked for has no rows."""
    makers = {"settings": settings, "heap": heap_costs, "rss": rss_costs, "roles": role_costs, "c10k": c10k}
    makers |= {"interop": interop, "deployed": deployed, "law": laws}
    makers |= {"waterfall": waterfall, "accounts": accounts, "bends": bent, "closings": closings}
    makers["peaks"] = lambda chosen: peaks(chosen, sessions)
    made = [makers[name](selection) for name in TABLES if name in (names or unasked(selection))]
    for table in made:
        if names and not table.rows:
            raise ValueError(f"no table {table.name} of these runs: it needs {NEEDS.get(table.name, ONE_STACK)}")
    return [table for table in made if table.rows]


def unasked(selection: Selection) -> list[str]:
    where_they_tell = {"law": selection.where(together).varies("window"), "bends": bending(selection)}
    where_they_tell["closings"] = False  # a row a phase: for who asks
    return [name for name in TABLES if where_they_tell.get(name, True)]


def remarks(recording: Path, selection: Selection) -> list[str]:
    """What a reader of the tables must know first."""
    return [f"{recording}: {said}" for said in (*selection.left_out, *too_little(selection))]


def too_little(selection: Selection) -> list[str]:
    measured = [record for record in selection.records if record.status == "measured"]
    if not measured:
        return ["no run was measured; the tables show why"]
    counts = {record.sessions for record in measured if record.meter == "rss"}
    if len(counts) == 1:
        only = f"only N = {counts.pop():,} was measured and a slope needs two"
        return [f"{only}; peaks are shown, slopes are dashes"]
    return []


def print_all(selection: Selection) -> None:
    """All its tables on stdout."""
    tables.show(build(selection), default_format(), rich.console.Console())


def default_format() -> str:
    return tables.TABLE if sys.stdout.isatty() else tables.MARKDOWN


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    made.add_argument("--table", choices=TABLES, action="append", help="only this one; may be repeated")
    made.add_argument("--format", choices=tables.FORMATS, help="default: table on a terminal, else markdown")
    made.add_argument("--n", type=int, action="append", metavar="N", help="rows of the table of peaks; may be repeated")
    made.add_argument("--stack", action="append", help="may be repeated; the first is what others are compared with")
    made.add_argument("--suite", action="append", help="may be repeated")
    made.add_argument("--allocator", action="append", help="may be repeated")
    made.add_argument("--window", action="append", help="pairs in the handshake at once, or all; may be repeated")
    made.add_argument("--roles", action="append", help="together, split, keep-client or keep-server; may be repeated")
    made.add_argument("--peer", action="append", help=f"of mixed pairs, the client's stack; {ITSELF}: no mixed pairs")
    made.add_argument("--env", action="append", help="lab, deployed or deployed-thp; may be repeated")
    made.add_argument(
        "--process",
        choices=PROCESSES,
        help="only rows of this process (a role of split runs, or both), in tables that tell them apart",
    )
    made.add_argument("--campaign", metavar="NAME", help="only runs of this table of memtest/campaigns.toml")
    made.add_argument(
        "--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command stands"
    )
    return made


def of_process(made: Sequence[tables.Table], process: str) -> list[tables.Table]:
    """The rows of this process, of the tables that tell processes apart. ValueError when there is none."""
    told = [table for table in made if any(column.key == "process" for column in table.columns)]
    found = [table for table in (tables.only(one, "process", process) for one in told) if table.rows]
    if not found:
        raise ValueError(f"none of these tables has a row of the process {process}")
    return found


def check_n(wanted: Sequence[int] | None, selection: Selection) -> None:
    for sessions in set(wanted or ()) - set(selection.sessions()):
        there = ", ".join(f"{one}" for one in selection.sessions())
        raise ValueError(f"no RSS runs of N = {sessions}; there are: {there}")


def run(arguments: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    if not arguments.recording.exists():
        raise ValueError("there is no such recording; recordings are directories under data/")
    loaded = records.load(arguments.recording)
    if not loaded:
        raise ValueError("the recording is empty")
    if arguments.campaign:
        loaded = of_campaign(loaded, arguments.campaign)
    kinds = {"roles": arguments.roles, "peers": arguments.peer, "envs": arguments.env}
    selection = select(loaded, arguments.stack, arguments.suite, arguments.allocator, arguments.window, **kinds)
    if not selection.records:
        raise ValueError("no run has all of what was asked for")
    check_n(arguments.n, selection)
    for remark in remarks(arguments.recording, selection):
        print(f"tabulate: {remark}", file=sys.stderr)
    made = build(selection, arguments.table, arguments.n)
    made = of_process(made, arguments.process) if arguments.process else made
    if arguments.into:
        embedding.replace(arguments.into, arguments, parser(), tables.text_of(made, tables.MARKDOWN))
    else:
        with stdout.checked():
            tables.show(made, arguments.format or default_format(), rich.console.Console())
    measured = any(record.status == "measured" for record in selection.records)
    return 0 if measured and not records.skipped else 1


def main() -> None:
    arguments = parser().parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        sys.exit(run(arguments))
    except ValueError as error:
        sys.exit(f"tabulate: {arguments.recording}: {error}")
    except OSError as error:
        sys.exit(f"tabulate: {error.filename or arguments.into}: {error.strerror}")


if __name__ == "__main__":
    main()
