"""What the memory model predicts of a real server's connections, beside what was measured.

A connection over TLS is predicted as the server's own plain connection, measured in the same recording, and a session
of the library that the server runs on, measured by the harness: nothing of the prediction comes from the row it is
held against. Where a figure differs by more than TOLERANCE, a note names what the difference is made of."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.plan import find_model
from tlsmem.plan.configuration import configure, describe_recording_of_handshakes
from tlsmem.plan.connection_model import SYSTEM, ConnectionModel, ModelRequest, find_series, select_runs
from tlsmem.plan.server_memory import PROTOCOL, SUITES
from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats import runtime_parts as runtime_memory
from tlsmem.stats.live_costs import LiveSeries, group_live
from tlsmem.stats.missing import Missing, keep_present, replace_missing
from tlsmem.store import recordings
from tlsmem.tables.table import Cell, Column, Table, optional
from tlsmem.topics.live.rss import split_rss
from tlsmem.topics.live.table import add_builds, bytes_cell, name_build, name_window

STATES = {"established": "at-rest", "idle": "in-use"}  # of live runs, and the state of a plan that is like it
COLLECTED = {"collected": "in-use"}  # where a runtime has garbage: harnesses collect it before they read
STACKS = {  # packages link the system's library; Go's suite has AES-128, as its crypto/tls chooses
    "nginx": ("openssl@system", "tls13-rsa-aes256"),
    "haproxy": ("openssl@system", "tls13-rsa-aes256"),
    "go": ("go@1.26.8", "tls13-rsa-aes128"),
    "rustls": ("rustls+aws-lc@0.23.46", "tls13-rsa-aes256"),
}
TOLERANCE = 0.05
CAPTION = (
    "Bytes of one connection over TLS. Predicted: the server's own plain connection, and a session of {stacks} as the "
    "server runs it, recorded in {recordings}; with all handshakes concurrent also what glibc retains of a handshake. "
    "RSS is anonymous memory alone here, as in the model: the other tables add page tables. "
    "Beyond it: live heap of the server's own, over TLS, that is in no prediction. Written: live heap whose pages "
    "connections write over TLS and not in plain. Malloc's: free memory and headers beyond those in the prediction. Of "
    "Go once it has collected its garbage, without the goroutine's stack of the harness: the plain connection has one."
)
NO_PARTS = Missing("of RSS alone, where malloc's chunks were read")


class Prediction(NamedTuple):
    """One figure of a server's connection."""

    series: LiveSeries
    state: str
    quantity: str
    predicted_bytes: float
    measured_bytes: float
    own_bytes: float | Missing  # live heap beyond the prediction: the server's own for a connection over TLS
    # Of RSS, what else differs from the prediction: live heap that is written over TLS and not in plain; and what
    # malloc holds beside live heap, free memory and headers.
    written_bytes: float | Missing = NO_PARTS
    free_bytes: float | Missing = NO_PARTS

    @property
    def window(self) -> str:
        """How many handshakes were under way at a time."""
        return name_window(self.series)

    @property
    def named_bytes(self) -> float:
        """What is named of the difference."""
        return sum(keep_present((self.own_bytes, self.written_bytes, self.free_bytes)))

    @property
    def unexplained(self) -> float:
        """The difference without what is named."""
        return (self.measured_bytes - self.named_bytes) / self.predicted_bytes - 1

    @property
    def difference(self) -> float:
        """Of the prediction: 0.01 is one percent more than predicted."""
        return self.measured_bytes / self.predicted_bytes - 1


class Predictions(NamedTuple):
    """All that can be compared; `missing` are sentences about what cannot."""

    rows: list[Prediction]
    models: list[ConnectionModel]
    missing: list[str]


def predict(records: Iterable[LiveRecord], among: Sequence[Path]) -> Predictions:
    """Compare each series over TLS with its prediction from the recordings."""
    series = group_live(records)
    found = Predictions([], [], [])
    plain = {one.build: one for one in series if one.transport == "plain"}
    for one in series:
        if one.transport == "plain" or one.hollow:
            continue
        name = name_build(one)
        negotiated = {run.negotiated["protocol"] for run in one.runs if run.negotiated}
        if negotiated != {PROTOCOL}:
            if negotiated:
                found.missing.append(f"{name}: predictions are of {PROTOCOL}, not of {', '.join(negotiated)}")
            continue
        if program_name(one.server) not in STACKS:
            found.missing.append(f"{name}: predictions are of {', '.join(STACKS)}")
            continue
        if one.build not in plain:
            found.missing.append(f"{name}: its plain connections were not measured")
            continue
        states = COLLECTED if "collected" in one.phases else STATES
        for state, planned in states.items():
            wanted = request(one, planned)
            model = find_model.find_model(wanted, among, handshakes=one.window is None and states is STATES)
            if not model:
                found.missing.append(find_model.describe_missing(wanted, among))
            elif one.window is None and model.handshake is None and states is STATES:
                how = describe_recording_of_handshakes(wanted.stack, wanted.suite)
                found.missing.append(f"{wanted.stack}: what a handshake adds is not recorded; {how}")
            else:
                found.models.append(model)
                found.rows.extend(compare(one, plain[one.build], state, model))
    return found


def program_name(server: str) -> str:
    """Return `nginx` of `nginx-edge`, which runs by a configuration of its own."""
    return server if server in STACKS else server.partition("-")[0]


