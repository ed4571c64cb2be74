"""From requested to resident: of every stack and allocator what was asked for, and what became of it, as bars."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypedDict

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tlsmem.plots.frame import INK, Style
from tlsmem.plots.picture import add_title_and_legend
from tlsmem.report.packed_json import pack_json
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable, read_asset
from tlsmem.stats.session_cost import ESTABLISHED, KIB
from tlsmem.tables import waterfall
from tlsmem.tables.settings import dates, describe_machine
from tlsmem.tables.table import Table
from tlsmem.tables.waterfall import COLUMNS

TITLE = "From requested to resident"
THERE: Style = {"facecolor": "#56B4E9", "edgecolor": INK, "linewidth": 0.5}
MORE: Style = {"facecolor": "white", "edgecolor": INK, "linewidth": 0.5, "hatch": "||||||"}
LESS: Style = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.7, "linestyle": (0, (3, 2))}
KEYS = {"as at the stage before": THERE, "more": MORE, "less": LESS}
PANEL_COLUMNS = 3
STACKS_IN_COLUMN = 4  # stacks that stand below each other before there is another column
ROOM = 2.15  # of the longest bar, for what is said beside it
NAME = 1.3  # of the heights of a bar, for what stands above it
STEP = 0.95  # inches of a stack with its name


class ChartRow(TypedDict):
    """The bars of a stack under an allocator, as the page's script has them."""

    recording: str  # its name, where there are several
    names: dict[str, str]  # by column of the table
    steps: list[float | None]  # bytes of each stage
    whys: list[str | None]  # why there are none
    setting: str
    unit: str


