"""The answer before the tables: on what machine, what an established server session keeps of each library's newest
release, and how many handshakes a server makes in a second."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from tlsmem.plots.timed import handshake_kinds
from tlsmem.profile.buckets.rules import family_of
from tlsmem.report import inventory_section
from tlsmem.report.ranking import RANKED_ROLE, StackRanking, best_ranking, newest_releases
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, ShownTable
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import LiveFigure, bytes_per_session
from tlsmem.stats.session_cost import KIB
from tlsmem.stats.timed_selection import TimedSelection, Work
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.stacks import ROUNDED_NOTE, STACK, EstablishedHeap, StackRow, lent_note, live_cell
from tlsmem.tables.table import Cell, Column, Table, with_note

NAME = re.compile(r"([\w+.@-]*[@-][\w+.@-]*\w)")
FAMILIES = ("openssl", "rustls")  # beside each other, where both are there
CAPTION = (
    "Live heap that one more {role} session holds in {suite}, in KiB; the bar is what it keeps once established, the "
    "mark where it was at its peak. Of each library the newest of its releases here, the smallest first{others}."
)


class Answer(NamedTuple):
    figure: str
    sentence: str


def section(recordings: Sequence[Recording]) -> Section:
    """There is always something to say: on what machine."""
    kept = best_ranking(recordings)
    said = [*(memory_answers(kept) if kept else ()), *handshakes(recordings)]
    answers = Markup('<ul class="answers">\n{}</ul>\n').format(answers_html(said)) if said else Markup()
    html = machines_html(recordings) + inventory_section.remarks(inventory_section.warnings(recordings)) + answers
    command = f"tools/report.py {recording_arguments(*recordings)} --format markdown --table glance"
    shown = (ShownTable(table(kept), command, bar="established", mark="peak"),) if kept else ()
    return Section("glance", "At a glance", html, tables=shown)


def machines_html(recordings: Sequence[Recording]) -> Markup:
    """The machines, each in a line, with its letter where there are several."""
    machines = {one.machine: one.about_machine for one in recordings}
    several = len(machines) > 1
    said = [f"{letter}: {text}" if several else text for letter, text in machines.items()]
    return Markup('<p class="machines">Measured on {}</p>\n').format(Markup("<br>\n").join(said))


def answers_html(answers: Sequence[Answer]) -> Markup:
    """Names of stacks and suites are not broken at their hyphens."""
    lines = (Markup("<li><strong>{}</strong> {}</li>\n").format(one.figure, unbroken(one.sentence)) for one in answers)
    return Markup("").join(lines)


def unbroken(sentence: str) -> Markup:
    pieces = NAME.split(sentence)
    return Markup("").join(Markup("<span>{}</span>").format(one) if at % 2 else one for at, one in enumerate(pieces))


def kib(figure: LiveFigure | Missing) -> str:
    return f"{bytes_per_session(figure) / KIB:,.1f}"


def kib_cell(figure: LiveFigure) -> Cell:
    cell = live_cell(figure)
    return Cell(kib(figure), {"bytes": cell.value["bytes"]}, None if cell.note == ROUNDED_NOTE else cell.note)


def established_cell(heap: EstablishedHeap) -> Cell:
    return with_note(kib_cell(heap.figure), lent_note(heap))


COLUMNS = (
    Column("established", "established, KiB", value=lambda row: row.established_heap, form=established_cell),
    Column("peak", "at the peak, KiB", value=lambda row: row.peak, form=kib_cell),
    Column("created", "created, KiB", value=lambda row: row.created, form=kib_cell),
)


def table(kept: StackRanking) -> Table:
    some = newest_releases(kept.standings)
    left = len(kept.standings) - len(some)
    others = f"; {left:,} other{'s' * (left != 1)} in the pictures below" if left else ""
    caption = CAPTION.format(role=RANKED_ROLE, suite=kept.setting.suite, others=others)
    made = Table("glance", f"What a {RANKED_ROLE} session keeps", caption, [STACK, *COLUMNS])
    made.add_rows(some)
    return made


def memory_answers(kept: StackRanking) -> Iterator[Answer]:
    """The ends and the middle; OpenSSL beside rustls."""
    some, where = kept.standings, f"in {kept.setting.suite}"
    first, last = some[0], some[-1]
    if len(some) == 1:
        yield Answer(
            f"{kib(first.established)} KiB",
            f"of live heap an established {RANKED_ROLE} session of {first.stack} keeps {where}.",
        )
        return
    half = f", half of them {kib(some[(len(some) - 1) // 2].established)} KiB or less" if len(some) > 3 else ""
    yield Answer(
        f"{kib(first.established)} to {kib(last.established)} KiB",
        f"of live heap an established {RANKED_ROLE} session keeps {where}: the least with {first.stack}, the most with "
        f"{last.stack}, of {len(some)} stacks{half}.",
    )
    if two := compared_pair(some):
        yield compared(*two)


def compared_pair(some: Sequence[StackRow]) -> tuple[StackRow, StackRow] | None:
    """The newest of two families, the larger first; of several providers the smallest."""
    shown = newest_releases(some)
    found = [one for name in FAMILIES for one in [*filter(lambda one: family_of(one.stack) == name, shown)][:1]]
    if len(found) < len(FAMILIES):
        return None
    small, large = sorted(found, key=lambda one: bytes_per_session(one.established))
    return large, small


def compared(large: StackRow, small: StackRow) -> Answer:
    times = bytes_per_session(large.established) / bytes_per_session(small.established)
    kept = f"{kib(large.established)} and {kib(small.established)} KiB"
    said = f"as much is kept by {large.stack} as by {small.stack}: {kept}"
    if not (isinstance(large.peak, Missing) or isinstance(small.peak, Missing)):
        said += f"; at the peak of the handshake they hold {kib(large.peak)} and {kib(small.peak)} KiB"
    return Answer(f"{times:.1f} times", f"{said}.")


def handshakes(recordings: Sequence[Recording]) -> Iterator[Answer]:
    """Of the first recording that has them, in the suite that most stacks did."""
    several = len({one.machine for one in recordings}) > 1
    for one in recordings:
        timed = one.contents.timed and one.contents.timed.select_scenario("handshake")
        found = rated(timed) if timed else None
        if found:
            work, figures = found
            (slow, least), (fast, most) = (end(figures.items(), key=lambda row: row[1].median) for end in (min, max))
            where = f" on machine {one.machine}" if several else ""
            yield Answer(
                f"{least.median:,.0f} to {most.median:,.0f} a second",
                f"full handshakes one server thread makes in {work.suite}{where}: the fewest with {slow}, the most "
                f"with {fast}, of {len(figures)} stacks timed; medians of repeats.",
            )
            return


def rated(timed: TimedSelection) -> tuple[Work, dict[str, Sample]] | None:
    """Full handshakes a second of servers' own work, where most stacks were timed, at least two; TLS 1.3 of equals."""
    made: dict[Work, dict[str, Sample]] = {}
    for work in timed.works:
        if work.suite != handshake_kinds.base_suite(work.suite) or (work.allocator, work.cpu) != ("system", "all"):
            continue
        told = {
            series.stack: timed_summary.measure(series, timed_rates.per_second(RANKED_ROLE))
            for series in timed.series_of_work(work)
        }
        made[work] = {stack: figure for stack, figure in told.items() if isinstance(figure, Sample)}
    best = max(made, key=lambda work: (len(made[work]), work.suite.startswith("tls13")), default=None)
    return (best, made[best]) if best and len(made[best]) > 1 else None
