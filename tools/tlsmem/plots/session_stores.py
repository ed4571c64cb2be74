"""A picture of servers that keep their sessions: live heap of each library's own store over sessions served."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tlsmem.config.libraries import library_name, stack_title
from tlsmem.config.releases import group_by_library
from tlsmem.plots.frame import INK, add_frame, describe_records, points
from tlsmem.plots.line_labels import HALO
from tlsmem.plots.stack_colours import library_colour
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.session_store import SessionStore, rank_stores
from tlsmem.tables.resumption import APPLICATION_STORES, library

ROOM = 1.72  # of the horizontal axis, for the texts at the lines' ends
APART = 0.052  # of the vertical axis: texts at least


def select_lines(stores: Sequence[SessionStore], auth: str = "server") -> list[SessionStore]:
    """Return one line for the newest release of each build of a library, the most live heap at the end first: TLS 1.3,
    and TLS 1.2 where that is all. By default without client certificates."""
    ranked = [one for one in rank_stores(stores) if one.auth == auth and "-dev" not in one.stack]
    newest = {several[-1] for several in group_by_library(dict.fromkeys(one.stack for one in ranked)).values()}
    newer = {one.stack for one in ranked if one.protocol == "TLSv1.3"}
    return [one for one in ranked if one.stack in newest and (one.protocol == "TLSv1.3" or one.stack not in newer)]


def describe_finding(lines: Sequence[SessionStore], mutual: Sequence[SessionStore] = ()) -> str:
    """Return the title: how much the largest full store of a library's own holds, and the same with client
    certificates, or the smallest; or one that is not full."""
    full = [one for one in lines if not one.is_unbounded and library(one) not in APPLICATION_STORES]
    if not full:
        return f"No store is full after {lines[0].sessions[-1]:,} sessions"
    most, least = full[0], full[-1]
    said = f"A server's default session store: {describe_store(most)} in {library_name(most.stack)}"
    for one in mutual:
        if (one.stack, one.protocol) == (most.stack, most.protocol):
            return f"{said}, {describe_store(one)} with client certificates"
    return f"{said}, {describe_store(least)} in {library_name(least.stack)}" if least != most else said


def describe_store(store: SessionStore) -> str:
    """Return `18.9 MiB`, or bytes in KiB where it is small."""
    size = store.live_bytes[-1]
    return f"{size / MIB:,.1f}\N{NO-BREAK SPACE}MiB" if size >= MIB else f"{size / 1024:,.0f}\N{NO-BREAK SPACE}KiB"


def describe_end(store: SessionStore) -> str:
    """Return what stands at a line's end: whose store it is, where that is not the library's, and how many entries."""
    name, most, each = stack_title(store.stack), store.most_entries, store.entry_bytes
    size = "" if isinstance(each, Missing) else f" of {float(each):,.0f} B"
    version = "" if store.protocol == "TLSv1.3" else f", {store.protocol.replace('TLSv', 'TLS ')}"
    if library(store) in APPLICATION_STORES:
        return f"{name}{version}: application's{size.replace(' of', ',')} each"
    many = "grows on" if store.is_unbounded else "" if isinstance(most, Missing) else f"{most:,} entries{size}"
    return f"{name}{version}: {many or describe_store(store)}"


def draw_lines(axes: Axes, lines: Sequence[SessionStore]) -> None:
    """Draw each store over the sessions that were served, and name it at its end."""
    last = max(one.sessions[-1] for one in lines)
    top = 1.08 * max(max(one.live_bytes) for one in lines) / MIB
    axes.set(xlim=(0, ROOM * last), ylim=(0, top), xlabel="sessions served", ylabel="MiB")
    free = APART * top / 2  # above the axis
    for one in reversed(lines):
        colour, heights = library_colour(one.stack), [size / MIB for size in one.live_bytes]
        axes.plot(one.sessions, heights, color=colour, zorder=3)
        bottom = max(heights[-1], free)
        text = axes.text(last * 1.015, bottom, describe_end(one), va="center", color=INK, zorder=4)
        text.set(fontsize=points(0.85), path_effects=HALO)
        axes.plot([one.sessions[-1], last * 1.01], [heights[-1], bottom], color=colour, linewidth=1, zorder=2)
        free = bottom + APART * top
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value <= last else ""))


def draw(made: Figure, axes: Axes, stores: Sequence[SessionStore]) -> None:
    """Draw the picture into a figure with one panel. Raises ValueError where no server keeps sessions."""
    lines = select_lines(stores)
    if not lines:
        raise ValueError("no server kept its sessions over waves (tools/measure.py resumption-stores)")
    draw_lines(axes, lines)
    pairs = lines[0].run.sessions // 2
    subtitle = "Live heap that a server has gained when sessions are closed: what it keeps so that they can be resumed."
    mutual = select_lines(stores, "mutual")
    certificates = "With client certificates: P-256, with one intermediate; not drawn. " if mutual else ""
    caption = (
        f"Waves of {pairs:,} sessions; each library's own store, of its own size; in TLS 1.3 an entry for each ticket. "
        f"{certificates}{describe_records([one.run for one in lines])}"
    )
    add_frame(made, describe_finding(lines, mutual), subtitle, caption)
