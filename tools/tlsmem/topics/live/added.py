"""What TLS adds to a connection, by server: the connection over TLS less the plain one of the same server and state."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from tlsmem.config.live_servers import live_servers
from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries, Reading, group_live, name_program
from tlsmem.stats.missing import Missing, map_present
from tlsmem.tables.table import Cell, Column, Table, optional
from tlsmem.topics.live.libraries import live_of
from tlsmem.topics.live.table import add_builds, bytes_cell, name_window

STATES = ("established", "one request", "full records", "idle")  # that plain connections and those over TLS have
CAPTION = (
    "Bytes that one connection adds to a server, plain and over TLS, and the difference: what TLS adds. RSS: anonymous "
    "memory of all its processes, the slope over numbers of connections. Live heap: by the heap meter, from the "
    "largest number of connections; what a process inherits when it is forked counts once. Kernel: the server's end, "
    "a slope as RSS; of a proxy its ends on both sides. {servers}."
)


class LiveBytes(NamedTuple):
    """Of live heap, and what a note says of it."""

    bytes: float
    note: str | None


def live_cell(found: LiveBytes) -> Cell:
    return replace(bytes_cell(found.bytes), note=found.note)


class AddedRow(NamedTuple):
    """A state of the connections of a server. `plain`: missing where it takes no plain connections."""

    plain: LiveSeries | Missing
    tls: LiveSeries
    state: str

    def slope(self, series: LiveSeries | Missing, reading: Reading = live_costs.rss_anon_bytes) -> float | Missing:
        line = map_present(lambda one: one.line(self.state, reading), series)
        return map_present(lambda line: line.slope, line)

    def added(self, reading: Reading) -> float | Missing:
        """Return the difference of slopes."""
        return map_present(
            lambda tls, plain: tls - plain, self.slope(self.tls, reading), self.slope(self.plain, reading)
        )

    @property
    def unseen(self) -> str | None:
        """What the heap meter does not see of the server."""
        known = live_servers().get(self.tls.server)
        return f"{self.tls.server}: the heap meter does not see {known.unseen}" if known and known.unseen else None

    @property
    def live(self) -> LiveBytes | Missing:
        if (why := explain_unmetered(self.tls.server)) is not None:
            return why
        return map_present(lambda live: LiveBytes(live, self.unseen), live_of(self.tls, self.state))

    @property
    def added_live(self) -> LiveBytes | Missing:
        plain = map_present(lambda series: live_of(series, self.state), self.plain)
        return map_present(lambda live, plain: LiveBytes(live.bytes - plain, live.note), self.live, plain)


def list_rows(records: Sequence[LiveRecord]) -> Iterator[AddedRow]:
    """Yield a row for each series over TLS of a server whose plain connections were measured, or cannot be, and each
    state that it has. What is said of runtimes as clients is in a table of its own."""
    series = group_live(one for one in records if one.role == "server")
    plain = {one.build: one for one in series if one.transport == "plain"}
    for one in series:
        beside = plain.get(one.build) or explain_no_plain(one)
        if one.transport == "plain" or one.hollow or beside is None:
            continue
        for state in STATES:
            if state in one.phases and (isinstance(beside, Missing) or state in beside.phases):
                yield AddedRow(beside, one, state)


def explain_unmetered(server: str) -> Missing | None:
    """Return why the heap meter sees nothing of the server; None where it does."""
    known = live_servers().get(server)
    return Missing(f"{server}: {known.unmetered}") if known and known.unmetered else None


def explain_no_plain(series: LiveSeries) -> Missing | None:
    """Return why the server takes no plain connections; None where it does."""
    known = live_servers().get(series.server)
    return Missing(f"{series.server}: {known.no_plain}") if known and known.no_plain else None


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.tls.server),
    Column("window", "handshakes", left=True, value=lambda row: name_window(row.tls)),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("plain_rss_anon_bytes", "RSS, plain", value=lambda row: row.slope(row.plain), form=bytes_cell),
    Column("tls_rss_anon_bytes", "over TLS", value=lambda row: row.slope(row.tls), form=bytes_cell),
    Column("rss_anon_bytes", "TLS adds, RSS", value=lambda row: row.added(live_costs.rss_anon_bytes), form=bytes_cell),
    Column("tls_live_bytes", "live heap over TLS", value=lambda row: row.live, form=live_cell),
    Column("live_bytes", "TLS adds, live heap", value=lambda row: row.added_live, form=live_cell),
    optional(
        Column(
            "kernel_bytes",
            "TLS adds, kernel",
            value=lambda row: row.added(live_costs.server_kernel_bytes),
            form=bytes_cell,
        )
    ),
)


def added_table(records: Sequence[LiveRecord]) -> Table:
    """A row for each server, number of handshakes at a time and state."""
    servers = "; ".join(dict.fromkeys(name_program(one) for one in records))
    columns = add_builds(COLUMNS, records, lambda row: row.tls)
    table = Table("live-added", "What TLS adds to a connection", CAPTION.format(servers=servers), columns)
    table.add_rows(list_rows(records))
    return table
