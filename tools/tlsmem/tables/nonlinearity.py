"""Where a line of RSS bends, by how much, and why as far as the books tell."""

from dataclasses import dataclass
from itertools import pairwise, starmap
from statistics import median, median_low

from tlsmem.schema.records import Record
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.repeats import ASSUMED
from tlsmem.stats.selection import Selection, Series
from tlsmem.stats.session_cost import KIB, Quantity
from tlsmem.tables.rss_accounts import AT, Measure, at_end, each, named, names
from tlsmem.tables.settings import constant
from tlsmem.tables.table import Cell, Column, Table, hole, word

PAGE = 4 * KIB
ONCE_BYTES = 128 * KIB  # what is no bend in runs made once: RssFile repeats within 100 KiB, slopes within ASSUMED


@dataclass(frozen=True)
class Step:
    """From one N to the next."""

    low: int
    high: int
    increment: float  # bytes per pair
    spread: float  # bytes per pair that repeats explain

    @property
    def pairs(self) -> int:
        return self.high // 2 - self.low // 2


@dataclass(frozen=True)
class Bend:
    step: Step
    usual: Step
    excess: float  # bytes per pair beyond the usual increment


def steps(points: dict[int, list[int]]) -> list[Step]:
    """Between neighbouring N, of the values of all repeats: sessions to bytes."""
    found = []
    for (low, before), (high, after) in pairwise(sorted(points.items())):
        pairs = high // 2 - low // 2
        increment = (median(after) - median(before)) / pairs
        if min(len(before), len(after)) > 1:
            spread = (max(before) - min(before) + max(after) - min(after) + PAGE) / pairs
        else:
            spread = max(ONCE_BYTES / pairs, ASSUMED * abs(increment))
        found.append(Step(low, high, increment, spread))
    return found


def usual(found: list[Step]) -> Step:
    """The one in the middle; of two the smaller."""
    increment = median_low(step.increment for step in found)
    return next(step for step in found if step.increment == increment)


def bends(points: dict[int, list[int]]) -> list[Bend]:
    """Increments that differ from the usual one by more than the repeats of both explain."""
    found = steps(points)
    if len(found) < 2:
        return []
    reference = usual(found)
    odd = (Bend(step, reference, step.increment - reference.increment) for step in found)
    return [bend for bend in odd if abs(bend.excess) > bend.step.spread + reference.spread]


# Why: the first part of the memory that has at least half of the excess over the same sessions.

TABLES = {"client_context": "the client's context", "server_context": "the server's context", "harness": "the process"}
BOOKS: dict[str, Measure] = {
    "live memory, by the allocator's books": allocator_statistics.usable,
    "pages that hold nothing live: free memory": lambda phase: (
        phase.rss_anon_bytes - allocator_statistics.usable(phase)
    ),
}
MAPPED: dict[str, Measure] = {
    "large blocks, each a mapping of its own (glibc's hblkhd)": lambda phase: phase.allocator["glibc"]["hblkhd_bytes"]
}
PAGES: dict[str, Measure] = {
    "pages of files": lambda phase: phase.rss_file_bytes,
    "shared memory": lambda phase: phase.rss_shmem_bytes,
    "anonymous memory, of which no books tell more": lambda phase: phase.rss_anon_bytes,
}


def parts(runs: list[Record], phase: str) -> dict[str, Measure]:
    """Those that the records tell of."""
    ends = [session_cost.phase_of(run, phase) for run in runs]
    told = BOOKS if not any(allocator_statistics.untold(allocator_statistics.USABLE, end) for end in ends) else {}
    mapped = MAPPED if all("hblkhd_bytes" in (end.allocator or {}).get("glibc", {}) for end in ends) else {}
    return mapped | told | PAGES


def increment(runs: list[Record], quantity: Quantity, step: Step) -> float | None:
    """Bytes per pair over the sessions of the step; None when they were not measured."""
    points = session_cost.medians(runs, quantity)
    return (points[step.high] - points[step.low]) / step.pairs if {step.low, step.high} <= set(points) else None


def grown(heap: list[Record], bend: Bend, phase: str) -> str | None:
    """What is live of a context or the process is the same for any N, unless a table of theirs grew."""
    for role, name in TABLES.items():
        added = increment(heap, at_end(lambda end, role=role: getattr(end.heap, role).live_bytes, phase), bend.step)
        if added and added / bend.excess >= 0.5:
            return f"a table of {name} grew by {added * bend.step.pairs:,.0f} B of live heap"
    return None


def reason(series: Series, bend: Bend, phase: str) -> str:
    """As far as the meters tell, at the end of the phase."""
    runs = series.full("rss")
    if why := grown(series.runs("heap"), bend, phase):
        return why
    for name, measure in parts(runs, phase).items():
        quantity = at_end(measure, phase)
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
    return [("peak of the run", session_cost.peak_rss, peak_phase(runs)), (AT, session_cost.rss_at_end(AT), AT)]


def rows(series: Series) -> list[list[Cell]]:
    """A row a bend; one row that says so of a line that could not be judged."""
    runs, found = series.full("rss"), []
    if len({run.sessions for run in runs}) < 3:
        return [[word("any"), *[hole("two increments need three N")] * 5]]
    for at, quantity, phase in places(runs):
        found += [[word(at), *row(series, bend, phase)] for bend in bends(session_cost.repeats(runs, quantity))]
    return found


def row(series: Series, bend: Bend, phase: str) -> list[Cell]:
    step = bend.step
    return [
        Cell(f"{step.low:,} to {step.high:,}", {"from": step.low, "to": step.high}),
        Cell(f"{bend.excess:+,.0f}", round(bend.excess, 1)),
        Cell(f"{bend.excess * step.pairs:+,.0f}", round(bend.excess * step.pairs)),
        Cell(f"{step.spread + bend.usual.spread:,.0f}", round(step.spread + bend.usual.spread, 1)),
        word(reason(series, bend, phase)),
    ]


COLUMNS = (
    ("at", "RSS", True),
    ("sessions", "N", True),
    ("excess_bytes_per_pair", "bytes per pair beyond the usual"),
    ("excess_bytes", "in all"),
    ("spread_bytes_per_pair", "spread of repeats"),
    ("reason", "what grew", True),
)


def bending(selection: Selection) -> bool:
    """Whether any line bends."""
    lines = (series.full("rss") for *_, series in each(selection))
    return any(bends(session_cost.repeats(runs, of)) for runs in lines if runs for _, of, _ in places(runs))


def bent(selection: Selection) -> Table:
    caption = (
        "Where the increment from one N to the next differs from the usual one (the middle of all) by more than the "
        f"repeats of both lie apart; of runs made once by more than {100 * ASSUMED:g} % of "
        f"both, and {ONCE_BYTES // KIB} KiB in all of each. Lines that are not named do not bend. "
        f"{constant(selection)}."
    )
    table = Table("bends", "Where the line of RSS bends", caption, [*named(selection), *starmap(Column, COLUMNS)])
    for *_, series in each(selection):
        if series.full("rss"):
            head = names(selection, series)
            table.rows += [[*head, *cells] for cells in rows(series)]
    return table
