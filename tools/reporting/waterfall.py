"""From requested to resident: of every stack and allocator what was asked for, and what became of it, as bars."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from markupsafe import Markup

import waterfall
from accounts import AT
from definitions import ROOT
from reporting.flame_trees import packed
from reporting.recordings import Recording
from reporting.sections import Section, Shown
from tables import HOLE, Table
from waterfall import COLUMNS

STAGES = dict(COLUMNS[::2])  # what is reached, by column; between two of them stands what the step adds
OF_THESE = "of these "
MEANS = {
    "requested_bytes": "what the stack asked the allocator for and did not give back: live heap, exact",
    "usable_bytes": "what the allocator says is live: with rounding and headers",
    "held_bytes": "what the allocator has of the system: with what it holds free",
    "resident_bytes": "what of all private memory is resident: without what was never touched, or was given back",
}


def section(recordings: Sequence[Recording]) -> Section | None:
    """None where no recording has books of an allocator."""
    several = len(recordings) > 1
    found = [(one, table) for one in recordings if (table := of_recording(one)) and table.rows]
    rows = [row for one, table in found for row in rows_of(table, one.name if several else "")]
    if not any(any(row["steps"]) for row in rows):
        return None
    html = Markup(own("waterfall.html")).format(at=AT)
    stages = [[key, name, MEANS[key]] for key, name in STAGES.items()]
    data = {"packed": packed({"rows": rows, "stages": stages, "between": [name for _, name in COLUMNS[1::2]]})}
    shown = tuple(table_of(one, table, several) for one, table in found)
    scripts, styles = (own("charts.js"), own("waterfall.js")), (own("charts.css"), own("waterfall.css"))
    return Section("waterfall", "From requested to resident", html, data, scripts, styles, tables=shown)


def own(name: str) -> str:
    return (ROOT / "tools/reporting" / name).read_text(encoding="utf-8")


def of_recording(recording: Recording) -> Table | None:
    return waterfall.waterfall(recording.contents.memory) if recording.contents.memory else None


def table_of(recording: Recording, table: Table, several: bool) -> Shown:
    """Of each recording one: slopes of two machines are never in one table."""
    named = f"waterfall-{recording.name}" if several else "waterfall"
    title = f"{table.title}: {recording.name}" if several else table.title
    command = f"tools/tabulate.py {recording.path} --table waterfall"
    return Shown(replace(table, name=named, title=title), command, "waterfall", recording.name)


def rows_of(table: Table, recording: str) -> Iterator[dict]:
    """Names, and what is known of each stage: bytes per pair or session, or why not. Of two allocators in a process
    their sum; each by itself is in the table."""
    keys = [column.key for column in table.columns]
    first = keys.index(COLUMNS[0][0])
    for row in table.rows:
        named = {key: cell.text for key, cell in zip(keys[:first], row[:first], strict=True)}
        if named["books"].startswith(OF_THESE):
            continue
        found = dict(zip(keys[first:], row[first:], strict=True))
        steps = [found[key].value for key in STAGES]
        whys = [found[key].note if found[key].text == HOLE else None for key in STAGES]
        yield {"recording": recording, "names": named, "steps": steps, "whys": whys}
