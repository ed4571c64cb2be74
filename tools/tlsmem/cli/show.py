"""tls-memtest show: recordings as tables, pictures and a report."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from tlsmem.cli.command import IN_WORDS, Command, CommandParser, Takes, each
from tlsmem.cli.options import REQUIRED, Words
from tlsmem.cli.output import FORMATS
from tlsmem.config import choices

INTO = "--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."
ON_TERMINAL = Words("table on a terminal, else markdown")
ALL_RELEASES = Words("all")
RELEASE_SUITES = Words(" ".join(choices.RELEASE_SUITES))
OF_RECORDING = each("recording", "output", "only campaign", "only stack", "only roles") | {"output": REQUIRED}


def show_tables(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.tables import table_command, tabulate

    return table_command.run_command(given, partial(tabulate.run, parser=asked))


def show_report(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.report import build_report

    given.format = given.format or (FORMATS.get(given.output.suffix) if given.output else None) or choices.HTML
    given.recording += given.recordings or []
    return build_report.write_report(given)


def draw(given: argparse.Namespace, asked: CommandParser, maker: str) -> int | None:
    """Draw by a function of the package: `module:function`, which returns the files that it wrote."""
    from tlsmem.plots import plot_command

    module, _, name = maker.partition(":")
    make: Callable[[argparse.Namespace], Sequence[Path]] = getattr(import_module(module), name)
    return plot_command.draw_pictures(given, make)


def picture(name: str, summary: str, takes: Takes, maker: str, about: str, *examples: str) -> Command:
    lines = "\n".join(f"  tools/tls-memtest show {name} {line}" for line in examples)
    return Command(f"show {name}", summary, takes, partial(draw, maker=maker), about, lines)


COMMANDS = (
    Command(
        "show tables",
        "the tables of a recording",
        {"recording": None, "into": None}
        | each("only campaign", "only stack", "only suite", "only allocator", "only window", "only roles", "only env")
        | each("only cpu", "table", "n peaks", "rows", "only peer", "only process", "output text", *IN_WORDS)
        | {"format": ON_TERMINAL},
        show_tables,
        f"""\
Print the tables of a recording. Memory: peak RSS side by side, cost per session and role, C10K figures, mixed pairs,
environments, from requested to resident, what RSS is made of, the memory model, settings. Time: rates side by side,
latencies, threads, instructions, noise.

Tables go to stdout: drawn on a terminal, Markdown in a pipe, unless --format says otherwise. JSON is
{{"tables": [{{"name", "title", "caption", "rows": [{{COLUMN: VALUE}}], "notes"}}]}}; a missing value is {{`hole`:
WHY}}, and a value of several parts an object: {{"bytes", "bytes_remainder", "blocks", "blocks_remainder",
"over_sessions"}}.
{INTO}""",
        """\
  tools/tls-memtest show tables data/2026-11-22-amd-epyc
  tools/tls-memtest show tables data/2026-11-22-amd-epyc --table peaks --n 10000 --format csv
  tools/tls-memtest show tables data/2026-11-22-amd-epyc --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5
  tools/tls-memtest show tables data/2026-11-22-amd-epyc --table c10k --into README.md
  tools/tls-memtest show tables data/2026-11-22-amd-epyc --table stacks --rows 10        the first ten rows
  tools/tls-memtest show tables RECORDING --roles split --process server      a server's process
  tools/tls-memtest show tables RECORDING --table interop --peer rustls+aws-lc@0.23.46
  tools/tls-memtest show tables RECORDING --table deployed --format json
  tools/tls-memtest show tables data/2026-11-22-amd-epyc-2 --campaign handshake --table factor     of time""",
    ),
    Command(
        "show report",
        "one page of recordings: tables, pictures and the command of each",
        each("recordings reported", "table report", "picture")
        | {"output report": Words("report.html, report, or stdout, by --format")}
        | {"recordings": Words("your newest, and the newest with memory, all stacks and time")}
        | {"format report": Words(f"{choices.HTML}, or by the name of -o")},
        show_report,
        """\
One page of recordings that needs nothing else: what was measured and on what machine, what a session costs by stack,
suite, role, phase and meter, throughput and handshakes, and the command that makes each figure again.

