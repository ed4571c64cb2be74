"""A picture of client contexts with a public bundle of roots, beside those with one root, stack by stack."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.releases import newest_of_each_build, version
from tlsmem.plots.frame import add_frame, describe_records, draw_added, list_added, list_rows, write_beside
from tlsmem.plots.left_out import find_refusals
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.contexts import ROOTS, Contexts, find_contexts
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.store import recordings
from tlsmem.topics.contexts.table import newest_of_each_stack

BUNDLE = ROOTS[1]
MIB = 2**20


class Bundle(NamedTuple):
    """Live heap of one more client context of a stack, with one root and with a bundle, in bytes."""

    contexts: Contexts
    alone: float
    bundle: float


def find_bundles(found: Iterable[Contexts]) -> list[Bundle]:
    """Return the stacks that were measured with both, the largest first, but for libraries of the system."""
    rows = keep_present(find_bundle(contexts) for contexts in found if version(contexts.stack) != "system")
    return sorted(rows, key=lambda one: -one.bundle)


def find_bundle(contexts: Contexts) -> Bundle | Missing:
    """Return the two sizes of a stack; Missing where one of them was not measured."""
    alone, bundle = (contexts.context("client", roots).opened for roots in (1, BUNDLE))
    return map_present(lambda alone, bundle: Bundle(contexts, float(alone), float(bundle)), alone, bundle)


def describe_finding(rows: Sequence[Bundle]) -> str:
    """Return the title: what the largest and the smallest hold."""
    most, least = rows[0], rows[-1]
    if len(rows) == 1:
        return f"{BUNDLE} CAs make a client context of {title_of(most)} {most.bundle / most.alone:,.0f} times as large"
    ends = [f"{format_size(one.bundle)} in {title_of(one)}" for one in (most, least)]
    return f"{BUNDLE} CAs in a client context: {', '.join(ends)}"


def title_of(row: Bundle) -> str:
    """Return the stack as people write it."""
    return stack_title(row.contexts.stack)


def format_size(size: float) -> str:
    """Bytes up to 1 MiB, then MiB."""
    return f"{size:,.0f} B" if size < MIB else f"{size / MIB:,.1f} MiB"


def draw_bars(axes: Axes, rows: Sequence[Bundle]) -> None:
    """Draw the context with one root, and what the other roots add in the library's colour."""
    for at, one in enumerate(rows):
        draw_added(axes, at, one.alone, one.bundle - one.alone, library_colour(one.contexts.stack))
        write_beside(axes, one.bundle, at, f"{one.bundle:,.0f} B ({one.bundle / one.alone:,.0f}×)", bold=at == 0)
    list_rows(axes, [title_of(one) for one in rows])
    axes.set_xlim(0, 1.3 * max(one.bundle for one in rows))


def draw(made: Figure, axes: Axes, found: Sequence[Contexts], left_out: str = "") -> None:
    """Draw the picture into a figure with one panel; `left_out` begins its caption. Raises ValueError where no stack
    has such contexts."""
    rows = find_bundles(found)
    if not rows:
        raise ValueError("no client context was measured with 1 and 150 CAs (tools/tls-memtest measure contexts)")
    draw_bars(axes, rows)
    legend = list_added("with 1 CA", f"{BUNDLE - 1} CAs more")
    subtitle = (
        "Live heap of one more client context: what a program pays for each that it opens instead of sharing one."
    )
    runs = [run for one in rows for run in one.contexts.every_run if run.status == "measured"]
    caption = f"{left_out}In brackets: how many times a context with 1 CA. {describe_records(runs)}"
    add_frame(made, describe_finding(rows), subtitle, caption, legend)


def load_newest(among: Sequence[Path]) -> list[Contexts]:
    """Return the newest contexts of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    found = find_contexts(newest_of_each_stack(loaded))
    if not found:
        raise ValueError("no recording has runs of the scenario contexts (tools/tls-memtest measure contexts)")
    return found


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library."""
    found = load_newest(among)
    newest = newest_of_each_build(one.stack for one in found)
    shown = [one for one in found if one.stack in newest]
    drawn = [row.contexts.stack for row in find_bundles(shown)]
    many = (run for one in found for run in one.every_run)
    made, (axes,) = create_slide()
    draw(made, axes, shown, describe_absent(among, drawn, find_refusals(many)))
    return made
