"""Many sessions in one process: what they took beside what two smaller runs predicted."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments, select_with_runs
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.topics.million import picture as million
from tlsmem.topics.million.forecast import TOLERANCE
from tlsmem.topics.million.table import MillionRow, find_largest, million_table, select_kept

FEWEST = 10_000  # sessions of one role in the largest run: with fewer there is nothing to plan


def section(recordings: Sequence[Recording]) -> Section | None:
    """A table of each recording that has such runs; the sentences and the picture are of each stack's largest run."""
    rows = [row for row in find_largest(one.records for one in recordings) if row.check.sessions >= FEWEST]
    if not rows:
        return None
    there = select_with_runs(recordings, [row.check.run for row in rows])
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(rows))
    return Section("c1m", "A million sessions", html, pictures=[picture(there, rows)], tables=tuple(tables(there)))


def tables(recordings: Sequence[Recording]) -> Iterator[ShownTable]:
    """Yield the table of each recording."""
    for one in recordings:
        command = f"tools/tls-memtest show tables {recording_arguments(one)} --table c1m"
        shown = ShownTable(million_table(select_kept(one.records)), command)
        yield shown.name_recording(one.name) if len(recordings) > 1 else shown


def picture(recordings: Sequence[Recording], rows: Sequence[MillionRow]) -> Picture:
    """What a million sessions need in each stack."""
    says = "Peak RSS of one process with a million sessions, by stack, and how far it was off the prediction."
    command = picture_command("million", *recordings)
    return Picture("million", "What a million sessions need", says, command, partial(draw, rows))


def draw(rows: Sequence[MillionRow]) -> Figure:
    """Draw the picture."""
    made, (axes,) = create_rows(1.3 * len(rows), 2.2)
    million.draw(made, axes, rows)
    return made


def sentences(rows: Sequence[MillionRow]) -> Iterator[str]:
    """Yield how far to trust a slope, and a warning where a run was not as predicted."""
    off = [row for row in rows if abs(row.check.difference) > TOLERANCE]
    largest = max(row.check.sessions for row in rows)
    yield (
        f"{len(rows) - len(off)} of {len(rows)} configurations took what two runs of 10 and 20 windows predicted, "
        f"within 1 %, with up to {largest:,} sessions in one process."
    )
    for row in off:
        yield f"Warning: {million.name_row(row)} differs from the prediction by {million.percent_off(row)}."
