"""What the memory model predicts of a real server's connections, beside what was measured.

A connection over TLS is predicted as the server's own plain connection, measured in the same recording, and a session
of the library that the server runs on, measured by the harness: nothing of the prediction comes from the row it is
held against."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.plan import find_model
from tlsmem.plan.configuration import configure
from tlsmem.plan.connection_model import SYSTEM, ConnectionModel, ModelRequest
from tlsmem.schema.live_records import LiveRecord
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import LiveSeries, group_live
from tlsmem.stats.missing import Missing
from tlsmem.tables.live import name_window
from tlsmem.tables.table import Cell, Column, Table

STATES = {"established": "at-rest", "idle": "in-use"}  # of live runs, and the state of a plan that is like it
STACKS = {  # packages link the system's library; Go's suite has AES-128, as its crypto/tls chooses
    "nginx": ("openssl@system", "tls13-rsa-aes256"),
    "haproxy": ("openssl@system", "tls13-rsa-aes256"),
    "go": ("go@1.26.8", "tls13-rsa-aes128"),
}
TOLERANCE = 0.05
CAPTION = (
    "Bytes of one connection over TLS. Predicted: the server's own plain connection, and a session of {stacks} as the "
    "server runs it, recorded in {recordings}; with all handshakes concurrent also what glibc retains of a handshake."
)


class Prediction(NamedTuple):
    """One figure of a server's connection."""

    server: str
    window: str
    state: str
    quantity: str
    predicted_bytes: float
    measured_bytes: float

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
    plain = {one.server: one for one in series if one.transport == "plain"}
    for one in series:
        if one.transport == "plain" or one.hollow:
            continue
        if one.server not in plain:
            found.missing.append(f"{one.server}: its plain connections were not measured")
            continue
        for state, planned in STATES.items():
            wanted = request(one.server, planned)
            model = find_model.find_model(wanted, among, handshakes=one.window is None)
            if not model:
                found.missing.append(find_model.describe_missing(wanted, among))
            elif one.window is None and model.handshake is None:
                found.missing.append(f"{wanted.stack}: what a handshake adds is not recorded (measure.py c10k-in-use)")
            else:
                found.models.append(model)
                found.rows.extend(compare(one, plain[one.server], state, model))
    return found


def request(server: str, state: str) -> ModelRequest:
    """Return what the model is wanted of, as the server runs its library."""
    stack, suite = STACKS[server]
    return ModelRequest(stack, suite, SYSTEM, "server", configure(server, state, stack))


def compare(series: LiveSeries, plain: LiveSeries, state: str, model: ConnectionModel) -> Iterator[Prediction]:
    """Yield live heap and RSS of one state, where both were measured."""
    window = name_window(series)
    heap, own_heap = (one.increments(state, live_costs.live_bytes) for one in (series, plain))
    if heap and own_heap and model.live is not None:
        own, measured = own_heap[max(own_heap)], heap[max(heap)]
        yield Prediction(series.server, window, state, "live heap", float(own) + model.live, float(measured))
    rss, own_rss = (one.line(state, live_costs.rss_anon_bytes) for one in (series, plain))
    if not isinstance(rss, Missing) and not isinstance(own_rss, Missing):
        retained = (model.handshake or 0) * model.handshake_retention if series.window is None else 0.0
        predicted = own_rss.slope + model.connection + retained
        yield Prediction(series.server, window, state, "RSS", predicted, rss.slope)


def difference_cell(share: float) -> Cell:
    """`+0.3 %`, with a note where it is more than was to be."""
    text = f"{share:+.1%}".replace("%", " %").replace("-", "−")
    return Cell(text, share, f"more than {TOLERANCE:.0%} off".replace("%", " %") if abs(share) > TOLERANCE else None)


def bytes_cell(size: float) -> Cell:
    return Cell(f"{size:,.0f}", size)


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.server),
    Column("window", "handshakes", left=True, value=lambda row: row.window),
    Column("state", "state", left=True, value=lambda row: row.state),
    Column("quantity", "quantity", left=True, value=lambda row: row.quantity),
    Column("predicted_bytes", "predicted", value=lambda row: row.predicted_bytes, form=bytes_cell),
    Column("measured_bytes", "measured", value=lambda row: row.measured_bytes, form=bytes_cell),
    Column("difference", "difference", value=lambda row: row.difference, form=difference_cell),
)


def prediction_table(records: Iterable[LiveRecord], among: Sequence[Path]) -> Table:
    """A row for each figure; what cannot be predicted stands below with its reason."""
    found = predict(records, among)
    stacks = ", ".join(dict.fromkeys(model.stack for model in found.models))
    origins = ", ".join(dict.fromkeys(model.origin.name for model in found.models if model.origin))
    caption = CAPTION.format(stacks=stacks or "the library", recordings=origins or "no recording")
    table = Table("live-prediction", "The memory model against real servers", caption, list(COLUMNS))
    table.add_rows(found.rows)
    table.without = list(dict.fromkeys(found.missing))
    return table
