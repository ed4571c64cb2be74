"""Where a line of RSS bends, by how much, and why as far as the books tell."""

from itertools import starmap

from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.bends import ONCE_BYTES, Bend, SessionStep, find_bends
from tlsmem.stats.exact_slope import ESTABLISHED, PhaseQuantity, quantity_at_end
from tlsmem.stats.repeats import ASSUMED_SPREAD
from tlsmem.stats.selection import Selection, Series
from tlsmem.stats.session_cost import KIB, Quantity
from tlsmem.tables.rss_accounts import processes_with_rss, row_name_cells, row_name_columns
from tlsmem.tables.settings import describe_common_settings
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

# Why: the first part of the memory that has at least half of the excess over the same sessions.

TABLES = {"client_context": "the client's context", "server_context": "the server's context", "harness": "the process"}
BOOKS: dict[str, PhaseQuantity] = {
    "live memory, by the allocator's books": allocator_statistics.live_bytes,
    "pages that hold nothing live: free memory": lambda phase: (
        phase.rss_anon_bytes - allocator_statistics.live_bytes(phase)
    ),
}
MAPPED: dict[str, PhaseQuantity] = {
    "large blocks, each a mapping of its own (glibc's hblkhd)": lambda phase: phase.allocator["glibc"]["hblkhd_bytes"]
}
PAGES: dict[str, PhaseQuantity] = {
    "pages of files": lambda phase: phase.rss_file_bytes,
    "shared memory": lambda phase: phase.rss_shmem_bytes,
    "anonymous memory, of which no books tell more": lambda phase: phase.rss_anon_bytes,
}


def parts(runs: list[Record], phase: str) -> dict[str, PhaseQuantity]:
    """Those that the records tell of."""
    ends = [session_cost.phase_of(run, phase) for run in runs]
    told = (
        BOOKS
        if not any(allocator_statistics.unknown_reason(allocator_statistics.LIVE_FIELDS, end) for end in ends)
        else {}
    )
    mapped = MAPPED if all("hblkhd_bytes" in (end.allocator or {}).get("glibc", {}) for end in ends) else {}
    return mapped | told | PAGES


def increment(runs: list[Record], quantity: Quantity, step: SessionStep) -> float | None:
    """Bytes per pair over the sessions of the step; None when they were not measured."""
    points = session_cost.medians(runs, quantity)
    return (points[step.high] - points[step.low]) / step.pairs if {step.low, step.high} <= set(points) else None


def describe_grown_table(heap: list[Record], bend: Bend, phase: str) -> str | None:
    """What is live of a context or the process is the same for any N, unless a table of theirs grew."""
    for role, name in TABLES.items():
        added = increment(
            heap, quantity_at_end(lambda end, role=role: getattr(end.heap, role).live_bytes, phase), bend.step
        )
        if added and added / bend.excess >= 0.5:
            return f"a table of {name} grew by {added * bend.step.pairs:,.0f} B of live heap"
    return None


def reason(series: Series, bend: Bend, phase: str) -> str:
    """As far as the meters tell, at the end of the phase."""
    runs = series.full("rss")
    if why := describe_grown_table(series.runs("heap"), bend, phase):
        return why
    for name, measure in parts(runs, phase).items():
        quantity = quantity_at_end(measure, phase)
        excess = increment(runs, quantity, bend.step) - increment(runs, quantity, bend.usual)
        if excess / bend.excess >= 0.5:
            return f"{name} ({excess:+,.0f} B per pair)"
    return "not known"


# The table


def peak_phase(runs: list[Record]) -> str:
    """Where the peak of the largest run lies."""
    return max(runs[-1].phases, key=lambda phase: phase.peak_rss_bytes).phase


def places(runs: list[Record]) -> list[tuple[str, Quantity, str]]:
    """Of which RSS, and the phase whose end tells most of it."""
    return [
        ("peak of the run", session_cost.peak_rss, peak_phase(runs)),
        (ESTABLISHED, session_cost.rss_at_end(ESTABLISHED), ESTABLISHED),
    ]


def rows(series: Series) -> list[list[Cell]]:
    """A row a bend; one row that says so of a line that could not be judged."""
    runs, found = series.full("rss"), []
    if len({run.sessions for run in runs}) < 3:
        return [[text_cell("any"), *[missing_cell("two increments need three N")] * 5]]
    for at, quantity, phase in places(runs):
        found += [
            [text_cell(at), *row(series, bend, phase)]
            for bend in find_bends(session_cost.values_by_sessions(runs, quantity))
        ]
    return found


def row(series: Series, bend: Bend, phase: str) -> list[Cell]:
    step = bend.step
    return [
        Cell(f"{step.low:,} to {step.high:,}", {"from": step.low, "to": step.high}),
        Cell(f"{bend.excess:+,.0f}", round(bend.excess, 1)),
        Cell(f"{bend.excess * step.pairs:+,.0f}", round(bend.excess * step.pairs)),
        Cell(f"{step.spread + bend.usual.spread:,.0f}", round(step.spread + bend.usual.spread, 1)),
        text_cell(reason(series, bend, phase)),
    ]


COLUMNS = (
    ("at", "RSS", True),
    ("sessions", "N", True),
    ("excess_bytes_per_pair", "bytes per pair beyond the usual"),
    ("excess_bytes", "in all"),
    ("spread_bytes_per_pair", "spread of repeats"),
    ("reason", "what grew", True),
)


def has_bends(selection: Selection) -> bool:
    """Whether any line bends."""
    lines = (series.full("rss") for *_, series in processes_with_rss(selection))
    return any(
        find_bends(session_cost.values_by_sessions(runs, of)) for runs in lines if runs for _, of, _ in places(runs)
    )


def nonlinearity_table(selection: Selection) -> Table:
    caption = (
        "Where the increment from one N to the next differs from the usual one (the middle of all) by more than the "
        f"repeats of both lie apart; of runs made once by more than {100 * ASSUMED_SPREAD:g} % of "
        f"both, and {ONCE_BYTES // KIB} KiB in all of each. Lines that are not named do not bend. "
        f"{describe_common_settings(selection)}."
    )
    table = Table(
        "bends", "Where the line of RSS bends", caption, [*row_name_columns(selection), *starmap(Column, COLUMNS)]
    )
    for *_, series in processes_with_rss(selection):
        if series.full("rss"):
            head = row_name_cells(selection, series)
            table.rows += [[*head, *cells] for cells in rows(series)]
    return table