def figure(rows: Sequence[ChartRow], stages: Sequence[str], between: Sequence[str], below: str) -> Figure:
    """Of rows that differ in stack and allocator alone, in their order, column by column. Bytes."""
    count = min(PANEL_COLUMNS, -(-len(rows) // STACKS_IN_COLUMN))
    deep = -(-len(rows) // count)
    size = (max(7.0, 5.2 * count), 1.8 + STEP * deep)
    made, (columns,) = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False, sharex=True)
    longest = max((bytes or 0 for row in rows for bytes in row["steps"]), default=0) or 1
    for at, axes in enumerate(columns):
        for place, row in enumerate(rows[at * deep : (at + 1) * deep]):
            block(axes, place * (len(stages) + NAME), row, between)
        framed(axes, deep, stages, len(rows[at * deep : (at + 1) * deep]))
        axes.set_xticks(MaxNLocator(5).tick_values(0, longest / KIB))
        axes.set_xlim(0, ROOM * longest / KIB)
        axes.set_xlabel(f"KiB per {rows[0]['unit']}; beside the bars, bytes", loc="left")
    names = rows[0]["names"]
    keys = [Patch(label=label, **look) for label, look in KEYS.items()]
    add_title_and_legend(made, f"{TITLE}: {names['suite']}, {rows[0]['setting']}", keys, below)
    return made


def framed(axes: Axes, deep: int, stages: Sequence[str], there: int) -> None:
    """Names of stages beside the bars of each stack; the least at the left, the first on top."""
    block = len(stages) + NAME
    at = [place * block + 1 + stage for place in range(there) for stage in range(len(stages))]
    axes.set_yticks(at, [*stages] * there, fontsize=7)
    axes.set_ylim(deep * block - 0.3, -0.7)
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def block(axes: Axes, top: float, row: ChartRow, between: Sequence[str]) -> None:
    """A stack: its name, and the bars below it."""
    axes.text(0, top, f"{row['names']['stack']} on {row['names']['books']}", fontsize=8.5, weight="bold", va="center")
    for at, bytes in enumerate(row["steps"]):
        before = row["steps"][at - 1] if at else None
        words = "; ".join(filter(None, describe_stage(row, at, between)))
        drawn = bar(axes, top + 1 + at, bytes, before) if bytes is not None else 0
        style: Style = {"va": "center", "fontsize": 7, "style": "italic" if bytes is None else "normal"}
        axes.annotate(words, (drawn, top + 1 + at), (4, 0), textcoords="offset points", **style)


def bar(axes: Axes, at: float, bytes: float, before: float | None) -> float:
    """What of the stage before is still there, what is more and what is less; how far it reaches, KiB."""
    now, was = max(0, bytes) / KIB, max(0, bytes if before is None else before) / KIB
    shared = min(now, was)
    axes.barh(at, shared, 0.72, **THERE)
    if now != was:
        axes.barh(at, max(now, was) - shared, 0.72, left=shared, **(MORE if now > was else LESS))
    return max(now, was)


def describe_stage(row: ChartRow, at: int, between: Sequence[str]) -> tuple[str, ...]:
    """Bytes, and what the step from the stage before adds or takes, in words; or why they are not known."""
    now, before = row["steps"][at], row["steps"][at - 1] if at else None
    if now is None:
        return (textwrap.shorten(f"not known: {row['whys'][at]}", 80, placeholder=" …"),)
    if before is None:
        return (f"{now:,.0f}",)
    step = round(now - before)
    return f"{now:,.0f}", f"{abs(step):,} {'more' if step > 0 else 'less'}: {between[at - 1]}" if step else "as much"


STAGES = {
    column.key: column.heading for column in COLUMNS[::2]
}  # what is reached, by column; between two of them stands what the step adds
BETWEEN = [column.heading for column in COLUMNS[1::2]]
OF_THESE = "of these "
BESIDE = ("suite", "stack", "books", "allocator")  # what has a choice of its own, or a bar of its own
USUAL = {"window": "all", "env": "lab", "cpu": "all"}  # goes without saying
MEANS = {
    "requested_bytes": "requested from the allocator and not freed: live heap, exact",
    "usable_bytes": "what the allocator reports as live: with rounding and headers",
    "held_bytes": "what the allocator obtained from the OS: with free memory",
    "resident_bytes": "resident private memory: without pages never written or given back",
}


def section(recordings: Sequence[Recording]) -> Section | None:
    """None where no recording has allocator statistics."""
    several = len(recordings) > 1
    found = [(one, table) for one in recordings if (table := recording_table(one)) and table.rows]
    rows = [row for one, table in found for row in chart_rows(table, one.name if several else "")]
    if not any(any(row["steps"]) for row in rows):
        return None
    html = Markup(read_asset("waterfall.html")).format(at=ESTABLISHED)
    stages = [[key, name, MEANS[key]] for key, name in STAGES.items()]
    opens = rows.index(find_first(rows))
    packed = pack_json({"rows": rows, "opens": opens, "stages": stages, "between": BETWEEN})
    shown = tuple(shown_table(one, table, several) for one, table in found)
    scripts, styles = (
        (read_asset("charts.js"), read_asset("waterfall.js")),
        (read_asset("charts.css"), read_asset("waterfall.css")),
    )
    files = tuple(picture(one, rows, several) for one, _ in found)
    return Section("waterfall", TITLE, html, packed=packed, scripts=scripts, styles=styles, files=files, tables=shown)


def picture(recording: Recording, rows: Sequence[ChartRow], several: bool) -> Picture:
    """Of a recording what the page shows of it at first."""
    there = [row for row in rows if row["recording"] == (recording.name if several else "")]
    first = find_first(there)
    shown = [row for row in there if chart_of(row) == chart_of(first)]
    stacks = [row["names"]["stack"] for row in shown]
    shown.sort(key=lambda row: stacks.index(row["names"]["stack"]))  # allocators of one stack below each other
    below = f"{describe_machine(recording.records[0])}. Recorded {dates(recording.records)}."
    says = f"From requested bytes to resident memory, step by step: {row_suite(first)}, {first['setting']}."
    command = f"tools/tls-memtest show report {recording_arguments(recording)} --format files -o report"
    name = f"waterfall-{recording.name}" if several else "waterfall"
    drawn = partial(figure, shown, [*STAGES.values()], BETWEEN, below)
    return Picture(name, TITLE, says, command, drawn)


def find_first(rows: Sequence[ChartRow]) -> ChartRow:
    """Return a row of the chart that a page opens with: the first in which the most stacks have every stage."""
    whole = Counter(chart_of(row) for row in rows if None not in row["steps"])
    return max(rows, key=lambda row: (whole[chart_of(row)], row_suite(row).startswith("tls13")))


def chart_of(row: ChartRow) -> tuple[str, str, str]:
    """Return what the rows of one chart have in common."""
    return row["recording"], row_suite(row), row["setting"]


def row_suite(row: ChartRow) -> str:
    return row["names"]["suite"]


def recording_table(recording: Recording) -> Table | None:
    return waterfall.waterfall(recording.contents.memory) if recording.contents.memory else None


def shown_table(recording: Recording, table: Table, several: bool) -> ShownTable:
    """Of each recording one: slopes of two machines are never in one table."""
    shown = ShownTable(
        table, f"tools/tls-memtest show tables {recording_arguments(recording)} --table waterfall", "waterfall"
    )
    return shown.name_recording(recording.name) if several else shown


def chart_rows(table: Table, recording: str) -> Iterator[ChartRow]:
    """Names, and what is known of each stage: bytes per pair or session, or why not. Of two allocators in a process
    their sum; each by itself is in the table."""
    keys = [column.key for column in table.columns]
    first = keys.index(COLUMNS[0].key)
    for row in table.rows:
        named = {key: cell.text for key, cell in zip(keys[:first], row[:first], strict=True)}
        if named["books"].startswith(OF_THESE):
            continue
        found = dict(zip(keys[first:], row[first:], strict=True))
        steps = [found[key].value for key in STAGES]
        whys = [found[key].note if found[key].is_missing else None for key in STAGES]
        unit = "pair" if named.get("process", "both") == "both" else f"{named['process']} session"
        yield ChartRow(recording=recording, names=named, steps=steps, whys=whys, setting=setting(named), unit=unit)


def setting(named: dict[str, str]) -> str:
    """In words; what goes without saying is left out."""
    said = (describe_aspect(key, text) for key, text in named.items() if key not in BESIDE and text != USUAL.get(key))
    return ", ".join(filter(None, said)) or "as usual"


def describe_aspect(key: str, text: str) -> str:
    if key == "process":
        return "both roles in one process" if text == "both" else f"{text}s' process"
    kept = {"window": f"{text} pairs at a time", "cpu": f"CPU {text}"}
    return "" if key == "roles" and text in ("together", "split") else kept.get(key, text)