def request(series: LiveSeries, state: str) -> ModelRequest:
    """Return what the model is wanted of, as the server runs its library; on a stack, in the suite with the cipher that
    was negotiated."""
    server = program_name(series.server)
    stack, suite = STACKS[server]
    if series.stack:
        ciphers = {run.negotiated["cipher"] for run in series.runs if run.negotiated}
        stack, suite = series.stack, next((SUITES[one] for one in ciphers if one in SUITES), suite)
    return ModelRequest(stack, suite, SYSTEM, "server", configure(server, state, stack))


def compare(series: LiveSeries, plain: LiveSeries, state: str, model: ConnectionModel) -> Iterator[Prediction]:
    """Yield live heap and RSS of one state, where both were measured."""
    own: float | Missing = Missing("no run under the heap meter")
    heap, own_heap = (one.increments(state, live_costs.live_bytes) for one in (series, plain))
    if heap and own_heap and model.live is not None:
        predicted, measured = float(own_heap[max(own_heap)]) + model.live, float(heap[max(heap)])
        own = measured - predicted
        yield Prediction(series, state, "live heap", predicted, measured, own)
    rss, own_rss = (one.line(state, live_costs.rss_anon_bytes) for one in (series, plain))
    if isinstance(rss, Missing) or isinstance(own_rss, Missing):
        return
    retained = (model.handshake or 0) * model.handshake_retention if series.window is None else 0.0
    twice = goroutine_stack(model) if state in COLLECTED else 0.0
    predicted = own_rss.slope + model.connection + retained - twice
    row = Prediction(series, state, "RSS", predicted, rss.slope, own)
    yield name_parts(row, series, plain, state, model, retained)


def name_parts(
    row: Prediction, series: LiveSeries, plain: LiveSeries, state: str, model: ConnectionModel, retained: float
) -> Prediction:
    """Return the row with what the difference in RSS is made of, where malloc's chunks were read in both series.

    A prediction has the plain connection's RSS, the session's in the harness, and what a handshake there retains; of
    each, what is not live heap is free memory, headers, and other memory."""
    parts, plain_parts = (split_rss(one, state) for one in (series, plain))
    if isinstance(parts, Missing) or isinstance(plain_parts, Missing) or model.live is None:
        return row
    measured, in_plain = (one.overhead_bytes + one.free_bytes + one.other_bytes for one in (parts, plain_parts))
    return row._replace(
        written_bytes=plain_parts.unwritten_bytes - parts.unwritten_bytes,
        free_bytes=measured - in_plain - (model.connection - model.live) - retained,
    )


def goroutine_stack(model: ConnectionModel) -> float:
    """Return the bytes of a session's goroutine stack in the harness; 0 where its runtime does not tell."""
    if model.origin is None:
        return 0.0
    runs = recordings.load_stack(model.origin, model.stack)
    selection = select_runs(runs, model.stack, model.configuration.variant(model.suite))
    series = find_series(selection, model.allocator, model.role, "full", narrow=True) if selection else None
    found = runtime_memory.bytes_per_session(series, model.configuration.phase, runtime_memory.STACKS) if series else 0
    return float(replace_missing(found, 0))


def percent(share: float) -> str:
    """`+0.3 %`."""
    return f"{share:+.1%}".replace("%", " %").replace("-", "−")


def difference_cell(row: Prediction) -> Cell:
    """`+0.3 %`, with a note where it is more than was to be: what is named of it, and what remains."""
    if abs(row.difference) <= TOLERANCE:
        return Cell(percent(row.difference), row.difference)
    note = f"more than {TOLERANCE:.0%} off".replace("%", " %")
    if not isinstance(row.own_bytes, Missing):
        named = [f"{row.own_bytes:,.0f} B are live heap of the server's own"]
        if not isinstance(row.written_bytes, Missing) and not isinstance(row.free_bytes, Missing):
            named.append(f"{describe_bytes(row.written_bytes)} live heap written over TLS only")
            named.append(f"{describe_bytes(row.free_bytes)} free memory and headers of malloc")
        note = f"{', '.join(named)}; {percent(row.unexplained)} without them"
    return Cell(percent(row.difference), row.difference, note)


def describe_bytes(size: float) -> str:
    """`+1,234 B`."""
    return f"{round(size):+,} B".replace("-", "−")


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("window", "handshakes", left=True, value=lambda row: row.window),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("quantity", "quantity", left=True, value=lambda row: row.quantity),
    Column("predicted_bytes", "predicted", value=lambda row: row.predicted_bytes, form=bytes_cell),
    Column("measured_bytes", "measured", value=lambda row: row.measured_bytes, form=bytes_cell),
    optional(Column("own_bytes", "beyond it", value=lambda row: row.own_bytes, form=bytes_cell)),
    optional(Column("written_bytes", "written", value=lambda row: row.written_bytes, form=bytes_cell)),
    optional(Column("free_bytes", "malloc's", value=lambda row: row.free_bytes, form=bytes_cell)),
    Column("difference", "difference", value=lambda row: row, form=difference_cell),
)


def prediction_table(records: Sequence[LiveRecord], among: Sequence[Path]) -> Table:
    """A row for each figure; what cannot be predicted stands below with its reason."""
    found = predict(records, among)
    stacks = ", ".join(dict.fromkeys(model.stack for model in found.models))
    origins = ", ".join(dict.fromkeys(model.origin.name for model in found.models if model.origin))
    caption = CAPTION.format(stacks=stacks or "the library", recordings=origins or "no recording")
    columns = add_builds(COLUMNS, records, lambda row: row.series)
    table = Table("live-prediction", "The memory model against real servers", caption, columns)
    table.add_rows(found.rows)
    table.without = list(dict.fromkeys(found.missing))
    return table
