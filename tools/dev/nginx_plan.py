"""What `plan --as nginx` says of a connection, against what an unmodified nginx holds for it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from tlsmem.plan import find_model
from tlsmem.plan.configuration import configure
from tlsmem.plan.connection_model import ConnectionModel, ModelRequest
from tlsmem.plan.recordings import display_name, find_recordings
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell

STACK, SUITE = "openssl@system", "tls13-rsa-aes256"  # nginx of the distribution runs on the same libssl
LIMIT = 0.10
CAPTION = (
    "Bytes that one more idle connection adds to the worker, beside what plan says: {stack} in {variant}, recorded in "
    "{recording}, and the server's own {own:,} B."
)


class HeldConnections(Protocol):
    """The worker with so many connections and without, as idle_connections has it."""

    kind: str
    connections: int

    def added(self, what: str) -> int: ...

    @property
    def rss_anon_each(self) -> float: ...


class Comparison(NamedTuple):
    """One figure of a connection: measured in nginx, and planned."""

    what: str
    meter: str
    measured: float
    planned: float

    @property
    def error(self) -> float:
        return self.planned / self.measured - 1


def planned_model(recording: Path) -> ConnectionModel:
    """Return the model that `plan --as nginx` takes. Raises ValueError with a sentence where it is not recorded."""
    wanted = ModelRequest(STACK, SUITE, "system", "server", configure("nginx", "in-use", STACK))
    among = find_recordings([recording])
    found = find_model.find_model(wanted, among)
    if not found or found.live is None:
        raise ValueError(find_model.describe_missing(wanted, among))
    return found


def compare(runs: Sequence[HeldConnections], names: dict[str, str], model: ConnectionModel) -> list[Comparison]:
    """Return live heap and RSS of each kind of connection."""
    assert model.configuration and model.live is not None
    own, found = model.configuration.own_bytes or 0, []
    for run in runs:
        live = run.added("live_bytes") / run.connections
        found.append(Comparison(names[run.kind], "live heap", live, model.live + own))
        found.append(Comparison(names[run.kind], "RSS", run.rss_anon_each, model.connection + own))
    return found


def wrong(compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield a sentence for each figure that plan says wrongly."""
    for one in compared:
        if abs(one.error) > LIMIT:
            yield (
                f"plan --as nginx: {one.meter} of a connection ({one.what}) is {one.measured:,.0f} B, the plan says "
                f"{one.planned:,.0f} B: {one.error:+.1%}, more than {LIMIT:.0%} off"
            )


def table(compared: Sequence[Comparison], model: ConnectionModel) -> Table:
    """Return the figures side by side."""
    assert model.configuration and model.origin
    caption = CAPTION.format(
        stack=STACK,
        variant=model.configuration.variant(SUITE),
        recording=display_name(model.origin),
        own=model.configuration.own_bytes or 0,
    )
    columns = [Column("kind", "connection", left=True), Column("meter", "meter", left=True)]
    columns += [Column("measured_bytes", "nginx, B"), Column("planned_bytes", "plan, B"), Column("error", "error")]
    made = Table("plan", "plan --as nginx against nginx", caption, columns)
    for one in compared:
        error = Cell(f"{one.error:+.1%}".replace("%", " %"), round(one.error, 4))
        sizes = [integer_cell(round(one.measured)), integer_cell(round(one.planned))]
        made.rows.append([text_cell(one.what), text_cell(one.meter), *sizes, error])
    return made
