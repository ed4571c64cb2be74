"""The table of what the RSS of a real server's connection is made of."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats.live_costs import LiveSeries, group_live
from tlsmem.stats.live_rss import RssParts, split_rss
from tlsmem.stats.missing import keep_present, map_present
from tlsmem.tables.live import STATES, name_transport, name_window
from tlsmem.tables.table import Cell, Column, Table

CAPTION = (
    "Bytes of one connection, without a remainder. Live heap: by the heap meter. Headers: what glibc's malloc adds to "
    "its blocks, rounding included. Not written: bytes of live blocks on pages that are not resident. Free: what the "
    "server freed and malloc keeps, on resident pages. Other: anonymous memory outside malloc's heap. The sum is RSS, "
    "with what is not written taken off and page tables added. All are slopes over numbers of connections. Free "
    "chunks: how many of each size a connection leaves in the largest run, from 0.1 on."
)


class RssRow(NamedTuple):
    """A state of the connections of a series."""

    series: LiveSeries
    state: str
    parts: RssParts


def part_column(key: str, heading: str, value: Callable[[RssParts], float]) -> Column:
    """Bytes of one part."""
    return Column(key, heading, value=lambda row: value(row.parts), form=bytes_cell)


def bytes_cell(size: float) -> Cell:
    """Whole bytes, with a true minus sign; as measured for programs."""
    return Cell(f"{round(size):,}".replace("-", "−"), size)


def sizes_cell(sizes: dict[int, float]) -> Cell:
    """`0.96 × 8,208; 0.97 × 4,112`."""
    return Cell("; ".join(f"{share:.2f} × {size:,}" for size, share in sizes.items()), None)


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("transport", "transport", left=True, value=lambda row: name_transport(row.series)),
    Column("window", "handshakes", left=True, value=lambda row: name_window(row.series)),
    Column("state", "state", left=True, value=lambda row: row.state),
    part_column("live_bytes", "live heap", lambda parts: parts.live_bytes),
    part_column("overhead_bytes", "headers", lambda parts: parts.overhead_bytes),
    part_column("unwritten_bytes", "not written", lambda parts: parts.unwritten_bytes),
    part_column("free_bytes", "free", lambda parts: parts.free_bytes),
    part_column("other_bytes", "other", lambda parts: parts.other_bytes),
    part_column("page_table_bytes", "page tables", lambda parts: parts.page_table_bytes),
    part_column("rss_bytes", "RSS", lambda parts: parts.rss_bytes),
    Column("free_sizes", "free chunks", left=True, value=lambda row: row.parts.free_sizes, form=sizes_cell),
)


def rss_table(records: Iterable[LiveRecord]) -> Table:
    """A row for each state of the series in whose runs malloc's chunks were read."""
    table = Table("live-rss", "What the RSS of a connection is made of", CAPTION, list(COLUMNS))
    for series in group_live(records):
        states = [state for state in STATES if state in series.phases]
        rows = (map_present(partial(RssRow, series, state), split_rss(series, state)) for state in states)
        table.add_rows(keep_present(rows))
    return table
