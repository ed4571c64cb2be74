#!/usr/bin/env python3
"""What the project claims of its own figures, checked on a recording of the campaigns repeat, law and large.

One row a claim, stack and suite: what was measured, the limit, the verdict. Exit 1 when one does not hold, 2 when the
recording has no runs for any claim."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import rich.console

import costs
import definitions
import embedding
import law
import records
import results
import tables
from machine import cpu_model, recording_name
from records import Record
from selection import Selection, Series, of_campaign, select
from tables import Cell, Column, Table, hole, word

ROLES = ("client", "server")
RSS_SPREAD, LAW_HEAP, LAW_RSS, LARGE = 0.002, 0.005, 0.01, 0.01
EXAMPLES = """examples:
  make prove                      record the campaigns and check them
  tools/prove.py data/2026-01-31-some-cpu"""

Row = list[Cell]


def row(claim: str, stack: str, suite: str, measured: str, limit: str, holds: bool) -> Row:
    return [
        word(claim),
        word(stack),
        word(suite),
        word(measured),
        word(limit),
        Cell("holds" if holds else "FAILS", holds),
    ]


def books(run: Record) -> dict[str, int]:
    """Live heap at every phase's end, and its peak in every phase after the warm-up, by name."""
    found = {}
    for phase in run.phases:
        for role in ROLES:
            heap = getattr(phase.heap, role)
            found |= {
                f"{phase.phase}, {role}, live": heap.live_bytes,
                f"{phase.phase}, {role}, blocks": heap.live_blocks,
            }
            if phase.phase != "contexts":
                found[f"{phase.phase}, {role}, peak"] = heap.peak_bytes
    return found


def exact(series: Series) -> Iterator[Row]:
    """Live and peak heap repeat to the byte."""
    for sessions in sorted({run.sessions for run in series.runs("heap")}):
        first, *others = map(books, series.runs("heap", sessions))
        if len(others) < 2:
            continue
        off = {name: other[name] - first[name] for other in others for name in first if other[name] != first[name]}
        worst = max(off, key=lambda name: abs(off[name])) if off else None
        text = (
            f"{worst}: {off[worst]:+,} ({len(off)} of {len(first)} figures)"
            if worst
            else f"{len(others) + 1} runs equal"
        )
        claim = f"live and peak heap repeat, N = {sessions:,}"
        yield row(claim, series.stack, series.setting.suite, text, "to the byte", not off)


def repeats(series: Series) -> Iterator[Row]:
    spread = costs.slope_spread(series.full("rss"), costs.peak_rss)
    if spread is not None:
        text = f"{100 * spread:.3f} %"
        yield row("RSS slope repeats", series.stack, series.setting.suite, text, "0.2 %", spread <= RSS_SPREAD)


def established(chosen: list[Series]) -> Iterator[Row]:
    """The same live heap per session whatever the window, and not the same peak."""
    pairs = {series.setting.window: series.heap_pair() for series in chosen if series.heap_pair()}
    if len(pairs) < 2:
        return
    kept = {window: str(costs.live_cost(*pair, "total", "established").bytes) for window, pair in pairs.items()}
    peaks = {law.peak_heap(pair[1], "total") for pair in pairs.values()}
    text = ", ".join(f"{value} at W = {window}" for window, value in kept.items())
    holds = len(set(kept.values())) == 1 and len(peaks) == len(pairs)
    text = f"{next(iter(kept.values()))} a pair at W = {', '.join(map(str, kept))}; peaks differ" if holds else text
    yield row("established heap at any window", chosen[0].stack, chosen[0].setting.suite, text, "equal", holds)


def lawful(chosen: list[Series]) -> Iterator[Row]:
    runs = [run for series in chosen for run in series.records]
    for name, limit in (("live heap", LAW_HEAP), ("RSS", LAW_RSS)):
        check = results.law_row(runs, name)[3]
        if check.value:
            holds = abs(check.value["error"]) <= limit
            claim = f"law of memory, {name}"
            yield row(claim, chosen[0].stack, chosen[0].setting.suite, check.text, f"{100 * limit:g} %", holds)


def large(series: Series) -> Iterator[Row]:
    """What a session adds beyond N = 10,000 is what it adds up to there."""
    points = costs.medians(series.runs("rss"), costs.peak_rss)
    counts = sorted(points)
    if costs.C10K not in points or counts[-1] <= costs.C10K or counts[0] == costs.C10K:
        return
    low, middle, high = counts[0], costs.C10K, counts[-1]
    below, beyond = ((points[m] - points[n]) / (m - n) for n, m in ((low, middle), (middle, high)))
    text = (
        f"{below:,.0f} B up to N = {middle:,}, {beyond:,.0f} B on to N = {high:,} ({100 * (beyond / below - 1):+.2f} %)"
    )
    claim = "RSS per session at large N"
    yield row(claim, series.stack, series.setting.suite, text, "1 %", abs(beyond / below - 1) <= LARGE)


def each(records_: list[Record], campaign: str) -> Iterator[list[Series]]:
    """The series of a stack and suite, one for each window, of the runs that the campaign asks for."""
    selection = select(of_campaign(records_, campaign))
    for suite in dict.fromkeys(setting.suite for setting in selection.settings):
        for stack in selection.stacks:
            yield [selection.series(stack, one) for one in selection.settings if one.suite == suite]


def failures(selection: Selection) -> Iterator[Row]:
    for record in selection.records:
        if record.status == "failed":
            names = (f"a run, N = {record.sessions:,}", record.stack, record.suite)
            yield [*map(word, names), hole(record.reason), word("measured"), Cell("FAILS", False)]


def proof(made: list[Record]) -> Table:
    columns = [Column(name, name, left=True) for name in ("claim", "stack", "suite", "measured", "limit", "verdict")]
    table = Table("proof", "What is claimed, and what was measured", "One row a claim, stack and suite.", columns)
    table.rows += [row for series in each(made, "repeat") for check in (exact, repeats) for row in check(series[0])]
    table.rows += [row for series in each(made, "law") for check in (established, lawful) for row in check(series)]
    table.rows += [row for series in each(made, "large") for row in large(series[0])]
    table.rows += failures(select(made))
    return table


def today() -> Path:
    return definitions.ROOT / "data" / recording_name(date.today(), cpu_model())


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("recording", type=Path, nargs="?", default=today(), help="default: this machine's of today")
    made.add_argument("--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command is")
    return made


def main() -> None:
    arguments = parser().parse_args()
    if not arguments.recording.exists():
        sys.exit(f"prove: {arguments.recording}: there is no such recording; `make prove` makes one")
    table = proof(records.load(arguments.recording))
    if not table.rows:
        print(f"prove: {arguments.recording}: no runs for any claim; `make prove` makes them", file=sys.stderr)
        sys.exit(2)
    if arguments.into:
        embedding.replace(arguments.into, arguments, parser(), tables.text_of([table], tables.MARKDOWN))
        return
    tables.show([table], tables.TABLE if sys.stdout.isatty() else tables.MARKDOWN, rich.console.Console())
    sys.exit(0 if all(cells[-1].value is True for cells in table.rows) else 1)


if __name__ == "__main__":
    main()
