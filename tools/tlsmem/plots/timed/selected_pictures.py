"""Pictures of timed runs: bulk transfer, handshakes, rate per thread over threads, latencies, sizes of a write."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.plots import plot_command
from tlsmem.plots.timed import handshake_kinds, pictures
from tlsmem.schema.records import Record
from tlsmem.stats.selection import chosen, of_campaign
from tlsmem.stats.timed_selection import is_timed, select
from tlsmem.tables import table_command

EXAMPLES = """examples:
  tools/plot_timing.py data/local/2026-01-31-some-cpu               every picture, into the directory pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --campaign throughput --out docs/pictures
  tools/plot_timing.py data/local/2026-01-31-some-cpu --suite tls13-rsa-aes256  with its resumed handshakes
  tools/plot_timing.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+aws-lc@0.23.46

transfer, handshake, latency-SUITE, threads-SUITE, threads-transfer-SUITE and sizes-SUITE are drawn where their runs
are there, each as .png and .svg."""


def wanted(records: Sequence[Record], given: argparse.Namespace) -> list[Record]:
    """Of the stacks and suites that were asked for, in that order; a suite brings its resumed handshakes along.
    ValueError with a sentence when one has no runs."""
    records = [one for one in records if is_timed(one)]
    if not records:
        raise ValueError("no timed runs; make throughput, make handshake and make threads record some")
    stacks = chosen(given.stack, (one.stack for one in records), "the stack")
    there = (suite for one in records for suite in (one.suite, handshake_kinds.base(one.suite)))
    suites = chosen(given.suite, there, "the suite")
    found = [one for one in records if one.stack in stacks and {one.suite, handshake_kinds.base(one.suite)} & {*suites}]
    return sorted(found, key=lambda one: stacks.index(one.stack)) if given.stack else found


def drawn(given: argparse.Namespace) -> list[Path]:
    loaded = table_command.loaded(given.recording, "recordings are directories under data/")
    loaded = of_campaign(loaded, given.campaign) if given.campaign else loaded
    timed = select(wanted(loaded, given))
    for said in timed.left_out:
        print(f"plot_timing: {given.recording}: {said}", file=sys.stderr)
    return pictures.draw_selected(timed, given.output)


def main() -> None:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    parser.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    parser.add_argument("--campaign", metavar="NAME", help="only runs of this table of memtest/campaigns.toml")
    parser.add_argument("--stack", action="append", help="may be repeated, in this order")
    parser.add_argument("--suite", action="append", help="may be repeated")
    where = {"type": Path, "metavar": "DIR", "default": Path("pictures")}
    parser.add_argument("--out", dest="output", help="directory of the pictures (default: pictures)", **where)
    plot_command.end("plot_timing", parser.parse_args(), drawn)
