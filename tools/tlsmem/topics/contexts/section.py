"""Contexts: what one more costs, with a store of roots or many names; what sharing saves, as figures of an operator."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments, select_with_runs
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.contexts import SCENARIO, Contexts, find_contexts
from tlsmem.stats.missing import Missing
from tlsmem.topics.contexts import picture as client_contexts
from tlsmem.topics.contexts.table import contexts_table, newest_of_each_stack

DATABASES = 100  # of a pooler that opens a client context for each of them
NAMES = 10_000  # of a server


def section(recordings: Sequence[Recording]) -> Section | None:
    """A table of each recording that has such runs; the sentences and the picture are of each stack's newest."""
    kept = newest_of_each_stack([one.records for one in recordings])
    found = find_contexts(kept)
    if all(run.status != "measured" for run in kept):
        return None
    there = select_with_runs(recordings, kept)
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(found))
    tables = tuple(show_table(one, len(there) > 1) for one in there)
    pictures = [picture(there, found)] if client_contexts.find_bundles(found) else []
    return Section("contexts", "What one more context costs", html, pictures=pictures, tables=tables)


def show_table(recording: Recording, several: bool) -> ShownTable:
    """Return the table of one recording."""
    runs = [run for run in recording.records if run.scenario == SCENARIO]
    shown = ShownTable(
        contexts_table(runs), f"tools/tls-memtest show tables {recording_arguments(recording)} --table contexts"
    )
    return shown.name_recording(recording.name) if several else shown


def picture(recordings: Sequence[Recording], found: Sequence[Contexts]) -> Picture:
    """What a context with a bundle of roots holds in each stack."""
    says = "Live heap of one more client context, with one trusted root and with 150. The table has all."
    title = "What a client context with a public bundle of roots holds"
    command = picture_command("client-contexts", *recordings)
    return Picture("client-contexts", title, says, command, partial(draw, found))


def draw(found: Sequence[Contexts]) -> Figure:
    """Draw the picture."""
    made, (axes,) = create_rows(len(client_contexts.find_bundles(found)))
    client_contexts.draw(made, axes, found)
    return made


def sentences(found: Sequence[Contexts]) -> Iterator[str]:
    """Yield what an operator may save: a context for all connections, and a server's names."""
    if rows := client_contexts.find_bundles(found):
        most, size = rows[0], client_contexts.format_size
        yield (
            f"A client context with {client_contexts.BUNDLE} trusted roots holds {size(most.bundle)} in "
            f"{stack_title(most.contexts.stack)}: {size(DATABASES * most.bundle)} in a program that opens one for each "
            f"of {DATABASES} databases, and once {size(most.bundle)} if it shares one context. With only the root that "
            f"signed the servers' certificates, {DATABASES} contexts hold {size(DATABASES * most.alone)}."
        )
    named = [(contexts, name) for contexts in found if not isinstance(name := contexts.name().opened, Missing)]
    if named:
        most_of, most_bytes = max(named, key=lambda one: one[1])
        least_of, least_bytes = min(named, key=lambda one: one[1])
        yield (
            f"{NAMES:,} certificates by name take {client_contexts.format_size(float(NAMES * most_bytes))} in "
            f"{stack_title(most_of.stack)} and {client_contexts.format_size(float(NAMES * least_bytes))} in "
            f"{stack_title(least_of.stack)}: a certificate for several names takes this once."
        )
