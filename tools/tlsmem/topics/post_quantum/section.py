"""Post-quantum certificates and key exchange: what they cost a session of each role, and what to do about it."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.missing import replace_missing
from tlsmem.stats.selection import select
from tlsmem.topics.post_quantum import picture as mldsa
from tlsmem.topics.post_quantum.costs import CostRow, find_certificate_rows, select_measured
from tlsmem.topics.post_quantum.table import certificate_table, exchange_table


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of the first recording that has runs with ML-DSA certificates: the newest."""
    for one in recordings:
        selection = select([run for run in one.records if run.scenario == "memory"])
        rows = select_measured(find_certificate_rows(selection))
        if not rows:
            continue
        made = [certificate_table(selection), exchange_table(selection)]
        tables = [
            ShownTable(table, f"tools/tls-memtest show tables {recording_arguments(one)} --table {table.name}")
            for table in made
            if table.rows
        ]
        html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(rows))
        return Section(
            "post-quantum",
            "Post-quantum certificates and key exchange",
            html,
            pictures=list(pictures(one, rows)),
            tables=tuple(tables),
        )
    return None


def pictures(recording: Recording, rows: Sequence[CostRow]) -> Iterator[Picture]:
    """Yield what ML-DSA-65 adds to each role, where both certificates were measured."""
    if mldsa.find_bars(rows, "client") and mldsa.find_bars(rows, "server"):
        says = "Live heap of an established session with RSA-2048 certificates, and what ML-DSA-65 adds to that."
        title = "What post-quantum certificates add to a session"
        command = picture_command("post-quantum-certificates", recording)
        yield Picture("post-quantum-certificates", title, says, command, partial(draw, rows))


def draw(rows: Sequence[CostRow]) -> Figure:
    """Draw the picture."""
    made, panels = create_rows(len(mldsa.find_bars(rows, "client")), 2.4, panels=2)
    mldsa.draw(made, panels, rows)
    return made


def sentences(rows: Sequence[CostRow]) -> Iterator[str]:
    """Yield what the deepest stack of a thread is."""
    deepest = max(rows, key=depth)
    if depth(deepest):
        certificates = deepest.choice.certs.replace("mldsa", "ML-DSA")
        yield (
            f"The deepest thread stack is {depth(deepest):,} B, of a {deepest.role} of {deepest.stack} with "
            f"{certificates}. "
            "Threads that handle TLS handshakes need that much beside what the application uses."
        )


def depth(row: CostRow) -> int:
    """Return the stack depth; 0 where it is not known."""
    return int(replace_missing(row.stack_depth(), 0))
