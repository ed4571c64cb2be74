"""What else the machine did while runs were timed, and how far their repeats lie apart."""

from collections.abc import Callable, Sequence

from tlsmem.schema.records import Record
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries
from tlsmem.tables.table import Cell, Column, Table, missing_cell, percent, text_cell
from tlsmem.tables.timed import cells as timed_cells
from tlsmem.tables.timed import shared_columns, warnings
from tlsmem.tables.timed.cells import sample_or_missing
from tlsmem.tables.timed.latency import PARTS_BY_SCENARIO
from tlsmem.tables.timed.threads import rate_quantity

HEADINGS = {
    "repeats": "repeats",
    "first_spread": "spread: sending, client",
    "second_spread": "receiving, server",
    "load": "load",
    "busy_cpus": "others’ CPUs",
    "steal_percent": "stolen",
    "mhz": "MHz",
    "preempted_per_s": "preempted/s",
}
CAPTION = (
    "Spread: the fastest repeat less the slowest, by the median. The rest is the most of any repeat: runnable tasks in "
    "the minute before; how many CPUs other processes had meanwhile; the share of all CPUs that the hypervisor took; "
    "the clock of the run's CPUs, lowest to highest; involuntary context switches of a thread in a second."
)
UNSEEN = "the machine does not tell"
ONCE = "one repeat"


def spread(series: TimedSeries, part: str) -> Cell:
    found = sample_or_missing(series, rate_quantity(series.work, part))
    if isinstance(found, Cell):
        return found
    return missing_cell(ONCE) if found.spread is None else Cell(percent(found.spread), round(100 * found.spread, 4))


def most(runs: Sequence[Record], of: Callable[[Record], float], text: Callable[[float], str], why: str) -> Cell:
    values = [max(0.0, of(run)) for run in runs if run.noise]
    return Cell(text(max(values)), round(max(values), 4)) if values else missing_cell(why)


def percentage(value: float) -> str:
    return percent(value / 100)


def clock(runs: Sequence[Record], why: str) -> Cell:
    seen = [mhz for run in runs if run.noise and run.noise.mhz for mhz in run.noise.mhz]
    if not seen:
        return missing_cell(UNSEEN if runs else why)
    low, high = min(seen), max(seen)
    text = f"{high:,.0f}" if round(low) == round(high) else f"{low:,.0f}–{high:,.0f}"
    return Cell(text, {"low": round(low, 1), "high": round(high, 1)})


def preempted(runs: Sequence[Record], why: str) -> Cell:
    each = [warnings.preemptions_per_second(run) for run in runs]
    return Cell(timed_cells.format_number(max(each)), round(max(each), 4)) if each else missing_cell(why)


def row(series: TimedSeries) -> list[Cell]:
    runs, why = series.runs(), series.reason()
    cells = [
        Cell(str(len(runs)), len(runs)),
        *(spread(series, part) for part in PARTS_BY_SCENARIO[series.work.scenario]),
    ]
    cells += [most(runs, lambda run: warnings.noise_of(run).load, timed_cells.format_number, why)]
    cells += [most(runs, warnings.busy_cpus, timed_cells.format_number, why)]
    cells += [most(runs, lambda run: 100 * warnings.stolen_share(run), percentage, why)]
    return [*cells, clock(runs, why), preempted(runs, why)]


def noise(timed: TimedSelection) -> Table:
    columns = [
        *shared_columns.work_columns(timed),
        Column("scenario", "scenario", left=True),
        Column("stack", "stack", left=True),
    ]
    columns += [Column(key, heading) for key, heading in HEADINGS.items()]
    caption = " ".join(filter(None, [CAPTION, shared_columns.describe_conditions(timed)]))
    made = Table("noise", "Noise", caption, columns, headed=len(columns) - len(HEADINGS) - 1)
    for series in timed.every():
        named = [
            *shared_columns.work_cells(timed, series.work),
            text_cell(series.work.scenario),
            text_cell(series.stack),
        ]
        made.rows.append([*named, *row(series)])
    return made
