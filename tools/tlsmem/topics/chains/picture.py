"""A picture of client certificates: what a server session holds for its client's chain, beside one without."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.certificates import KINDS
from tlsmem.config.libraries import stack_title
from tlsmem.config.releases import newest_of_each_build
from tlsmem.config.suite_variants import DROP_PEER_CHAIN
from tlsmem.plots.frame import add_frame, describe_records, draw_added, list_added, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.chains import ALONE, MUTUAL, ChainRow, Suite
from tlsmem.stats.selection import select
from tlsmem.stats.series import Series
from tlsmem.store import recordings
from tlsmem.store.record import Record
from tlsmem.topics.chains.table import newest_of_each_stack

KEY = KINDS["rsa-2048"]
NEWEST_PROTOCOL = "TLSv1.3"


class Cost(NamedTuple):
    """A row: bytes of a server session without its client's chain, and of that chain."""

    row: ChainRow
    alone: float
    added: float

    @property
    def growth(self) -> float:
        """How many times as large the session is."""
        return (self.alone + self.added) / self.alone

    @property
    def drops(self) -> bool:
        """Whether the server was told, or is built, to keep no chains."""
        return DROP_PEER_CHAIN in (self.row.configuration.options, *self.row.stack.partition("@")[0].split("+"))

    @property
    def title(self) -> str:
        """The stack, its protocol if that is not TLS 1.3, and what it was told."""
        protocol = self.row.configuration.protocol
        told = [protocol.replace("TLSv", "TLS ")] if protocol != NEWEST_PROTOCOL else []
        told += ["chain dropped"] if self.drops else []
        return ", ".join([stack_title(self.row.stack).replace(f" ({DROP_PEER_CHAIN})", ""), *told])


def find_costs(rows: Iterable[ChainRow]) -> list[Cost]:
    """Return a row for the newest release of each build of a library, and one where it drops chains: what adds most
    first. In TLS 1.3; of those that have figures of another version alone, in that."""
    found: dict[tuple[str, str], Cost] = {}
    for row in rows:
        alone, added = row.server_only, row.added()
        place = row.stack, row.configuration.options
        is_newest = row.configuration.protocol == NEWEST_PROTOCOL
        if row.configuration.key != KEY or not isinstance(alone, Fraction) or not isinstance(added, Fraction):
            continue
        if place not in found or is_newest:
            found[place] = Cost(row, float(alone), float(added))
    shown = newest_of_each_build(stack for stack, _ in found)
    costs = [cost for (stack, _), cost in found.items() if stack in shown]
    return sorted(costs, key=lambda cost: (-cost.added, -cost.alone))


def describe_finding(costs: Sequence[Cost]) -> str:
    """Return the title: the session that grows most, and what is left of that where its server drops chains."""
    worst = max(costs, key=lambda cost: cost.growth)
    grown = (
        f"A client certificate makes a {stack_title(worst.row.stack)} server session {worst.growth:.1f} times as large"
    )
    dropped = next((cost for cost in costs if cost.drops and cost.row.stack == worst.row.stack), None)
    if not dropped:
        return grown
    left = "as it was" if dropped.added < 1 else f"{dropped.growth:.1f} times as large"
    return f"{grown}; one option leaves it {left}"


def draw_bars(axes: Axes, costs: Sequence[Cost]) -> None:
    """Draw the session, and its client's chain in the library's colour."""
    for at, cost in enumerate(costs):
        draw_added(axes, at, cost.alone, cost.added, library_colour(cost.row.stack))
        text = f"+{cost.added:,.0f} B" if cost.added >= 1 else "+0"
        text += f" ({cost.growth - 1:+.0%})" if cost.growth >= 1.01 else ""
        write_beside(axes, cost.alone + cost.added, at, text, bold=cost.growth >= 2)
    list_rows(axes, [cost.title for cost in costs])
    axes.set_xlim(0, 1.3 * max(cost.alone + cost.added for cost in costs))


def draw(made: Figure, axes: Axes, rows: Iterable[ChainRow], left_out: str = "") -> None:
    """Draw the picture into a figure with one panel; `left_out` begins its caption. Raises ValueError where no server
    was measured with clients' certificates and without."""
    costs = find_costs(rows)
    if not costs:
        raise ValueError(
            "no server was measured with client certificates and without (tools/tls-memtest measure chains)"
        )
    draw_bars(axes, costs)
    legend = list_added("server authenticated alone", "client's certificate, until the session is closed")
    subtitle = (
        "Live heap of an established server session whose client sends an RSA-2048 certificate and one intermediate."
    )
    runs = [run for cost in costs for suite in (ALONE, MUTUAL) for run in runs_of(cost.row, suite)]
    sent = ", ".join(dict.fromkeys(f"{cost.row.chain_bytes:,} B" for cost in costs))
    caption = f"{left_out}Each client sends {sent} of DER. {describe_records(runs)}"
    add_frame(made, describe_finding(costs), subtitle, caption, legend)


def runs_of(row: ChainRow, suite: Suite) -> list[Record]:
    """Return the runs of a suite's servers."""
    series = row.series("server", suite)
    return list(series.records) if isinstance(series, Series) else []


def load_newest(among: Sequence[Path]) -> list[ChainRow]:
    """Return the newest rows of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    selections = (select(runs) for runs in loaded if any(run.scenario == "memory" for run in runs))
    if found := newest_of_each_stack(selections):
        return found
    raise ValueError("no recording has servers with client certificates and without (tools/tls-memtest measure chains)")


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each library."""
    rows = load_newest(among)
    absent = describe_absent(among, (cost.row.stack for cost in find_costs(rows)))
    made, (axes,) = create_slide()
    draw(made, axes, rows, absent)
    return made
