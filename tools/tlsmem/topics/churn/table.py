"""The table `churn`: what waves of sessions leave, and whether it grows.

A column is one entry of COLUMNS: what it takes of a Churn, and how that is written. The numbers are those of
tlsmem/topics/churn/waves.py."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from tlsmem.base.printable import strip_suite
from tlsmem.config.scenarios import CHURN_PATTERNS
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.session_cost import MIB
from tlsmem.store.record import Record
from tlsmem.tables.runtime import GOROUTINES_NOTE, OBJECTS_NOTE, Size, size_cell, size_if_known
from tlsmem.tables.table import Cell, Column, Table, optional, text_cell
from tlsmem.topics.churn.waves import HEAP_TOLERANCE_BYTES, RSS_TOLERANCE, Churn, Trend, find_churn

CAPTION = (
    "Session: live heap that closing one session frees, after it has carried its data. Left: live heap of the role and "
    "its context when the first and the last wave have ended, beyond that before the first wave and without sessions "
    "still open. Slope: bytes that a wave adds, by Theil and Sen, without the first quarter of the waves; ± is half of "
    "the 95 % confidence interval. "
    f"Growing: the interval is above {HEAP_TOLERANCE_BYTES} B a wave; for RSS, above {100 * RSS_TOLERANCE:g} % of it. "
    "RSS added: anonymous memory of the role's process beyond that before the first wave, when a wave's sessions are "
    "all open; RSS ended: the same when the last wave has ended. Both leave out what the process and its allocator had "
    "before. Whole process, peak: the highest RSS of any wave, with nothing left out, so it is not comparable with "
    "RSS added. Resident / live: RSS added for each byte of live heap in the last wave, when its sessions are open and "
    "when it has ended."
)


def slope_cell(trend: Trend) -> Cell:
    """`+64 B` a wave, with ± where the interval has a width."""
    half = (trend.high - trend.low) / 2
    digits = 0 if float(trend.slope).is_integer() or abs(trend.slope) >= 10 else 1
    width = f" ± {half:,.{digits}f}" if round(half, digits) else ""
    return Cell(f"{'+' if trend.slope > 0 else ''}{trend.slope:,.{digits}f}{width}", trend.slope)


def ratio_cell(value: float) -> Cell:
    """`1.27`."""
    return Cell(f"{value:,.2f}", round(value, 4))


def mebibyte_cell(size: int) -> Cell:
    """The number alone; the heading has the unit."""
    return Cell(f"{size / MIB:,.2f}", size)


def verdict(trend: Trend | Missing) -> str | Missing:
    """Return the word for a trend."""
    return map_present(lambda trend: trend.verdict, trend)


def size(row: Churn, value: Fraction | Missing, note: str) -> Size | Missing:
    """Return the value, with the note where a runtime tells it."""
    return size_if_known(value, note if row.by_runtime else None)


def setting(key: str) -> Callable[[Churn], str]:
    """Return what takes a setting of the scenario."""
    return lambda row: dict(row.settings)[key]


def rss_of_wave(phase: str, wave: int) -> Callable[[Churn], int | Missing]:
    """Return what takes the RSS at the end of this phase of a wave, by its index."""
    return lambda row: map_present(lambda values: values[wave], row.rss_after(phase))


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("suite", "suite", left=True, usual="tls13-rsa-aes256", value=lambda row: row.suite),
    Column("pattern", "pattern", left=True, value=lambda row: row.pattern),
    Column("allocator", "allocator", left=True, usual="system", value=lambda row: row.allocator),
    Column("threads", "threads", left=True, usual="1", value=setting("threads")),
    Column("trim", "trim", left=True, usual="off", value=setting("trim")),
    Column("window", "window", left=True, usual="all", value=lambda row: str(row.record.window)),
    Column("role", "role", left=True, value=lambda row: row.role),
    optional(Column("waves", "waves", value=lambda row: int(setting("waves")(row)), form=lambda n: Cell(f"{n:,}", n))),
    Column("session_bytes", "session", value=lambda row: size(row, row.session_bytes, OBJECTS_NOTE), form=size_cell),
    Column(
        "left_first_bytes",
        "left, first",
        value=lambda row: size(row, row.left_bytes(0), GOROUTINES_NOTE),
        form=size_cell,
    ),
    Column(
        "left_last_bytes",
        "left, last",
        value=lambda row: size(row, row.left_bytes(-1), GOROUTINES_NOTE),
        form=size_cell,
    ),
    Column("heap_slope_bytes", "slope", value=lambda row: row.heap_trend, form=slope_cell),
    Column("heap_verdict", "live heap", left=True, value=lambda row: verdict(row.heap_trend), form=text_cell),
    Column("rss_first_bytes", "RSS added, first, MiB", value=rss_of_wave("open", 0), form=mebibyte_cell),
    Column("rss_last_bytes", "last", value=rss_of_wave("open", -1), form=mebibyte_cell),
    optional(
        Column("peak_rss_bytes", "whole process, peak, MiB", value=lambda row: row.peak_rss_bytes, form=mebibyte_cell)
    ),
    Column("rss_slope_bytes", "RSS slope", value=lambda row: row.rss_trend, form=slope_cell),
    Column("rss_verdict", "RSS", left=True, value=lambda row: verdict(row.rss_trend), form=text_cell),
    Column("open_ratio", "resident / live, open", value=lambda row: row.fragmentation("open", -1), form=ratio_cell),
    Column("closed_ratio", "ended", value=lambda row: row.fragmentation("closed", -1), form=ratio_cell),
    Column("kept_bytes", "RSS ended, MiB", value=rss_of_wave("closed", -1), form=mebibyte_cell),
)


def churn_table(records: Sequence[Record]) -> Table:
    """A row a stack, pattern, allocator and role."""
    found = find_churn(records)
    table = Table("churn", "Sessions that come and go", CAPTION, list(COLUMNS))
    table.add_rows(one for one in found if not one.refusal)
    refused = dict.fromkeys((one.stack, strip_suite(one.refusal)) for one in found if one.refusal)
    table.without = [f"{stack}: {reason}" for stack, reason in refused]
    return table


def describe_patterns(records: Sequence[Record]) -> list[str]:
    """Return a sentence for each pattern that the records have."""
    patterns = dict.fromkeys(one.pattern for one in find_churn(records))
    return [f"{pattern}: {CHURN_PATTERNS[pattern]}" for pattern in patterns]
