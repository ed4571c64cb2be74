"""The tables that set stacks side by side: peaks, the C10K figure, and the law of memory by window."""

from collections.abc import Callable, Sequence

import costs
import law
from costs import KIB, MIB
from records import Meter, Record
from selection import Selection, Series, Setting
from settings import cells_of, columns_of, constant
from tables import Cell, Column, Table, hole, word


def kib(value: float) -> Cell:
    return Cell(f"{value / KIB:,.0f}", round(value / KIB, 3))


def peak_cell(series: Series, sessions: int) -> Cell:
    points = costs.medians(series.runs("rss", sessions), costs.peak_rss)
    return kib(points[sessions]) if points else hole(series.reason("rss", sessions))


def noise(series: Series, sessions: int) -> float:
    """Of the repeats, relative; 0 when there is only one."""
    return costs.relative_range([costs.peak_rss(run) for run in series.runs("rss", sessions)]) or 0.0


def difference(first: Series, other: Series, sessions: int) -> Cell:
    before, after = peak_cell(first, sessions), peak_cell(other, sessions)
    if before.value is None or after.value is None:
        return hole("nothing to compare with")
    change = 100 * (after.value - before.value) / before.value
    if abs(change) <= 100 * max(noise(first, sessions), noise(other, sessions)):
        return Cell("no change", round(change, 3), "not beyond the spread of repeats")
    return Cell(f"{change:+.1f} %", round(change, 3))


def peaks(selection: Selection, sessions: Sequence[int] | None = None) -> Table:
    """One row a setting and number of sessions, one column a stack, then each against the first."""
    stacks = selection.stacks
    columns = [*columns_of(selection), Column("sessions", "N")]
    columns += [Column(f"{stack} peak_rss_kib", f"{stack} KiB") for stack in stacks]
    columns += [Column(f"{stack} difference_percent", f"{stack} against {stacks[0]}") for stack in stacks[1:]]
    caption = f"N sessions are N/2 clients and N/2 servers in one process. Minus: less memory. {constant(selection)}."
    table = Table("peaks", "Peak RSS of the process", caption, columns)
    for setting in selection.settings:
        series = [selection.series(stack, setting) for stack in stacks]
        present = {one.sessions for of_stack in series for one in of_stack.of("rss")}
        for count in sorted(present & set(sessions or present)):
            cells = [peak_cell(of_stack, count) for of_stack in series]
            cells += [difference(series[0], other, count) for other in series[1:]]
            table.rows.append([*cells_of(selection, setting), Cell(f"{count:,}", count), *cells])
    return table


# The C10K figure


def c10k_row(series: Series) -> list[Cell]:
    """KiB, MiB, and where they are from."""
    runs = series.full("rss")
    figure = costs.c10k(costs.medians(runs, costs.peak_rss))
    if not figure:
        return [hole(f"N = {runs[0].sessions:,} only, not enough for a line" if runs else series.reason("rss"))] * 3
    value, measured = figure
    return [
        kib(value),
        Cell(f"{value / MIB:,.1f}", round(value / MIB, 3)),
        word("measured" if measured else "from the fit"),
    ]


def c10k(selection: Selection) -> Table:
    columns = [*columns_of(selection), Column("stack", "stack", left=True)]
    columns += [Column("peak_rss_kib", "KiB"), Column("peak_rss_mib", "MiB"), Column("origin", "origin", left=True)]
    caption = (
        "Peak RSS of one process with 5,000 client and 5,000 server sessions, what it has at no sessions included. "
        f"1 MiB is 1,048,576 bytes. {constant(selection)}."
    )
    table = Table("c10k", "C10K figure", caption, columns)
    for setting in selection.settings:
        for stack in selection.stacks:
            row = c10k_row(selection.series(stack, setting))
            table.rows.append([*cells_of(selection, setting), word(stack), *row])
    return table


# The law: memory = fixed + N E + W H

Peak = Callable[[Record], int]


def heap_of(role: str) -> Peak:
    return lambda record: law.peak_heap(record, role)


# What is measured: its meter, the sessions of N that it counts (of a role: half), and its peak
QUANTITIES: dict[str, tuple[Meter, int, Peak]] = {
    "RSS": ("rss", 1, law.peak_rss),
    "live heap": ("heap", 1, heap_of("total")),
    "live heap, clients": ("heap", 2, heap_of("client")),
    "live heap, servers": ("heap", 2, heap_of("server")),
}


def split(runs: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Runs with the smallest and the largest window, for the fit; and those between at the largest N, for the check."""
    widths = {run.window: float("inf") if run.window == "all" else run.window for run in runs}
    ends = {min(widths, key=widths.get), max(widths, key=widths.get)} if widths else set()
    between = [run for run in runs if run.window not in ends and run.window < run.sessions // 2]
    most = max((run.sessions for run in between), default=0)
    return [run for run in runs if run.window in ends], [run for run in between if run.sessions == most]


def checked(fitted: law.Law, runs: Sequence[Record], share: int, peak: Peak) -> Cell:
    """The largest error of the law at windows that it was not fitted to."""
    errors = [(peak(run) / fitted.at(run.sessions // share, law.pairs_at_once(run)) - 1, run) for run in runs]
    if not errors:
        return hole("no window between the smallest and the largest to check it at")
    error, run = max(errors, key=lambda one: abs(one[0]))
    text = f"{round(100 * error, 2) + 0.0:+.2f} % at N = {run.sessions:,}, W = {law.pairs_at_once(run):,}"
    return Cell(text, {"error": round(error, 6), "sessions": run.sessions, "window": law.pairs_at_once(run)})


def law_row(runs: Sequence[Record], name: str) -> list[Cell]:
    """Fixed, E, H, check."""
    meter, share, peak = QUANTITIES[name]
    fitted, held_out = split([run for run in runs if run.meter == meter and run.status == "measured"])
    found = law.fit([(run.sessions // share, law.pairs_at_once(run), peak(run)) for run in fitted])
    if not found:
        return [hole("not enough runs: it takes two windows, and two numbers of sessions")] * 4
    terms = [Cell(f"{round(value) + 0:,}", round(value, 1)) for value in (found.kept, found.handshake)]
    return [Cell(f"{found.fixed / KIB:,.0f} KiB", round(found.fixed)), *terms, checked(found, held_out, share, peak)]


def laws(selection: Selection) -> Table:
    keys = {
        "fixed_bytes": "fixed",
        "kept_bytes": "E, bytes per session",
        "handshake_bytes": "H, bytes per handshake",
    }
    names = [Column(name, name, left=True) for name in ("suite", "allocator", "stack", "quantity")]
    columns = [
        *names,
        *(Column(key, heading) for key, heading in keys.items()),
        Column("check", "measured against the law"),
    ]
    caption = (
        "Peak while handshakes are under way = fixed + N·E + W·H, with N sessions (clients or servers alone: half of "
        "them) and W pairs in the handshake at once. Fitted to the smallest and the largest window, checked at others."
    )
    table = Table("law", "The law of memory", caption, columns)
    for suite, allocator in dict.fromkeys((one.suite, one.allocator) for one in selection.settings):
        for stack in selection.stacks:
            runs = [
                r
                for r in selection.records
                if r.stack == stack and (Setting.of(r).suite, Setting.of(r).allocator) == (suite, allocator)
            ]
            for name in QUANTITIES:
                table.rows.append([word(suite), word(allocator), word(stack), word(name), *law_row(runs, name)])
    return table
