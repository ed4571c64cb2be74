"""A picture of post-quantum certificates: what ML-DSA-65 adds to a client and to a server, beside RSA-2048."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import add_frame, describe_records, draw_added, list_added, list_rows, write_beside
from tlsmem.plots.left_out import find_refusals
from tlsmem.plots.stack_colours import library_colour
from tlsmem.schema.roles import ROLES, Role
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.stats.selection import select
from tlsmem.store import recordings
from tlsmem.topics.post_quantum.costs import ESTABLISHED, RSA, X25519, Choice, CostRow, find_certificate_rows

SHOWN = Choice("mldsa-65", "server", X25519, None)


class Bar(NamedTuple):
    """Live heap of an established session: with RSA-2048, and what ML-DSA-65 adds to that."""

    row: CostRow
    rsa: float
    added: float


def find_bars(rows: Sequence[CostRow], role: Role) -> list[Bar]:
    """Return the bars of a role, what is added most first."""
    found = keep_present(find_bar(row) for row in rows if (row.choice, row.role) == (SHOWN, role))
    return sorted(found, key=lambda one: (-one.added, -one.rsa))


def find_bar(row: CostRow) -> Bar | Missing:
    """Return the bar of a row; Missing where one of the two was not measured."""
    rsa, mldsa = row.live(ESTABLISHED, SHOWN._replace(certs=RSA)), row.live(ESTABLISHED)
    return map_present(lambda rsa, mldsa: Bar(row, float(rsa), float(mldsa - rsa)), rsa, mldsa)


def describe_finding(clients: Sequence[Bar], servers: Sequence[Bar]) -> str:
    """Return the title: the most that the certificates add to each role, over all stacks."""
    client, server = clients[0], servers[0]
    ending = f"{server.added:,.0f} B to a server" if server.added >= 1 else "nothing to a server"
    if server.added >= 1 and server.row.stack != client.row.stack:
        ending += f" ({stack_title(server.row.stack)})"
    return f"ML-DSA-65 chains add up to {client.added:,.0f} B to a client ({stack_title(client.row.stack)}), {ending}"


def draw_bars(axes: Axes, bars: Sequence[Bar], role: Role, edge: float) -> None:
    """Draw the part with RSA, and what is added in the library's colour."""
    for at, one in enumerate(bars):
        draw_added(axes, at, one.rsa, max(one.added, 0), library_colour(one.row.stack))
        write_beside(axes, one.rsa + max(one.added, 0), at, f"{one.added:+,.0f} B")
    list_rows(axes, [stack_title(one.row.stack) for one in bars])
    axes.set_xlim(0, edge)
    axes.set_title(f"{role} session", loc="left")


def draw(made: Figure, panels: Sequence[Axes], rows: Sequence[CostRow], left_out: str = "") -> None:
    """Draw the picture into two panels; `left_out` begins its caption. Raises ValueError where no stack was measured
    with both certificates."""
    bars = {role: find_bars(rows, role) for role in ROLES}
    if not all(bars.values()):
        raise ValueError("no stack was measured with ML-DSA-65 and RSA-2048 (tools/tls-memtest measure post-quantum)")
    edge = 1.35 * max(one.rsa + max(one.added, 0) for some in bars.values() for one in some)
    for axes, role in zip(panels, ROLES, strict=True):
        draw_bars(axes, bars[role], role, edge)
    legend = list_added("with RSA-2048", "what ML-DSA-65 adds")
    subtitle = "Live heap of an established TLS 1.3 session, chains of one intermediate, X25519."
    series = [one.row.runs for some in bars.values() for one in some]
    runs = [run for one in keep_present(series) for run in one.records]
    finding = describe_finding(bars["client"], bars["server"])
    add_frame(made, finding, subtitle, f"{left_out}{describe_records(runs)}", legend)


def find_newest(among: Sequence[Path]) -> list[CostRow]:
    """Return the rows of the newest recording that has any."""
    for recording in among:
        loaded = recordings.load_runs(recording)
        rows = find_certificate_rows(select([run for run in loaded if run.scenario == "memory"]))
        if rows:
            return rows
    raise ValueError("no recording has runs with ML-DSA certificates (tools/tls-memtest measure post-quantum)")


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw clients and servers beside each other."""
    rows = find_newest(among)
    drawn = [bar.row.stack for bar in find_bars(rows, "client")]
    suites = {
        run.suite
        for row in rows
        if row.choice == SHOWN and not isinstance(row.runs, Missing)
        for run in row.runs.records
    }
    refusals = find_refusals(run for path in among for run in recordings.load_runs(path) if run.suite in suites)
    made, panels = create_slide(1, 1)
    draw(made, panels, rows, describe_absent(among, drawn, refusals))
    return made
