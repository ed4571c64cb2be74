"""The tables that set stacks side by side: peaks, and the law of memory by window."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tlsmem.schema.harness_output import Meter
from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, memory_model, session_cost
from tlsmem.stats.repeats import ASSUMED_SPREAD, SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell, with_note


def kib_cell(value: float) -> Cell:
    return Cell(f"{value / KIB:,.0f}", round(value / KIB, 3))


def peak_cell(series: Series, sessions: int) -> Cell:
    points = session_cost.medians(series.runs("rss", sessions), session_cost.peak_rss)
    return (
        with_note(kib_cell(points[sessions]), allocator_statistics.returned_memory_note(series.runs("rss", sessions)))
        if points
        else missing_cell(series.reason("rss", sessions))
    )


def is_measured_once(series: Series, sessions: int) -> bool:
    return len(series.runs("rss", sessions)) < 2


def noise(series: Series, sessions: int) -> float:
    """Of the repeats, relative; of what was measured once it is assumed."""
    peaks = [session_cost.peak_rss(run) for run in series.runs("rss", sessions)]
    return ASSUMED_SPREAD if is_measured_once(series, sessions) else session_cost.relative_range(peaks) or 0.0


def difference(first: Series, other: Series, sessions: int) -> Cell:
    before, after = peak_cell(first, sessions), peak_cell(other, sessions)
    if before.value is None or after.value is None:
        return missing_cell("nothing to compare with")
    change = 100 * (after.value - before.value) / before.value
    if abs(change) <= 100 * max(noise(first, sessions), noise(other, sessions)):
        return Cell(
            "no change",
            round(change, 3),
            SINGLE_RUN_NOTE
            if is_measured_once(first, sessions) or is_measured_once(other, sessions)
            else WITHIN_SPREAD_NOTE,
        )
    return Cell(f"{change:+.1f} %", round(change, 3))


def is_one_process(setting: Setting) -> bool:
    return setting.roles == "together"


def peaks(selection: Selection, sessions: Sequence[int] | None = None) -> Table:
    """One row a setting and number of sessions, one column a stack, then each against the first."""
    selection = selection.where(is_one_process)
    stacks = selection.stacks
    columns = [*setting_columns(selection), Column("sessions", "N")]
    columns += [Column(f"{stack} peak_rss_kib", f"{stack} KiB") for stack in stacks]
    columns += [Column(f"{stack} difference_percent", f"{stack} against {stacks[0]}") for stack in stacks[1:]]
    caption = (
        "N sessions are N/2 clients and N/2 servers in one process. Minus: less memory. "
        f"{describe_common_settings(selection)}."
    )
    table = Table("peaks", "Peak RSS of the process", caption, columns)
    for setting in selection.settings:
        series = [selection.series(stack, setting) for stack in stacks]
        present = {one.sessions for of_stack in series for one in of_stack.with_meter("rss")}
        for count in sorted(present & set(sessions or present)):
            cells = [peak_cell(of_stack, count) for of_stack in series]
            cells += [difference(series[0], other, count) for other in series[1:]]
            table.rows.append([*setting_cells(selection, setting), Cell(f"{count:,}", count), *cells])
    return table


# The law: memory = fixed + N E + W H

Peak = Callable[[Record], int]
MIN_WINDOW_SHARE = (
    0.01  # of the pairs: with fewer at once, freed memory is used again in another way, see docs/method.md
)


def heap_of(role: str) -> Peak:
    return lambda record: memory_model.handshake_peak_heap(record, role)


# What is measured: its meter, the sessions of N that it counts (of a role: half), and its peak
QUANTITIES: dict[str, tuple[Meter, int, Peak]] = {
    "RSS": ("rss", 1, memory_model.handshake_peak_rss),
    "live heap": ("heap", 1, heap_of("total")),
    "live heap, clients": ("heap", 2, heap_of("client")),
    "live heap, servers": ("heap", 2, heap_of("server")),
}


def width(run: Record) -> float:
    return float("inf") if run.window == "all" else run.window


def split_fit_and_check(runs: Sequence[Record]) -> tuple[list[Record], list[Record], list[Record]]:
    """Runs for the fit (the narrowest and the widest window that the law is claimed for), and those to check it at,
    with the most sessions: between these two, and narrower ones, beyond its claim."""
    most = max((run.sessions for run in runs), default=0)
    narrowest = most // 2 * MIN_WINDOW_SHARE if runs and runs[0].meter == "rss" else 0
    claimed = {width(run) for run in runs if width(run) >= narrowest}
    if not claimed:
        return [], [], []
    low, high = min(claimed), max(claimed)
    wide = [run for run in runs if run.sessions == most]
    fitted = [run for run in runs if width(run) in (low, high)]
    return fitted, [r for r in wide if low < width(r) < high], [r for r in wide if width(r) < low]


def checked(fitted: memory_model.MemoryModel, runs: Sequence[Record], share: int, peak: Peak) -> Cell:
    """The largest error of the law at windows that it was not fitted to."""
    errors = [
        (fitted.bytes_at(run.sessions // share, memory_model.pairs_at_once(run)) / peak(run) - 1, run) for run in runs
    ]
    if not errors:
        return missing_cell("no such window was measured")
    error, run = max(errors, key=lambda one: abs(round(one[0], 6)))  # beyond that it is the arithmetic's
    text = f"{round(100 * error, 2) + 0.0:+.2f} % at W = {memory_model.pairs_at_once(run):,}"
    return Cell(text, {"error": round(error, 6), "sessions": run.sessions, "window": memory_model.pairs_at_once(run)})


def model_cells(runs: Sequence[Record], name: str) -> list[Cell]:
    """Fixed, E, H, check, and check beyond what is claimed."""
    meter, share, peak = QUANTITIES[name]
    fitted, between, narrower = split_fit_and_check(
        [run for run in runs if run.meter == meter and run.status == "measured"]
    )
    found = memory_model.fit_memory_model(
        [(run.sessions // share, memory_model.pairs_at_once(run), peak(run)) for run in fitted]
    )
    if not found:
        return [missing_cell("not enough runs: it takes two windows, and two numbers of sessions")] * 5
    terms = [Cell(f"{value:,.0f}", round(value, 1)) for value in (found.kept, found.handshake)]
    checks = [checked(found, held_out, share, peak) for held_out in (between, narrower)]
    return [Cell(f"{found.fixed / KIB:,.0f} KiB", round(found.fixed)), *terms, *checks]


def by_window(settings: Iterable[Setting]) -> dict[Setting, list[Setting]]:
    """Settings that differ in nothing else."""
    found: dict[Setting, list[Setting]] = {}
    for one in settings:
        found.setdefault(replace(one, window="all"), []).append(one)
    return found


def memory_model_table(selection: Selection) -> Table:
    keys = {
        "fixed_bytes": "fixed",
        "kept_bytes": "E, bytes per session",
        "handshake_bytes": "H, bytes per handshake",
    }
    selection = selection.where(is_one_process)
    declared = ("suite", "allocator", *(["env"] if selection.varies("env") else []))
    columns = [
        *(Column(name, name, left=True) for name in (*declared, "stack", "quantity")),
        *(Column(key, heading) for key, heading in keys.items()),
        Column("check", "law against measured"),
        Column("narrow", "the same at narrower windows"),
    ]
    caption = (
        "Peak while handshakes are under way = fixed + N·E + W·H, with N sessions (clients or servers alone: half of "
        "them) and W pairs in the handshake at once. Fitted to the widest window and the narrowest (of RSS "
        "the narrowest from 1 % of the pairs on); on the right the largest error at windows that were not in the fit."
    )
    table = Table("law", "The law of memory", caption, columns)
    for setting, windows in by_window(selection.settings).items():
        for stack in selection.stacks:
            runs = [run for one in windows for run in selection.series(stack, one).records]
            for name in QUANTITIES:
                cells = [text_cell(getattr(setting, column)) for column in declared]
                table.rows.append([*cells, text_cell(stack), text_cell(name), *model_cells(runs, name)])
    return table
