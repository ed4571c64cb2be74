"""One server on several libraries: what a connection costs on each, beside a session of the same library and options
in the harness. What the server holds beyond that session is its own."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.plan import find_model
from tlsmem.plan.configuration import Configuration
from tlsmem.plan.connection_model import ModelRequest
from tlsmem.schema.live_records import USUAL, LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries, Reading, group_variants, short_version
from tlsmem.stats.missing import Missing, map_present
from tlsmem.tables.table import Column, Table, optional
from tlsmem.topics.live.prediction import STATES, request
from tlsmem.topics.live.table import bytes_cell, name_window

TLS12_SUITES = {
    "ECDHE-RSA-AES128-GCM-SHA256": "tls12-rsa-aes128",
    "ECDHE-RSA-AES256-GCM-SHA384": "tls12-rsa-aes256",
    "ECDHE-RSA-CHACHA20-POLY1305": "tls12-rsa-chacha20",
}
CAPTION = (
    "Bytes of one connection over TLS. Mutual: the server requires a certificate of the client. Resumed: each "
    "connection resumes a session by a ticket. Live heap: by the heap meter, from the largest number of connections. "
    "Session: live heap of a session of the same stack in the harness, with the options that the server sets, at "
    "rest (established) or in use (idle). The server's own: live heap beyond the session; plain, of a connection "
    "without TLS, is part of it. RSS: anonymous memory. Kernel: of the server's end. {servers}."
)
RESUMED = (
    "sessions that the harness resumes issue a number of tickets that it sets, not the library's own: not compared"
)


class LibraryRow(NamedTuple):
    """A state of the connections of a server on a library. `session`: the harness's live heap of a session, and as the
    server runs the library."""

    series: LiveSeries
    plain: LiveSeries | None
    state: str
    session: float | Missing
    configuration: Configuration

    @property
    def live(self) -> float | Missing:
        return live_of(self.series, self.state)

    @property
    def own(self) -> float | Missing:
        return map_present(lambda live, session: live - session, self.live, self.session)

    @property
    def plain_live(self) -> float | Missing:
        return live_of(self.plain, self.state) if self.plain else Missing("plain connections were not measured")

    def slope(self, reading: Reading) -> float | Missing:
        """Return what a connection adds without the meter."""
        return map_present(lambda line: line.slope, self.series.line(self.state, reading))


def live_of(series: LiveSeries, state: str) -> float | Missing:
    """Return the live heap that a connection adds."""
    found = series.increments(state, live_costs.live_bytes)
    return float(found[max(found)]) if found else Missing("no run under the heap meter")


def list_rows(records: Iterable[LiveRecord], among: Sequence[Path]) -> Iterator[LibraryRow]:
    """Yield a row for each series over TLS of a server that was built on a stack, and each state."""
    series = [one for one in group_variants(records) if one.stack]
    plain = {one.build: one for one in series if one.transport == "plain"}
    for one in series:
        negotiated = {run.negotiated["protocol"] for run in one.runs if run.negotiated}
        if one.transport == "plain" or one.hollow or negotiated != {one.variant.protocol}:
            continue
        for state, planned in STATES.items():
            if state not in one.phases:
                continue
            usual = request(one, planned)
            session = find_session(usual._replace(suite=vary_suite(usual.suite, one)), one, among)
            yield LibraryRow(one, plain.get(one.build), state, session, usual.configuration)


def find_session(wanted: ModelRequest, series: LiveSeries, among: Sequence[Path]) -> float | Missing:
    """Return the live heap of the session in the harness that connections of a series have."""
    if series.variant.resumed:
        return Missing(RESUMED)
    model = find_model.find_model(wanted, among)
    return Missing(describe_missing(wanted)) if model is None or model.live is None else model.live


def vary_suite(suite: str, series: LiveSeries) -> str:
    """Return the suite of the harness in which sessions are made as the connections of a series were."""
    variant = series.variant
    if variant.protocol != USUAL.protocol:
        ciphers = {run.negotiated["cipher"] for run in series.runs if run.negotiated}
        suite = next((TLS12_SUITES[one] for one in ciphers if one in TLS12_SUITES), "tls12-rsa-aes256")
    return f"{suite}{'-mutual' * variant.mutual}"


def describe_missing(wanted: ModelRequest) -> str:
    """Return that the session is not recorded, and how it is."""
    variant = wanted.configuration.variant(wanted.suite)
    advice = advise_recording(AS_DEPLOYED, wanted.stack, variant)
    how = f"to record it beside the live runs: {advice.command} --out RECORDING" if advice.command else advice.sentence
    return f"no session of {wanted.stack} in {variant} is recorded; {how}"


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("library", "library", left=True, value=lambda row: stack_title(row.series.stack)),
    Column("variant", "connection", left=True, usual=USUAL.describe(), value=lambda row: row.series.variant.describe()),
    Column("options", "options", left=True, value=lambda row: row.configuration.options),
    Column("window", "handshakes", left=True, value=lambda row: name_window(row.series)),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("live_bytes", "live heap", value=lambda row: row.live, form=bytes_cell),
    Column("session_bytes", "session", value=lambda row: row.session, form=bytes_cell),
    Column("own_bytes", "server's own", value=lambda row: row.own, form=bytes_cell),
    optional(Column("plain_bytes", "plain", value=lambda row: row.plain_live, form=bytes_cell)),
    Column("rss_anon_bytes", "RSS", value=lambda row: row.slope(live_costs.rss_anon_bytes), form=bytes_cell),
    optional(
        Column("kernel_bytes", "kernel", value=lambda row: row.slope(live_costs.server_kernel_bytes), form=bytes_cell)
    ),
)


def library_table(records: Sequence[LiveRecord], among: Sequence[Path]) -> Table:
    """A row for each server, library, number of handshakes at a time and state; none where all servers ran as they are
    packaged."""
    built = [one for one in records if one.stack]
    servers = "; ".join(dict.fromkeys(short_version(one.reported) for one in built))
    table = Table("live-libraries", "One server, several libraries", CAPTION.format(servers=servers), list(COLUMNS))
    table.add_rows(list_rows(built, among))
    return table
