"""Which recordings a report is of when nobody names any: the user's newest, and the newest that together have memory,
all stacks and time."""

import re
from pathlib import Path

from tlsmem.config import definitions, matrix
from tlsmem.report.recordings import records_of, shown
from tlsmem.schema.records import Record
from tlsmem.stats.selection import run_of

NEEDED = ("mem", "stacks", "throughput", "handshake")  # campaigns: of each the newest recording with more than half


def loaded(data: Path, local: Path | None = None) -> dict[str, list[Record]]:
    """Path to its runs; no older ones are read once all are found. Where no recording has any of it, the newest alone.

    `data` has the recordings of the repository, `local` the user's own, the newest of which is always read.
    ValueError with a sentence when there is none at all."""
    wanted = {name: set(matrix.matrix(definitions.campaigns()[name])) for name in NEEDED}
    kept: dict[str, list[Record]] = {}
    newest: dict[str, list[Record]] = {}
    paths = by_age(data, local)
    own = next((path for path in paths if path.parent == local), None)
    for path in paths:
        if not wanted and path != own:
            continue
        records = records_of(path)
        newest = newest or {shown(path): records}
        there = set(map(run_of, records))
        found = [name for name, runs in wanted.items() if 2 * len(runs & there) > len(runs)]
        if found or path == own:
            kept[shown(path)] = records
        wanted = {name: runs for name, runs in wanted.items() if name not in found}
    if not newest:
        raise ValueError(f"{shown(data)}: no recording there; make mem N=1000 makes one, or name others")
    return kept or newest


def by_age(data: Path, local: Path | None) -> list[Path]:
    """Recordings by their names, DATE-CPU or DATE-CPU-2, the newest first; of one day the user's own first."""
    folders = (data, local) if local else (data,)
    dated = [one for folder in folders for one in folder.glob("[0-9]*-*-*-*") if any(one.glob("*.jsonl"))]

    def age(one: Path) -> tuple:
        again = re.search(r"-(\d+)$", one.name[10:])
        return one.name[:10], one.parent == local, int(again[1]) if again else 1, one.name

    return sorted(dated, key=age, reverse=True)
