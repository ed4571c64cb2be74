"""The tables of live runs: what a connection to a real server costs, and what is left when connections are closed;
and what the RSS of a connection is made of.

A column is one entry of COLUMNS: what it takes of a row, and how that is written."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from tlsmem.config.choices import PACKAGED
from tlsmem.config.libraries import stack_title
from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import (
    LiveSeries,
    Reading,
    group_live,
    group_variants,
    is_constant,
    name_program,
    short_version,
)
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.stats.session_cost import Line
from tlsmem.tables.table import Cell, Column, Table, integer_cell, optional, quotient_cell
from tlsmem.topics.live.rss import RssParts, split_rss

RSS_CAPTION = (
    "Bytes of one connection, without a remainder. Live heap: by the heap meter. Headers: what glibc's malloc adds to "
    "its blocks, rounding included. Not written: bytes of live blocks on pages that are not resident. Free: what the "
    "server freed and malloc keeps, on resident pages. Other: anonymous memory outside malloc's heap. The sum is RSS, "
    "with what is not written taken off and page tables added. All are slopes over numbers of connections. Free "
    "chunks: how many of each size a connection leaves in the largest run, from 0.1 on."
)
CAPTION = (
    "Bytes that one connection adds to a real server and to the kernel, on loopback sockets. Live heap: requested and "
    "not freed, by the heap meter, the same from each number of connections to the next unless a note says otherwise. "
    "RSS: anonymous memory and page tables, the slope over numbers of connections. Peak RSS: all memory, the highest "
    "so far. Kernel: what the memory cgroup of each end is charged. Together: the server's RSS and kernel bytes."
)
STATES = ("connected", "half-open", "established", "one request", "full records", "idle", "collected")
LEFT_CAPTION = (
    "What a server keeps when all connections are closed, and in waves of as many connections after that: MiB of RSS "
    "beyond those of the server before. Live heap left: bytes when all are closed, of the run under the heap meter."
)
MIB = 2**20


class LiveRow(NamedTuple):
    """A state of the connections of a series."""

    series: LiveSeries
    state: str

    def heap(self, reading: Reading) -> Fraction | Missing:
        """Return what the largest run says; where runs differ the cell has a note."""
        found = self.series.increments(self.state, reading)
        return found[max(found)] if found else Missing("no run under the heap meter")

    def line(self, reading: Reading) -> Line | Missing:
        return self.series.line(self.state, reading)

    @property
    def together(self) -> float | Missing:
        user, kernel = self.line(live_costs.rss_bytes), self.line(live_costs.server_kernel_bytes)
        return map_present(lambda user, kernel: user.slope + kernel.slope, user, kernel)


def name_transport(series: LiveSeries) -> str:
    """`plain`, or TLS with its version, as it was negotiated; `hollow` where clients dropped their state of it."""
    protocols = {run.negotiated["protocol"] for run in series.runs if run.negotiated}
    kind = series.variant.describe().removeprefix(series.variant.protocol)
    return " ".join(sorted(protocols)) + kind + ", hollow" * series.hollow or "plain"


def name_build(built: LiveRecord | LiveSeries) -> str:
    """`haproxy on awslc@5.12.0`, or `haproxy` as it is packaged."""
    return f"{built.server} on {built.stack}" if built.stack else built.server


def name_window(series: LiveSeries) -> str:
    """How many handshakes were under way; of plain connections nothing is to be said."""
    return "" if series.transport == "plain" else "all" if series.window is None else f"{series.window:,}"


def describe_heap(row: LiveRow, reading: Reading) -> Cell:
    """Whole where it is; with a note where it differs with the number of connections."""
    found = row.series.increments(row.state, reading)
    value = found[max(found)]
    cell = quotient_cell(value.numerator, value.denominator, digits=1)
    if len(found) > 1 and not is_constant(list(found.values())):
        each = ", ".join(f"{float(one):,.1f} at {count:,}" for count, one in sorted(found.items()))
        return Cell(cell.text, cell.value, f"not alike: {each}")
    return cell


def add_builds(
    columns: Sequence[Column], records: Iterable[LiveRecord], built: Callable[[Any], LiveSeries | LiveRecord]
) -> list[Column]:
    """Return a table's columns, with others after that of the server: its version where a server has several, and the
    stack where one was built on a stack. `built`: of a row."""
    records, more = list(records), []
    if len({one.reported for one in records}) > len({one.server for one in records}):
        more.append(Column("version", "version", left=True, value=lambda row: short_version(built(row).reported)))
    if any(one.stack for one in records):
        more.append(Column("stack", "built on", left=True, value=lambda row: built(row).stack or PACKAGED))
    return [columns[0], *more, *columns[1:]]


def heap_column(key: str, heading: str, reading: Reading) -> Column:
    """Of live bytes or blocks."""

    def value(row: LiveRow) -> LiveRow | Missing:
        return map_present(lambda _: row, row.heap(reading))

    return Column(key, heading, value=value, form=lambda row: describe_heap(row, reading))


def slope_cell(line: Line) -> Cell:
    """With the largest residual where that is more than 1 %."""
    share = abs(line.residual_share)
    note = f"largest residual {share:.1%}".replace("%", " %") if not line.is_quotient and share > 0.01 else None
    return Cell(f"{line.slope:,.0f}", line.slope, note)


def slope_column(key: str, heading: str, reading: Reading) -> Column:
    return Column(key, heading, value=lambda row: row.line(reading), form=slope_cell)


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("transport", "transport", left=True, value=lambda row: name_transport(row.series)),
    Column("window", "handshakes", left=True, value=lambda row: name_window(row.series)),
    Column("state", "state", left=True, value=lambda row: row.state),
    heap_column("live_bytes", "live heap", live_costs.live_bytes),
    optional(heap_column("live_blocks", "blocks", live_costs.live_blocks)),
    slope_column("rss_bytes", "RSS", live_costs.rss_bytes),
    slope_column("peak_rss_bytes", "peak RSS", live_costs.peak_rss_bytes),
    slope_column("server_kernel_bytes", "kernel", live_costs.server_kernel_bytes),
    slope_column("client_kernel_bytes", "kernel, client", live_costs.client_kernel_bytes),
    Column(
        "together_bytes",
        "together",
        value=lambda row: row.together,
        form=lambda size: Cell(f"{size:,.0f}", size),
    ),
)


def live_table(records: Sequence[LiveRecord]) -> Table:
    """A row for each state of each series."""
    columns = add_builds(COLUMNS, records, lambda row: row.series)
    table = Table("live", "A connection to a real server", f"{CAPTION} {describe(records)}", columns)
    table.add_rows(
        LiveRow(series, state)
        for series in group_variants(records)
        for state in series.phases
        if state in STATES and series.measured("rss")
    )
    measured = {one.key for one in records if one.status == "measured"}
    failed = [one for one in records if one.status == "failed" and one.key not in measured]
    table.without = [f"{name_build(one)}, {one.connections:,} connections: {one.reason}" for one in failed]
    return table


def describe(records: Iterable[LiveRecord]) -> str:
    """Which server, which library, which kernel."""
    records = list(records)
    reported = dict.fromkeys(one.reported for one in records)
    libraries = dict.fromkeys(one.tls_library for one in records if one.tls_library)
    kernels = dict.fromkeys(f"Linux {one.machine.kernel}" for one in records)
    counts = sorted({one.connections for one in records})
    numbers = f"N = {', '.join(f'{count:,}' for count in counts)}"
    return f"{'; '.join([*reported, *libraries, *kernels, numbers])}."


def describe_live(records: Iterable[LiveRecord]) -> str:
    """Return the servers with their library, the machine and the days, as a picture's caption has it."""
    records = list(records)
    named = [(name_program(one), stack_title(one.stack) if one.stack else one.tls_library) for one in records]
    what = dict.fromkeys(item for pair in named for item in pair if item)
    machines = dict.fromkeys(
        f"{one.machine.cpu}, {one.machine.cpus} CPUs, Linux {one.machine.kernel}" for one in records
    )
    days = sorted({one.started_at[:10] for one in records})
    return f"{'; '.join([*what, *machines])}. Recorded {' to '.join(dict.fromkeys((days[0], days[-1])))}."


