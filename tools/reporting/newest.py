"""Which recordings a report is of when nobody names any: the newest that together have memory, all stacks and time."""

import re
from collections.abc import Iterator
from pathlib import Path

import campaign
import definitions
from records import Record
from reporting.recordings import records_of, shown
from selection import run_of

NEEDED = ("mem", "stacks", "throughput", "handshake")  # campaigns: of each the newest recording with more than half


def loaded(data: Path) -> dict[str, list[Record]]:
    """Path to its runs; no older ones are read once all are found. Where no recording has any of it, the newest alone.

    ValueError with a sentence when there is none at all."""
    wanted = {name: set(campaign.matrix(definitions.campaigns()[name])) for name in NEEDED}
    kept: dict[str, list[Record]] = {}
    newest: dict[str, list[Record]] = {}
    for path in by_age(data):
        if not wanted:
            break
        records = records_of(path)
        newest = newest or {shown(path): records}
        there = set(map(run_of, records))
        found = [name for name, runs in wanted.items() if 2 * len(runs & there) > len(runs)]
        if found:
            kept[shown(path)] = records
        wanted = {name: runs for name, runs in wanted.items() if name not in found}
    if not newest:
        raise ValueError(f"{shown(data)}: no recording there; make mem N=1000 makes one, or name others")
    return kept or newest


def by_age(data: Path) -> Iterator[Path]:
    """Recordings by their names, DATE-CPU or DATE-CPU-2, the newest first."""
    dated = [one for one in data.glob("[0-9]*-*-*-*") if any(one.glob("*.jsonl"))]

    def age(one: Path) -> tuple:
        again = re.search(r"-(\d+)$", one.name[10:])
        return one.name[:10], int(again[1]) if again else 1, one.name

    yield from sorted(dated, key=age, reverse=True)
