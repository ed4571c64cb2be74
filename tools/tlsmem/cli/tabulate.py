"""Tables of a recording. Of memory: peak RSS side by side, cost per session and role, C10K figures, mixed pairs, the
laboratory beside what is deployed, from requested to resident, accounts of RSS, law of memory, what was held equal. Of
time: rates side by side, latencies, threads, instructions, noise.

Results go to stdout: drawn on a terminal, Markdown in a pipe, or as --format says. JSON is
{"tables": [{"name", "title", "caption", "rows": [{COLUMN: VALUE}], "notes"}]}; a hole is {"hole": WHY}, and a value of
several parts an object: {"bytes", "bytes_remainder", "blocks", "blocks_remainder", "over_sessions"}."""

import argparse
from functools import partial
from pathlib import Path

from tlsmem.base import venv
from tlsmem.cli import table_arguments
from tlsmem.schema.roles import ITSELF, PROCESSES
from tlsmem.tables.table_names import TABLES

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


def parser() -> argparse.ArgumentParser:
    made = table_arguments.parser(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    made.add_argument("--table", choices=TABLES, action="append", help="only this one; may be repeated")
    table_arguments.add_format(made)
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


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.tables import table_command, tabulate

    table_command.run_and_exit("tabulate", given, partial(tabulate.run, parser=asked))
