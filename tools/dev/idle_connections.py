"""Idle connections to nginx, and what each costs its worker."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import nginx
import nginx_plan
from nginx import Nginx, WorkerMemory
from nginx_limits import MOST, SPARE
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table, quotient_cell, text_cell

KINDS = {"tls": "TLS 1.3, RSA-2048", "http": "plain HTTP"}
# Against plan --as nginx.
PLANNED = {"defaults": "TLS 1.3, nginx's defaults", nginx.USED: "the same, one request answered"}
CONNECTIONS = [500, 1000, 2000]
PLANNED_CONNECTIONS = 1000
WARM_UP = 20
CAPTION = (
    "Live heap and RssAnon of the worker per connection, one handshake at a time; left: of all, when all are closed."
)


@dataclass(frozen=True)
class Held:
    """The worker before, while and after so many idle connections are held."""

    kind: str
    connections: int
    before: WorkerMemory
    during: WorkerMemory
    after: WorkerMemory

    def added(self, what: str) -> int:
        return getattr(self.during.heap, what) - getattr(self.before.heap, what)

    def left(self, what: str) -> int:
        return getattr(self.after.heap, what) - getattr(self.before.heap, what)

    @property
    def rss_anon_each(self) -> float:
        return (self.during.rss_anon_bytes - self.before.rss_anon_bytes) / self.connections


def hold(kind: str, connections: int) -> Held:
    with Nginx() as server:
        with ExitStack() as some:  # what is allocated once, by the first
            for _ in range(WARM_UP):
                some.enter_context(server.connect(kind))
        before = server.level()
        with ExitStack() as held:
            for _ in range(connections):
                held.enter_context(server.connect(kind))
            during = server.level()
        return Held(kind, connections, before, during, server.level())


def wrong(runs: list[Held]) -> Iterator[str]:
    """A sentence for each thing that is not so."""
    for kind in dict.fromkeys(run.kind for run in runs):
        of_kind = [run for run in runs if run.kind == kind]
        for what in ("live_bytes", "live_blocks"):
            unit = what.removeprefix("live_")
            each = {run.connections: divmod(run.added(what), run.connections) for run in of_kind}
            if any(rest for _, rest in each.values()) or len(set(each.values())) > 1:
                found = ", ".join(f"{run.added(what) / run.connections:,.3f} at {run.connections:,}" for run in of_kind)
                yield f"{KINDS[kind]}: {unit} per connection are not one integer: {found}"
            for run in of_kind:
                if run.left(what):
                    yield f"{KINDS[kind]}: {run.left(what):,} {unit} are left of {run.connections:,} closed connections"


def table(runs: list[Held], version: str) -> Table:
    columns = [Column("kind", "connection", left=True), Column("connections", "connections")]
    columns += [Column("live_bytes", "live B each"), Column("live_blocks", "blocks each")]
    columns += [Column("left_bytes", "left B"), Column("left_blocks", "left blocks"), Column("rss", "RssAnon B each")]
    return Table("nginx", f"An idle connection of {version}", CAPTION, columns, [row(run) for run in runs])


def row(run: Held) -> list[Cell]:
    each = [quotient_cell(run.added(what), run.connections, 3) for what in ("live_bytes", "live_blocks")]
    left = [Cell(f"{run.left(what):,}", run.left(what)) for what in ("live_bytes", "live_blocks")]
    rss = Cell(f"{run.rss_anon_each:,.0f}", run.rss_anon_each)
    return [text_cell(KINDS[run.kind]), Cell(f"{run.connections:,}", run.connections), *each, *left, rss]


def run(given: argparse.Namespace) -> None:
    """Prints the table; exits with 1 after sentences about what is not so."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nginx does not outlive us
    runs, held_by_default, model = [], [], None
    try:
        if given.recording:
            model = nginx_plan.planned_model(given.recording)
        nginx.allow_descriptors(MOST + SPARE)
        for kind in KINDS:
            for connections in given.connections or CONNECTIONS:
                print(f"check-nginx: {connections:,} connections, {KINDS[kind]}", file=sys.stderr)
                runs.append(hold(kind, connections))
        for kind in PLANNED if given.recording else ():
            print(f"check-nginx: {PLANNED_CONNECTIONS:,} connections, {PLANNED[kind]}", file=sys.stderr)
            held_by_default.append(hold(kind, PLANNED_CONNECTIONS))
    except (nginx.NginxFailed, OSError, ValueError) as error:
        sys.exit(f"memtest: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    tables, sentences = [table(runs, nginx.nginx_version())], list(wrong(runs))
    if given.recording:
        compared = nginx_plan.compare(held_by_default, PLANNED, model)
        tables.append(nginx_plan.table(compared, model))
        sentences += nginx_plan.wrong(compared)
    render.print_all(tables, given.format)
    for sentence in sentences:
        print(f"memtest: {sentence}", file=sys.stderr)
    sys.exit(bool(sentences))
