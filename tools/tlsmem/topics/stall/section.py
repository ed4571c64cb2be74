"""Peers that stop on the way: what a server holds for each, and a warning where a few bytes make it hold much."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments, select_with_runs
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.missing import map_present, replace_missing
from tlsmem.topics.stall import hello_picture as large_hellos
from tlsmem.topics.stall import picture as stalled_peers
from tlsmem.topics.stall.advisories import advisory_table
from tlsmem.topics.stall.large_hellos import LargeHello, hello_table, pair_with_small
from tlsmem.topics.stall.stalls import AMPLIFICATION_WARNING, SCENARIO, Stall, find_stalls, newest_of_each_stack
from tlsmem.topics.stall.table import stall_table


def section(recordings: Sequence[Recording]) -> Section | None:
    """A table of each recording that has such runs; the sentences and the picture are of each stack's newest."""
    kept = newest_of_each_stack([one.records for one in recordings])
    stalls = find_stalls(kept)
    if all(stall.refusal for stall in stalls):
        return None
    there = select_with_runs(recordings, kept)
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(stalls))
    tables = (*(shown for one in there for shown in show_tables(one, len(there) > 1)), *show_register(recordings))
    pictures = [picture(there, stalls), *hello_pictures(there, pair_with_small(stalls))]
    return Section("stall", "Peers that stop on the way", html, pictures=pictures, tables=tables)


def show_tables(recording: Recording, several: bool) -> Iterator[ShownTable]:
    """Yield the tables of one recording that have rows."""
    runs = [run for run in recording.records if run.scenario == SCENARIO]
    for table in stall_table(runs), hello_table(runs):
        if table.rows:
            shown = ShownTable(
                table, f"tools/tls-memtest show tables {recording_arguments(recording)} --table {table.name}"
            )
            yield shown.name_recording(recording.name) if several else shown


def show_register(recordings: Sequence[Recording]) -> Iterator[ShownTable]:
    """Yield the register of advisories, of the recording that has most of it; nothing where none has any."""
    tables = [(advisory_table([run for run in one.records if run.scenario == SCENARIO]), one) for one in recordings]
    table, recording = max(tables, key=lambda pair: len(pair[0].rows))
    if table.rows:
        table.without = []
        yield ShownTable(table, f"tools/tls-memtest show tables {recording_arguments(recording)} --table {table.name}")


def hello_pictures(recordings: Sequence[Recording], hellos: Sequence[LargeHello]) -> list[Picture]:
    """What a byte of a large ClientHello makes each stack hold; nothing where none was measured."""
    if not (rows := large_hellos.find_worst(hellos)):
        return []
    says = "Live heap for each byte that a client sends, beyond a small ClientHello. The table has all kinds."
    title = "What a byte of a large ClientHello pins"
    command = picture_command("large-hellos", *recordings)
    return [Picture("large-hellos", title, says, command, partial(draw_hellos, hellos, len(rows)))]


def draw_hellos(hellos: Sequence[LargeHello], rows: int) -> Figure:
    """Draw that picture."""
    made, (axes,) = create_rows(rows)
    large_hellos.draw(made, axes, hellos)
    return made


def picture(recordings: Sequence[Recording], stalls: Sequence[Stall]) -> Picture:
    """What each stack holds for a peer that announces the largest message it accepts."""
    says = "Live heap of a session whose peer has sent nothing, and what is pinned beyond that. The table has all."
    title = "What a peer pins that announces a large message and stops"
    command = picture_command("stalled-peers", *recordings)
    return Picture("stalled-peers", title, says, command, partial(draw, stalls))


def draw(stalls: Sequence[Stall]) -> Figure:
    """Draw the picture."""
    made, (axes,) = create_rows(len(stalled_peers.find_worst(stalls)))
    stalled_peers.draw(made, axes, stalls)
    return made


def sentences(stalls: Sequence[Stall]) -> Iterator[str]:
    """Yield the warning first: the stacks in which a peer's byte pins more than AMPLIFICATION_WARNING bytes."""
    worst = [one for one in stalled_peers.find_worst(stalls) if one.amplification > AMPLIFICATION_WARNING]
    if worst:
        first, others = worst[0], len(worst) - 1
        also = "1 other stack holds" if others == 1 else f"{others} other stacks hold"
        many = f"{also} more than {AMPLIFICATION_WARNING} for each byte. They hold" if others else "It holds"
        yield (
            f"Warning: {first.stall.stack} holds {first.pinned:,.0f} B for a peer that has sent "
            f"{received(first.stall)} B: {first.amplification:,.0f} bytes for each byte. "
            f"{many} them until the connection is closed, so limit the time of handshakes."
        )
    much = [f"{stack} keeps up to {float(size):,.0f} B of each" for stack, size in find_most_kept(stalls).items()]
    yield (
        "Closing the session frees all of it in every stack."
        if not much
        else f"Closing the session does not free all of it: {', '.join(much)}."
    )


def find_most_kept(stalls: Sequence[Stall]) -> dict[str, Fraction]:
    """Return what a closed session leaves of each stack that keeps any, at the point where it leaves most."""
    most: dict[str, Fraction] = {}
    for stall in stalls:
        kept = replace_missing(stall.kept_bytes, Fraction(0))
        if kept > most.get(stall.stack, 0):
            most[stall.stack] = kept
    return most


def received(stall: Stall) -> str:
    """Return the bytes that a session was sent."""
    return replace_missing(map_present(lambda size: f"{float(size):,.0f}", stall.received_bytes), "no")
