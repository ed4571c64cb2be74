"""Peers that stop on the way: what a server holds for each, and a warning where a few bytes make it hold much."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.plots import stalled_peers
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.plots.rows import ROW_INCHES
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.missing import Missing
from tlsmem.stats.stalls import AMPLIFICATION_WARNING, SCENARIO, Stall, find_stalls, newest_of_each_stack
from tlsmem.tables.stall import stall_table


def section(recordings: Sequence[Recording]) -> Section | None:
    """A table of each recording that has such runs; the sentences and the picture are of each stack's newest."""
    kept = newest_of_each_stack([one.records for one in recordings])
    stalls = find_stalls(kept)
    if all(stall.refusal for stall in stalls):
        return None
    there = [one for one in recordings if any(run in one.records for run in kept)]
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(stalls))
    tables = tuple(map(show_table, there))
    return Section("stall", "Peers that stop on the way", html, pictures=[picture(there[0], stalls)], tables=tables)


def show_table(recording: Recording) -> ShownTable:
    """The table of one recording."""
    command = f"tools/tabulate.py {recording_arguments(recording)} --table stall"
    return ShownTable(stall_table([run for run in recording.records if run.scenario == SCENARIO]), command)


def picture(recording: Recording, stalls: Sequence[Stall]) -> Picture:
    """What each stack holds for a peer that announces the largest message it accepts."""
    says = "Live heap of a session whose peer has sent nothing, and what is pinned beyond that. The table has all."
    title = "What a peer pins that announces a large message and stops"
    command = f"tools/plot_slides.py {recording_arguments(recording)} -o slides"
    return Picture("stalled-peers", title, says, command, partial(draw, stalls))


def draw(stalls: Sequence[Stall]) -> Figure:
    """Draw the picture."""
    high = 1.9 + ROW_INCHES * len(stalled_peers.find_worst(stalls))
    made, axes = pyplot.subplots(figsize=(PAGE_INCHES, high), layout="constrained")
    stalled_peers.draw(made, axes, stalls)
    return made


def sentences(stalls: Sequence[Stall]) -> Iterator[str]:
    """Yield the warning first: the stacks in which a peer's byte pins more than AMPLIFICATION_WARNING bytes."""
    worst = [one for one in stalled_peers.find_worst(stalls) if one.amplification > AMPLIFICATION_WARNING]
    if worst:
        first = worst[0]
        many = f"{len(worst) - 1} other stacks hold more than {AMPLIFICATION_WARNING} for each byte. "
        yield (
            f"Warning: {first.stall.stack} holds {first.pinned:,.0f} B for a peer that has sent "
            f"{received(first.stall)} B: {first.amplification:,.0f} bytes for each byte. {many if worst[1:] else ''}"
            "They hold them until the connection is closed, so limit the time of handshakes."
        )
    kept = {stall.stack: stall.kept_bytes for stall in stalls if not isinstance(stall.kept_bytes, Missing)}
    much = [f"{stack} keeps {float(size):,.0f} B of each" for stack, size in kept.items() if size]
    yield (
        "Closing the session gives all of it back in every stack."
        if not much
        else f"Not all of it is given back when the session is closed: {', '.join(much)}."
    )


def received(stall: Stall) -> str:
    """Return the bytes that a session was sent."""
    found = stall.received_bytes
    return "no" if isinstance(found, Missing) else f"{float(found):,.0f}"
