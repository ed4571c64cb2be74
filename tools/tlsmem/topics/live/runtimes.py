"""Managed runtimes: what a connection takes of a runtime's heap, and what of the memory beside it, in one row."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tlsmem.config.choices import CLIENT
from tlsmem.config.runtimes import runtimes
from tlsmem.schema.live_records import LivePhase, LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries, Reading, group_live, short_version
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.session_cost import fit_line
from tlsmem.tables.table import Cell, Column, Table, optional
from tlsmem.topics.live.table import bytes_cell, name_transport, name_window

STATES = ("established", "idle", "collected")
ADDS = "TLS adds"  # as the transport of a row
WITHOUT_MALLOC = {"go": "objects and the stacks of goroutines; it has no malloc"}
LINEAR = 0.05  # the largest residual of a slope without a note
CAPTION = (
    "Bytes of one connection to a program of a managed runtime, as slopes over numbers of connections. RSS: anonymous "
    "memory. Native: requested of malloc and not freed, by the heap meter, the library's part and the runtime's own. "
    "Managed: bytes in use of the runtime's heap, as it says itself in the runs that RSS is from, with garbage unless "
    "collected, which is after two collections. Rest: RSS beyond both: free pages of either heap, stacks; less than 0 "
    "where pages of live blocks were never written, or where malloc gives the runtime its heap. Kernel: the runtime's "
    "end. TLS adds: the connection over TLS less the plain one. Managed heaps: {heaps}. {servers}."
)


class Slope(NamedTuple):
    """Bytes of one connection, and what a note says of them."""

    bytes: float
    note: str | None = None


Found = Slope | Missing


class RuntimeRow(NamedTuple):
    """A state of the connections of a series; `plain`: what is taken off, in a row of what TLS adds."""

    series: LiveSeries
    plain: LiveSeries | None
    state: str

    @property
    def transport(self) -> str:
        return ADDS if self.plain else name_transport(self.series)

    def find_slope(self, reading: Reading, of_meter: bool = False) -> Found:
        """Return a slope, less that of the plain connections; with a note where runs are not on a line."""
        found = fit_series(self.series, self.state, reading, of_meter)
        if not self.plain:
            return found
        return map_present(
            lambda tls, plain: Slope(tls.bytes - plain.bytes),
            found,
            fit_series(self.plain, self.state, reading, of_meter),
        )

    @property
    def rss(self) -> Found:
        return self.find_slope(live_costs.rss_anon_bytes)

    @property
    def native(self) -> Found:
        if self.series.server in WITHOUT_MALLOC:
            return Slope(0)
        return self.find_slope(live_costs.live_bytes, of_meter=True)

    @property
    def managed(self) -> Found:
        return self.find_slope(managed_bytes)

    @property
    def parts(self) -> str:
        """The runtime's further figures of one connection."""
        names = dict.fromkeys(name for run in self.series.runs for one in run.phases for name in list_parts(one))
        found = {name: self.find_slope(partial(read_part, name)) for name in names}
        sizes = {name: bytes_cell(one.bytes).text for name, one in found.items() if isinstance(one, Slope)}
        return "; ".join(f"{name.replace('_', ' ')} {size}" for name, size in sizes.items())

    @property
    def rest(self) -> Found:
        return map_present(
            lambda rss, native, managed: Slope(rss.bytes - native.bytes - managed.bytes),
            self.rss,
            self.native,
            self.managed,
        )


def name_runtime(server: str) -> str:
    """Return the name of the runtime of a server or client."""
    return server.removesuffix(CLIENT)


def managed_bytes(phase: LivePhase) -> int | None:
    """Bytes in use of the runtime's heap."""
    return phase.managed.used_bytes if phase.managed else None


def list_parts(phase: LivePhase) -> dict[str, int]:
    """Return the further figures of the runtime."""
    return phase.managed.parts if phase.managed else {}


def read_part(name: str, phase: LivePhase) -> int | None:
    """Return one of them; None where the runtime does not say it."""
    return list_parts(phase).get(name)


def fit_series(series: LiveSeries, state: str, reading: Reading, of_meter: bool) -> Found:
    """Return what a connection adds, from the runs under the heap meter or those without; with one number of
    connections the quotient."""
    runs = series.measured("heap" if of_meter else "rss")
    points = {
        run.connections: float(found) for run in runs if (found := live_costs.added(run, state, reading)) is not None
    }
    if not points:
        return Missing("no run under the heap meter" if of_meter else "no such figure")
    if len(points) == 1:
        ((count, total),) = points.items()
        return Slope(total / count, "quotient")
    line = fit_line(points)
    if line is None:
        return Missing("the numbers of connections give no slope")
    share = abs(line.residual_share)
    return Slope(line.slope, f"largest residual {100 * share:.1f} %" if share > LINEAR else None)


def list_rows(records: Sequence[LiveRecord]) -> Iterator[RuntimeRow]:
    """Yield the rows of each series whose runs have a managed heap: plain, over TLS, and what TLS adds."""
    series = group_live(one for one in records if any(phase.managed for phase in one.phases))
    plain = {one.build: one for one in series if one.transport == "plain"}
    for one in series:
        for state in STATES:
            if state not in one.phases:
                continue
            yield RuntimeRow(one, None, state)
            beside = plain.get(one.build)
            if one.transport == "tls" and beside and state in beside.phases:
                yield RuntimeRow(one, beside, state)


def slope_cell(found: Slope) -> Cell:
    return replace(bytes_cell(found.bytes), note=found.note)


COLUMNS = (
    Column("server", "program", left=True, value=lambda row: row.series.server),
    Column("transport", "transport", left=True, value=lambda row: row.transport),
    Column("window", "handshakes", left=True, value=lambda row: name_window(row.series)),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("rss_anon_bytes", "RSS", value=lambda row: row.rss, form=slope_cell),
    Column("native_bytes", "native", value=lambda row: row.native, form=slope_cell),
    Column("managed_bytes", "managed", value=lambda row: row.managed, form=slope_cell),
    Column("rest_bytes", "rest", value=lambda row: row.rest, form=slope_cell),
    optional(
        Column(
            "kernel_bytes",
            "kernel",
            value=lambda row: row.find_slope(live_costs.server_kernel_bytes),
            form=slope_cell,
        )
    ),
    optional(Column("parts", "the runtime also says", left=True, value=lambda row: row.parts)),
)


def runtime_table(records: Sequence[LiveRecord]) -> Table:
    """A row for each program, transport, number of handshakes at a time and state; none without managed runtimes."""
    rows, known = list(list_rows(records)), runtimes()
    names = dict.fromkeys(row.series.server for row in rows)
    heap_of = {name: table.heap for name, table in known.items()} | WITHOUT_MALLOC
    heaps = "; ".join(f"{name}, {heap_of[name]}" for name in dict.fromkeys(map(name_runtime, names)) if name in heap_of)
    servers = "; ".join(dict.fromkeys(short_version(row.series.reported) for row in rows))
    caption = CAPTION.format(heaps=heaps, servers=servers)
    table = Table("live-runtimes", "Native and managed memory of a connection", caption, list(COLUMNS))
    table.add_rows(rows)
    return table
