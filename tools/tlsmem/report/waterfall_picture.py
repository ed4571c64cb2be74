"""From requested to resident as a picture: of every stack and allocator four bars on one scale, from the rows that the
page's script draws too."""

import textwrap
from collections.abc import Sequence

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from tlsmem.base.text_colours import INK
from tlsmem.plots.picture import frame
from tlsmem.stats.session_cost import KIB

TITLE = "From requested to resident"
THERE = {"facecolor": "#56B4E9", "edgecolor": INK, "linewidth": 0.5}
MORE = {"facecolor": "white", "edgecolor": INK, "linewidth": 0.5, "hatch": "||||||"}
LESS = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.7, "linestyle": (0, (3, 2))}
KEYS = {"as at the stage before": THERE, "more": MORE, "less": LESS}
COLUMNS = 3
BESIDE = 4  # stacks that stand below each other before there is another column
ROOM = 2.15  # of the longest bar, for what is said beside it
NAME = 1.3  # of the heights of a bar, for what stands above it
STEP = 0.95  # inches of a stack with its name


def figure(rows: Sequence[dict], stages: Sequence[str], between: Sequence[str], below: str) -> Figure:
    """Of rows that differ in stack and allocator alone, in their order, column by column. Bytes."""
    count = min(COLUMNS, -(-len(rows) // BESIDE))
    deep = -(-len(rows) // count)
    size = (max(7.0, 5.2 * count), 1.8 + STEP * deep)
    made, (columns,) = pyplot.subplots(1, count, figsize=size, layout="constrained", squeeze=False, sharex=True)
    longest = max((bytes or 0 for row in rows for bytes in row["steps"]), default=0) or 1
    for at, axes in enumerate(columns):
        for place, row in enumerate(rows[at * deep : (at + 1) * deep]):
            block(axes, place * (len(stages) + NAME), row, between)
        framed(axes, deep, stages, len(rows[at * deep : (at + 1) * deep]))
        axes.set_xticks(MaxNLocator(5).tick_values(0, longest / KIB))
        axes.set_xlim(0, ROOM * longest / KIB)
        axes.set_xlabel(f"KiB per {rows[0]['unit']}; beside the bars, bytes", loc="left")
    names = rows[0]["names"]
    keys = [Patch(label=label, **look) for label, look in KEYS.items()]
    frame(made, f"{TITLE}: {names['suite']}, {rows[0]['setting']}", keys, below)
    return made


def framed(axes: Axes, deep: int, stages: Sequence[str], there: int) -> None:
    """Names of stages beside the bars of each stack; the least at the left, the first on top."""
    block = len(stages) + NAME
    at = [place * block + 1 + stage for place in range(there) for stage in range(len(stages))]
    axes.set_yticks(at, [*stages] * there, fontsize=7)
    axes.set_ylim(deep * block - 0.3, -0.7)
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def block(axes: Axes, top: int, row: dict, between: Sequence[str]) -> None:
    """A stack: its name, and the bars below it."""
    axes.text(0, top, f"{row['names']['stack']} on {row['names']['books']}", fontsize=8.5, weight="bold", va="center")
    for at, bytes in enumerate(row["steps"]):
        before = row["steps"][at - 1] if at else None
        words = "; ".join(filter(None, said(row, at, between)))
        drawn = bar(axes, top + 1 + at, bytes, before) if bytes is not None else 0
        style = {"style": "italic"} if bytes is None else {}
        axes.annotate(
            words, (drawn, top + 1 + at), (4, 0), textcoords="offset points", va="center", fontsize=7, **style
        )


def bar(axes: Axes, at: float, bytes: float, before: float | None) -> float:
    """What of the stage before is still there, what is more and what is less; how far it reaches, KiB."""
    now, was = max(0, bytes) / KIB, max(0, bytes if before is None else before) / KIB
    shared = min(now, was)
    axes.barh(at, shared, 0.72, **THERE)
    if now != was:
        axes.barh(at, max(now, was) - shared, 0.72, left=shared, **(MORE if now > was else LESS))
    return max(now, was)


def said(row: dict, at: int, between: Sequence[str]) -> tuple[str, ...]:
    """Bytes, and what the step from the stage before adds or takes, in words; or why they are not known."""
    now, before = row["steps"][at], row["steps"][at - 1] if at else None
    if now is None:
        return (textwrap.shorten(f"not known: {row['whys'][at]}", 80, placeholder=" …"),)
    if before is None:
        return (f"{now:,.0f}",)
    step = round(now - before)
    return f"{now:,.0f}", f"{abs(step):,} {'more' if step > 0 else 'less'}: {between[at - 1]}" if step else "as much"
