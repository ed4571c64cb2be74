"""Print the tables of a recording. Memory: peak RSS side by side, cost per session and role, C10K figures, mixed pairs,
environments, from requested to resident, what RSS is made of, the memory model, settings. Time: rates side by side,
latencies, threads, instructions, noise.

Tables go to stdout: drawn on a terminal, Markdown in a pipe, unless --format says otherwise. JSON is
{"tables": [{"name", "title", "caption", "rows": [{COLUMN: VALUE}], "notes"}]}; a missing value is {`hole`: WHY}, and a
value of several parts an object: {"bytes", "bytes_remainder", "blocks", "blocks_remainder", "over_sessions"}."""

from functools import partial

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/tabulate.py data/local/2026-01-31-some-cpu
  tools/tabulate.py data/local/2026-01-31-some-cpu --table peaks --n 10000 --format csv
  tools/tabulate.py data/local/2026-01-31-some-cpu --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5
  tools/tabulate.py data/local/2026-01-31-some-cpu --table c10k --into README.md
  tools/tabulate.py data/local/2026-01-31-some-cpu --table stacks --rows 10        the first ten rows
  tools/tabulate.py data/local/2026-01-31-some-cpu --roles split --process server  what a server's process holds
  tools/tabulate.py data/local/2026-01-31-some-cpu --table interop --peer rustls+aws-lc@0.23.46
  tools/tabulate.py data/local/2026-01-31-some-cpu --table deployed --format json
  tools/tabulate.py data/local/2026-01-31-some-cpu --campaign handshake --table factor --table latency  of time

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""


def parser() -> CommandParser:
    return make_parser("tabulate", __doc__, EXAMPLES)


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.tables import table_command, tabulate

    return table_command.run_command(given, partial(tabulate.run, parser=asked))