class LeftRow(NamedTuple):
    """One run: what is left when its connections are closed; and the one under the heap meter beside it."""

    run: LiveRecord
    metered: LiveRecord | None

    @property
    def left_bytes(self) -> int | Missing:
        found = live_costs.added(self.metered, "settled", live_costs.live_bytes) if self.metered else None
        return Missing("no run under the heap meter") if found is None else found

    def added(self, phase: str, reading: Reading) -> int | Missing:
        found = live_costs.added(self.run, phase, reading)
        return Missing("no such phase") if found is None else found


def mib_cell(size: float) -> Cell:
    return Cell(f"{size / MIB:,.1f}", size)


def rss_column(key: str, heading: str, phase: str) -> Column:
    return Column(key, heading, value=lambda row: row.added(phase, live_costs.rss_bytes), form=mib_cell)


def left_columns(records: Sequence[LiveRecord]) -> Iterator[Column]:
    """Of the phases that the runs have; waves in order."""
    yield Column("server", "server", left=True, value=lambda row: row.run.server)
    yield Column("transport", "transport", left=True, value=lambda row: row.run.transport)
    yield Column("connections", "connections", value=lambda row: row.run.connections, form=integer_cell)
    yield Column("window", "handshakes", value=lambda row: row.run.window, form=integer_cell)
    yield rss_column("open_bytes", "open", "established")
    yield rss_column("closed_bytes", "closed", "closed")
    yield rss_column("settled_bytes", "later", "settled")
    yield optional(Column("left_bytes", "live heap left", value=lambda row: row.left_bytes, form=integer_cell))
    waves = dict.fromkeys(one.phase for run in records for one in run.phases if one.phase.startswith("wave "))
    for name in waves:
        yield rss_column(f"{name.replace(' ', '_')}_bytes", name, name)


def left_table(records: Sequence[LiveRecord]) -> Table:
    """A row for each RSS run over TLS."""
    over_tls = [one for one in group_live(records) if one.transport == "tls"]
    runs = [one for series in over_tls for one in series.measured("rss")]
    columns = add_builds(list(left_columns(runs)), runs, lambda row: row.run)
    table = Table("live-left", "What a server keeps", LEFT_CAPTION, columns)
    for series in over_tls:
        metered = {run.connections: run for run in series.measured("heap")}
        table.add_rows(LeftRow(run, metered.get(run.connections)) for run in series.measured("rss"))
    return table


def build(records: Sequence[LiveRecord]) -> list[Table]:
    """Both tables."""
    return [live_table(records), left_table(records)]


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


RSS_COLUMNS = (
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


def rss_table(records: Sequence[LiveRecord]) -> Table:
    """A row for each state of the series in whose runs malloc's chunks were read."""
    columns = add_builds(RSS_COLUMNS, records, lambda row: row.series)
    table = Table("live-rss", "What the RSS of a connection is made of", RSS_CAPTION, columns)
    for series in group_live(records):
        states = [state for state in STATES if state in series.phases]
        rows = (map_present(partial(RssRow, series, state), split_rss(series, state)) for state in states)
        table.add_rows(keep_present(rows))
    return table