The same tables as Markdown, CSV or JSON go to stdout (--format markdown|csv|json), or into the file -o. --format
directory writes the page as index.html with its data in files beside it, into the directory -o; --format files adds
Markdown and CSV of every table, PNG and SVG of every picture.""",
        """\
  tools/tls-memtest show report -o report.html                 your newest recording, and the newest of all stacks
  tools/tls-memtest show report data/2026-11-22-amd-epyc -o report.html
  tools/tls-memtest show report data/2026-11-22-amd-epyc data/2026-11-22-amd-epyc-2 -o both.html
  tools/tls-memtest show report data/2026-11-22-amd-epyc --format csv --table cost-heap
  tools/tls-memtest show report --format directory -o report     the page for a web server
  tools/tls-memtest show report data/2026-11-22-amd-epyc --format files -o report       all tables and pictures
  tools/tls-memtest show report data/2026-11-22-amd-epyc --format files --picture releases -o pictures""",
        target="report",
    ),
    picture(
        "mem",
        "a picture of memory: by sessions, and by phase of the handshake",
        OF_RECORDING
        | each("only suite", "only env", "only cpu")
        | {"n shown": Words("the largest that has RSS and live heap")},
        "tlsmem.plots.memory:draw_from_arguments",
        "Draw the memory of a recording: by sessions (peak RSS and its slope), and by phase of the handshake.",
        "data/2026-11-22-amd-epyc -o memory.png",
        "data/2026-11-22-amd-epyc -o memory    both memory.png and memory.svg",
        "data/2026-11-22-amd-epyc -o pq.svg --suite tls13-rsa-aes256-pq --n 1000",
        "data/2026-11-22-amd-epyc -o roles.png --roles split  clients and servers beside each other",
        "RECORDING -o env.png --env lab --env deployed  each repeat beside the lab's",
    ),
    picture(
        "parts",
        "a picture of what a session's bytes are for",
        each("sources", "output", "only stack", "suite", "role") | {"output": REQUIRED, "role": Words("server")},
        "tlsmem.plots.buckets:draw_from_arguments",
        "One picture of what a session's bytes are for: by bucket, at five moments, every stack on one scale.",
        "data/2026-11-22-amd-epyc -o buckets --suite tls13-rsa-aes256  both buckets.png and .svg",
        "data/2026-11-22-amd-epyc -o ring.png --suite tls12-rsa-aes256 --stack rustls+ring@0.23.46",
        "old.heaptrack.zst new.heaptrack.zst -o both.svg                   profiles of any tool",
    ),
    picture(
        "releases",
        "a picture of libraries release by release",
        OF_RECORDING
        | each("only suite")
        | {"library shown": Words(f"all with {choices.LEAST_RELEASES} releases or more"), "role": "server"},
        "tlsmem.topics.releases.picture:draw_from_arguments",
        "One picture of libraries release by release: what an established session keeps, a line for each suite.",
        "data/2026-11-22-amd-epyc -o releases --suite tls13-rsa-aes128 --library openssl --library rustls+ring",
        "data/2026-11-22-amd-epyc -o a.svg --suite tls13-rsa-aes128 --suite tls13-rsa-aes128-pq",
    ),
    picture(
        "stacks",
        "a picture of every stack in one suite",
        OF_RECORDING | {"suite": None, "role": "server"},
        "tlsmem.plots.stacks:draw_from_arguments",
        "Draw every stack in one suite: what an established session keeps, smallest first, and its peak.",
        "data/2026-11-22-amd-epyc -o stacks --suite tls13-rsa-aes128  both stacks.png and .svg",
        "data/2026-11-22-amd-epyc -o clients.png --suite tls12-rsa-aes256 --roles split --role client",
    ),
    picture(
        "timing",
        "pictures of timed runs: transfer and handshakes",
        each("recording", "only campaign", "only stack", "only suite") | {"output directory": "pictures"},
        "tlsmem.topics.timing.pictures:draw_from_arguments",
        """Draw timed runs: bulk transfer and handshakes as ratios to the first stack, and rates by write size.

transfer, handshake and sizes-SUITE are drawn if the recording has their runs, each as .png and .svg. A ratio needs two
stacks; for one stack, and for threads and latencies, use tls-memtest show tables.""",
        "data/2026-11-22-amd-epyc-2           every picture, into the directory pictures",
        "data/2026-11-22-amd-epyc-2 --campaign throughput --out docs/pictures",
        "data/2026-11-22-amd-epyc-2 --suite tls13-rsa-aes256  with its resumed handshakes",
        "data/2026-11-22-amd-epyc-2 --stack openssl@3.5.5 --stack rustls+aws-lc@0.23.46",
    ),
    picture(
        "versions",
        "a picture of one library release by release, by what its bytes are for",
        each("recording", "output", "library")
        | {"output": REQUIRED, "library": REQUIRED, "versions": ALL_RELEASES, "suites": RELEASE_SUITES}
        | {"sides": "both", "stage": "established"},
        "tlsmem.topics.releases.walk_picture:draw_given",
        "Draw a library release by release: what a session holds, stacked by bucket, and its peak.",
        "data/2026-11-22-amd-epyc -o versions --library openssl",
        "data/2026-11-22-amd-epyc -o idle.svg --library rustls+ring --stage idle --role server",
    ),
    picture(
        "slides",
        "the slides of a talk, a finding each",
        {"recording": None, "output directory": "docs/slides"},
        "tlsmem.slides.draw_slides:draw_from_arguments",
        "Draw the slides of a talk, 16:9, from recordings: a finding each, of every axis that is recorded.",
        "data -o docs/slides             from the newest recordings in data/, each as .png and .svg",
    ),
)
