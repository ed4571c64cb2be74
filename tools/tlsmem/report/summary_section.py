"""The answer before the tables: on what machine, what an established server session keeps of each library's newest
release, and how many handshakes a server makes in a second."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from tlsmem.plots.timed import handshake_kinds
from tlsmem.profile.buckets.rules import family_of
from tlsmem.report import inventory_section
from tlsmem.report.ranking import ROLE, Kept, Standing, best, newest
from tlsmem.report.recordings import Recording, typed
from tlsmem.report.sections import Section, Shown
from tlsmem.stats import timed_rates
from tlsmem.stats.session_cost import KIB
from tlsmem.stats.timed_selection import Timed, Work
from tlsmem.stats.timed_summary import Figure
from tlsmem.tables.stacks import ROUNDED, exact
from tlsmem.tables.table import HOLE, Cell, Column, Table, word
from tlsmem.tables.timed.cells import of_series

NAME = re.compile(r"([\w+.@-]*[@-][\w+.@-]*\w)")
FAMILIES = ("openssl", "rustls")  # beside each other, where both are there
COLUMNS = {"established": "established, KiB", "peak": "at the peak, KiB", "created": "created, KiB"}
CAPTION = (
    "Live heap that one more {role} session holds in {suite}, in KiB; the bar is what it keeps once established, the "
    "mark where it was at its peak. Of each library the newest of its releases here, the smallest first{others}."
)


class Answer(NamedTuple):
    figure: str
    sentence: str


def section(recordings: Sequence[Recording]) -> Section:
    """There is always something to say: on what machine."""
    kept = best(recordings)
    said = [*(of_memory(kept) if kept else ()), *handshakes(recordings)]
    answers = Markup('<ul class="answers">\n{}</ul>\n').format(listed(said)) if said else Markup()
    html = about(recordings) + inventory_section.remarks(inventory_section.warnings(recordings)) + answers
    command = f"tools/report.py {typed(*recordings)} --format markdown --table glance"
    shown = (Shown(table(kept), command, bar="established", mark="peak"),) if kept else ()
    return Section("glance", "At a glance", html, tables=shown)


def about(recordings: Sequence[Recording]) -> Markup:
    """The machines, each in a line, with its letter where there are several."""
    machines = {one.machine: one.about_machine for one in recordings}
    several = len(machines) > 1
    said = [f"{letter}: {text}" if several else text for letter, text in machines.items()]
    return Markup('<p class="machines">Measured on {}</p>\n').format(Markup("<br>\n").join(said))


def listed(answers: Sequence[Answer]) -> Markup:
    """Names of stacks and suites are not broken at their hyphens."""
    lines = (Markup("<li><strong>{}</strong> {}</li>\n").format(one.figure, unbroken(one.sentence)) for one in answers)
    return Markup("").join(lines)


def unbroken(sentence: str) -> Markup:
    pieces = NAME.split(sentence)
    return Markup("").join(Markup("<span>{}</span>").format(one) if at % 2 else one for at, one in enumerate(pieces))


def kib(cell: Cell) -> str:
    return f"{exact(cell) / KIB:,.1f}"


def table(kept: Kept) -> Table:
    some = newest(kept.standings)
    left = len(kept.standings) - len(some)
    others = f"; {left:,} other{'s' * (left != 1)} in the pictures below" if left else ""
    caption = CAPTION.format(role=ROLE, suite=kept.setting.suite, others=others)
    columns = [Column("stack", "stack", left=True), *(Column(key, heading) for key, heading in COLUMNS.items())]
    made = Table("glance", f"What a {ROLE} session keeps", caption, columns)
    for one in some:
        made.rows.append([word(one.stack), *(in_kib(getattr(one, key)) for key in COLUMNS)])
    return made


def in_kib(cell: Cell) -> Cell:
    if cell.value is None:
        return cell
    note = "; ".join(one for one in (cell.note or "").split("; ") if one and one != ROUNDED)
    return Cell(kib(cell), {"bytes": cell.value["bytes"]}, note or None)


def of_memory(kept: Kept) -> Iterator[Answer]:
    """The ends and the middle; OpenSSL beside rustls."""
    some, where = kept.standings, f"in {kept.setting.suite}"
    first, last = some[0], some[-1]
    if len(some) == 1:
        yield Answer(
            f"{kib(first.established)} KiB",
            f"of live heap an established {ROLE} session of {first.stack} keeps {where}.",
        )
        return
    half = f", half of them {kib(some[(len(some) - 1) // 2].established)} KiB or less" if len(some) > 3 else ""
    yield Answer(
        f"{kib(first.established)} to {kib(last.established)} KiB",
        f"of live heap an established {ROLE} session keeps {where}: the least with {first.stack}, the most with "
        f"{last.stack}, of {len(some)} stacks{half}.",
    )
    if two := beside(some):
        yield compared(*two)


def beside(some: Sequence[Standing]) -> tuple[Standing, Standing] | None:
    """The newest of two families, the larger first; of several providers the smallest."""
    shown = newest(some)
    found = [one for name in FAMILIES for one in [*filter(lambda one: family_of(one.stack) == name, shown)][:1]]
    if len(found) < len(FAMILIES):
        return None
    small, large = sorted(found, key=lambda one: exact(one.established))
    return large, small


def compared(large: Standing, small: Standing) -> Answer:
    times = exact(large.established) / exact(small.established)
    kept = f"{kib(large.established)} and {kib(small.established)} KiB"
    said = f"as much is kept by {large.stack} as by {small.stack}: {kept}"
    if HOLE not in (large.peak.text, small.peak.text):
        said += f"; at the peak of the handshake they hold {kib(large.peak)} and {kib(small.peak)} KiB"
    return Answer(f"{times:.1f} times", f"{said}.")


def handshakes(recordings: Sequence[Recording]) -> Iterator[Answer]:
    """Of the first recording that has them, in the suite that most stacks did."""
    several = len({one.machine for one in recordings}) > 1
    for one in recordings:
        timed = one.contents.timed and one.contents.timed.of("handshake")
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


def rated(timed: Timed) -> tuple[Work, dict[str, Figure]] | None:
    """Full handshakes a second of servers' own work, where most stacks were timed, at least two; TLS 1.3 of equals."""
    made: dict[Work, dict[str, Figure]] = {}
    for work in timed.works:
        if work.suite != handshake_kinds.base(work.suite) or (work.allocator, work.cpu) != ("system", "all"):
            continue
        told = {series.stack: of_series(series, timed_rates.per_second(ROLE)) for series in timed.at(work)}
        made[work] = {stack: figure for stack, figure in told.items() if isinstance(figure, Figure)}
    best = max(made, key=lambda work: (len(made[work]), work.suite.startswith("tls13")), default=None)
    return (best, made[best]) if best and len(made[best]) > 1 else None
