"""From requested to resident: of every stack and allocator what was asked for, and what became of it, as bars."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from markupsafe import Markup

from tlsmem.report import waterfall_picture
from tlsmem.report.flame_trees import packed
from tlsmem.report.recordings import Recording, typed
from tlsmem.report.sections import Picture, Section, Shown, own
from tlsmem.tables import waterfall
from tlsmem.tables.accounts import AT
from tlsmem.tables.settings import dates, machine_of
from tlsmem.tables.table import HOLE, Table
from tlsmem.tables.waterfall import COLUMNS

STAGES = dict(COLUMNS[::2])  # what is reached, by column; between two of them stands what the step adds
BETWEEN = [name for _, name in COLUMNS[1::2]]
OF_THESE = "of these "
BESIDE = ("suite", "stack", "books", "allocator")  # what has a choice of its own, or a bar of its own
USUAL = {"window": "all", "env": "lab", "cpu": "all"}  # goes without saying
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
    data = {"packed": packed({"rows": rows, "stages": stages, "between": BETWEEN})}
    shown = tuple(table_of(one, table, several) for one, table in found)
    scripts, styles = (own("charts.js"), own("waterfall.js")), (own("charts.css"), own("waterfall.css"))
    files = tuple(picture(one, rows, several) for one, _ in found)
    return Section("waterfall", waterfall_picture.TITLE, html, data, scripts, styles, files=files, tables=shown)


def picture(recording: Recording, rows: Sequence[dict], several: bool) -> Picture:
    """Of a recording what the page shows of it at first."""
    there = [row for row in rows if row["recording"] == (recording.name if several else "")]
    first = next((row for row in there if row["names"]["suite"].startswith("tls13")), there[0])
    shown = [row for row in there if all(of(row) == of(first) for of in (suite_of, lambda row: row["setting"]))]
    stacks = [row["names"]["stack"] for row in shown]
    shown.sort(key=lambda row: stacks.index(row["names"]["stack"]))  # allocators of one stack below each other
    below = f"{machine_of(recording.records[0])}. Recorded {dates(recording.records)}."
    says = f"What each stack asked for in {suite_of(first)}, {first['setting']}, and what became of it."
    command = f"tools/report.py {typed(recording)} --format files -o report"
    name = f"waterfall-{recording.name}" if several else "waterfall"
    drawn = partial(waterfall_picture.figure, shown, [*STAGES.values()], BETWEEN, below)
    return Picture(name, waterfall_picture.TITLE, says, command, drawn)


def suite_of(row: dict) -> str:
    return row["names"]["suite"]


def of_recording(recording: Recording) -> Table | None:
    return waterfall.waterfall(recording.contents.memory) if recording.contents.memory else None


def table_of(recording: Recording, table: Table, several: bool) -> Shown:
    """Of each recording one: slopes of two machines are never in one table."""
    named = f"waterfall-{recording.name}" if several else "waterfall"
    title = f"{table.title}: {recording.name}" if several else table.title
    command = f"tools/tabulate.py {typed(recording)} --table waterfall"
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
        unit = "pair" if named.get("process", "both") == "both" else f"{named['process']} session"
        about = {"setting": setting(named), "unit": unit}
        yield {"recording": recording, "names": named, "steps": steps, "whys": whys} | about


def setting(named: dict[str, str]) -> str:
    """In words; what goes without saying is left out."""
    said = (worded(key, text) for key, text in named.items() if key not in BESIDE and text != USUAL.get(key))
    return ", ".join(filter(None, said)) or "as usual"


def worded(key: str, text: str) -> str:
    if key == "process":
        return "both roles in one process" if text == "both" else f"{text}s' process"
    kept = {"window": f"{text} pairs at a time", "cpu": f"CPU {text}"}
    return "" if key == "roles" and text in ("together", "split") else kept.get(key, text)
