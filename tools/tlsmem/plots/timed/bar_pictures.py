"""The pictures of grouped bars: bulk transfer, and handshakes."""

from collections.abc import Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tlsmem.base.text_colours import INK
from tlsmem.plots.timed import bars, frame, handshake_kinds
from tlsmem.plots.timed.bars import Bars
from tlsmem.plots.timed.panels import bars_of
from tlsmem.plots.timed.stack_style import keys
from tlsmem.schema.harness_output import Role
from tlsmem.stats import timed_rates
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_selection import Timed, Work
from tlsmem.tables.timed import harness_overhead

BESIDE = 24  # bars of a panel that has another beside it
NAMES = 6  # of its groups
MANY = 48  # of one that has a wider page
TRANSFER = "Bulk transfer: application data per second of one thread"
HANDSHAKES = "Handshakes per second of one thread"
ROLES: tuple[Role, ...] = ("client", "server")
Panel = tuple[Axes, list[str], Bars]


def transfer(timed: Timed) -> Figure:
    """Sending and receiving; writes of 1 MiB, or of the largest size that there is."""
    there = {work.size_bytes for work in timed.works}
    size = MIB if MIB in there else max(there)
    timed = timed.where(lambda work: work.size_bytes == size)
    works = {work.suite: work for work in timed.works}
    stacks, cipher = timed.stacks, timed_rates.mebibytes_per_second("seal")
    made, grid = panels(1, len(works), len(stacks))
    drawn: list[Panel] = []
    for axes, part, heading in zip(grid, ("send", "receive"), ("sending", "receiving"), strict=True):
        found = bars_of(timed, works, stacks, timed_rates.mebibytes_per_second(part), cipher)
        drawn.append((axes, list(works), found))
        axes.set_title(heading, fontsize=11, weight="bold")
        axes.set_ylabel("MiB/s")
    marked = any(one.mark is not None for _, _, found in drawn for one in found.values())
    mark = Line2D([], [], color=INK, linewidth=1.8, label="the library's own AEAD by itself, sealing")
    handles = [*keys(stacks), *[mark] * marked]
    plotted = f"Of the server's writes, and of the client's reads, the time of each by itself. {frame.repeats(timed)}"
    copying = harness_overhead.copying(timed)
    finish(made, drawn, TRANSFER, handles, timed, f"{plotted} {copying}{'.' * bool(copying)}".strip())
    return made


def handshakes(timed: Timed) -> Figure:
    """A panel for each role and kind of handshake; both roles of a kind have one scale."""
    groups = list(dict.fromkeys(handshake_kinds.base(work.suite) for work in timed.works))
    there = [
        end for end in handshake_kinds.KINDS if any(handshake_kinds.ending(work.suite) == end for work in timed.works)
    ]
    made, grid = panels(len(there), len(groups), len(timed.stacks))
    drawn: list[Panel] = []
    for at, end in enumerate(there):
        works: dict[str, Work] = {
            handshake_kinds.base(one.suite): one for one in timed.works if handshake_kinds.ending(one.suite) == end
        }
        for role, axes in zip(ROLES, grid[2 * at : 2 * at + 2], strict=True):
            drawn.append((axes, groups, bars_of(timed, works, timed.stacks, timed_rates.per_second(role))))
            axes.set_title(f"{role}, {handshake_kinds.KINDS[end]}", fontsize=10, weight="bold")
            axes.set_ylabel("handshakes/s")
    plotted = "By the time of all steps of the one role, tickets included; construction is apart."
    finish(made, drawn, HANDSHAKES, keys(timed.stacks), timed, f"{plotted} {frame.repeats(timed)}")
    return made


def panels(pairs: int, groups: int, stacks: int) -> tuple[Figure, list[Axes]]:
    """Two for each pair, beside each other where each has few bars, else below each other; on 16:9 while they fit."""
    count = groups * stacks
    rows, columns = (pairs, 2) if count <= BESIDE and groups <= NAMES else (2 * pairs, 1)
    wide = 12.8 if count <= MANY else 17.6
    high = max(9 / 16 * wide, 1.6 + 2.1 * rows)
    made, grid = pyplot.subplots(rows, columns, figsize=(wide, high), layout="constrained", squeeze=False)
    return made, list(grid.flat)


def finish(made: Figure, drawn: list[Panel], title: str, handles: list, timed: Timed, plotted: str) -> None:
    stacks: Sequence[str] = timed.stacks
    for axes, groups, found in drawn:
        bars.draw(axes, groups, stacks, found)
    for pair in zip(drawn[::2], drawn[1::2], strict=True):
        top = max(axes.get_ylim()[1] for axes, _, _ in pair)
        for axes, _, _ in pair:
            axes.set_ylim(0, top)
    frame.framed(made, title, handles, timed, plotted, frame.holes(timed))
    longest = max((len(bars.figure(one)) for *_, found in drawn for one in found.values()), default=0)
    for axes, groups, found in drawn:
        bars.write(axes, groups, stacks, found, longest)
