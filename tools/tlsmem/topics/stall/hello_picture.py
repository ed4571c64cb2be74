"""A picture of large ClientHellos: bytes that each stack holds for a byte that a client sends, of the worst kind."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.releases import newest_of_each_build
from tlsmem.plots.frame import add_frame, describe_records, list_rows, write_beside
from tlsmem.plots.left_out import find_refusals
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.stats.missing import Missing
from tlsmem.topics.stall.large_hellos import SMALL, LargeHello, pair_with_small
from tlsmem.topics.stall.picture import load_newest, name_row

LEAST_SENT = 8_000  # bytes: of fewer, a byte more or less of a block counts
WORDS = {
    "hello-alpn": "ALPN names",
    "hello-alpn-8k": "8 KiB of ALPN names",
    "hello-name-60k": "a host name",
    "hello-ticket": "a session ticket",
    "hello-psk": "a pre_shared_key",
    "hello-unknown": "an unknown extension",
}


OF_ANY_KIND = ("hello-alpn", "hello-unknown")  # are refused for their size alone: a host name is for its form too


class Worst(NamedTuple):
    """The kind of which a stack holds most for each byte, and how many large kinds it refuses."""

    hello: LargeHello
    per_byte: float
    refused: int


def find_worst(hellos: Iterable[LargeHello]) -> list[Worst]:
    """Return one for each stack that takes any, the most first; without those held against a silent peer."""
    found: dict[str, Worst] = {}
    refused: dict[str, int] = {}
    for one in hellos:
        stack, held, sent = one.stall.stack, one.held_per_byte, one.sent_bytes
        if one.small.point != SMALL:
            continue
        if one.stall.refusal and one.stall.point not in OF_ANY_KIND:
            continue
        if one.stall.refusal:
            refused[stack] = refused.get(stack, 0) + 1
        elif isinstance(held, Missing) or isinstance(sent, Missing) or sent < LEAST_SENT:
            continue
        elif stack not in found or held > found[stack].per_byte:
            found[stack] = Worst(one, float(held), 0)
    rows = [one._replace(refused=refused.get(stack, 0)) for stack, one in found.items()]
    return sorted(rows, key=lambda row: (-row.per_byte, row.hello.stall.stack))


def describe_finding(rows: Sequence[Worst]) -> str:
    """Return the title: which library holds most for a byte, and which least, if any, that refuse none."""
    most, least = rows[0], min(rows, key=lambda row: (row.refused > 0, row.per_byte))
    first = f"A byte of a ClientHello makes {name_row(most.hello.stall)} hold {most.per_byte:,.1f} B"
    end = "none" if round(least.per_byte, 1) <= 0 else f"{least.per_byte:,.1f} B"
    return f"{first}, {name_row(least.hello.stall)} {end}" if len(rows) > 1 else first


def draw_bars(axes: Axes, rows: Sequence[Worst]) -> None:
    """Draw a bar for each stack, and write of what kind it is."""
    for at, row in enumerate(rows):
        stack, width = row.hello.stall.stack, max(row.per_byte, 0.0)
        axes.barh(at, width, height=0.68, color=library_colour(stack), zorder=2)
        refuses = "; refuses larger ones" if row.refused else ""
        write_beside(axes, width, at, f"{row.per_byte:,.2f} B, {WORDS[row.hello.stall.point]}{refuses}", bold=False)
    list_rows(axes, [name_row(row.hello.stall) for row in rows])
    axes.set_xlim(0, 1.6 * max(1.0, *(row.per_byte for row in rows)))


def draw(made: Figure, axes: Axes, hellos: Sequence[LargeHello], left_out: str = "") -> None:
    """Draw the picture into a figure with one panel; `left_out` begins its caption. Raises ValueError where no stack
    took a large ClientHello."""
    rows = find_worst(hellos)
    if not rows:
        raise ValueError("no server was measured at a point hello-alpn, or another of a large hello")
    draw_bars(axes, rows)
    subtitle = "Live heap that a server session holds for each byte of a large ClientHello, of the worst kind."
    runs = [run for row in rows for run in row.hello.stall.runs.values()]
    caption = f"{left_out}Beyond a small ClientHello, until the session is closed. {describe_records(runs)}"
    add_frame(made, describe_finding(rows), subtitle, caption)


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library, in whichever suite it holds most."""
    stalls = load_newest(among)
    newest = newest_of_each_build(stall.stack for stall in stalls)
    hellos = pair_with_small([stall for stall in stalls if stall.stack in newest])
    drawn = [row.hello.stall.stack for row in find_worst(hellos)]
    refusals = find_refusals(run for stall in stalls if stall.suite == SUITE for run in stall.runs.values())
    made, (axes,) = create_slide()
    draw(made, axes, hellos, describe_absent(among, drawn, refusals))
    return made
