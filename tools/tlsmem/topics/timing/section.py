"""Throughput and handshakes: the tables and pictures of timed runs, of each recording by itself."""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.report import differing_settings
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats import timed_rates, timed_summary
from tlsmem.stats.timed_selection import TimedSelection, Work
from tlsmem.stats.timed_summary import Sample
from tlsmem.tables.table import Table
from tlsmem.topics.timing import TOPIC, pictures

ASKED_FOR = ("harness", "noise")  # tables of the harness and the machine: `show tables` has them
TITLES = {
    "transfer": "Bulk transfer",
    "handshake": "Full and resumed handshakes a second",
    "sizes": "By the size of a write",
}
MUTUAL = "-mutual"  # suites in which clients are authenticated too: in the tables
MOST = 3  # suites of a picture of handshakes, and pictures of latencies


def section(recordings: Sequence[Recording]) -> Section | None:
    """The tables and pictures of each recording that has timed runs; sentences of the first with handshakes."""
    found = [(one, timed) for one in recordings if (timed := one.contents.timed)]
    if not found:
        return None
    several = len(found) > 1
    shown = tuple(shown for one, timed in found for shown in tables(one, timed, several))
    drawn = (picture for one, timed in found for picture in drawings(one, few(timed), several))
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in handshakes(recordings))
    return Section("time", "Throughput and handshakes", html, pictures=drawn, tables=shown)


def tables(recording: Recording, timed: TimedSelection, several: bool) -> Iterator[ShownTable]:
    """Yield the tables of one recording that have rows."""
    for declared in TOPIC.tables:
        if declared.name in ASKED_FOR or not TOPIC.shows(declared, timed):
            continue
        made: Table = TOPIC.find(declared.maker)(timed)
        if made.rows:
            command = f"tools/tls-memtest show tables {recording_arguments(recording)} --table {declared.name}"
            yield ShownTable(name_recording(with_marks(made, timed), recording, several), command)


def with_marks(made: Table, timed: TimedSelection) -> Table:
    """Of tables in which stacks are rows."""
    if not any(column.key == "stack" for column in made.columns):
        return made
    return differing_settings.mark_differences(made, differing_settings.runs_by_row(made, timed.every_record))


def name_recording(made: Table, recording: Recording, several: bool) -> Table:
    """With its name, where tables of several recordings stand below each other."""
    if several:
        made.name, made.title = f"{made.name}-{recording.name}", f"{made.title}: {recording.name}"
    return made


def drawings(recording: Recording, timed: TimedSelection, several: bool) -> Iterator[Picture]:
    """Yield the pictures of these runs of one recording."""
    for name, draw in pictures.timed_figures(timed):
        yield timed_picture(name, recording, suite_arguments(timed), several, draw)


def timed_picture(name: str, recording: Recording, suites: str, several: bool, draw: Callable[[], Figure]) -> Picture:
    """Return a picture by the name that `show timing` gives its file."""
    kind, _, suite = name.partition("-")
    beside = f", {recording.name}" if several else ""
    title = f"{TITLES[kind]}{f': {suite}' if suite else ''}{beside}"
    command = f"tools/tls-memtest show timing {recording_arguments(recording)} {suites} --out pictures"
    says = f"{title}. The figures are in the tables below."
    unique = f"{name}-{recording.name}" if several else name
    return Picture(unique, title, says, command, draw, f"{TITLES[kind]}{beside}", suite)


def few(timed: TimedSelection) -> TimedSelection:
    """Of one allocator and CPU, and of handshakes so many suites, those that most stacks did, without clients'
    certificates: all else is in the tables."""
    bases: dict[str, set[str]] = {}
    for series in timed.every():
        base = pictures.base_suite(series.work.suite)
        if series.work.scenario == "handshake" and series.runs() and MUTUAL not in base:
            bases.setdefault(base, set()).add(series.stack)
    kept = sorted(bases, key=lambda base: -len(bases[base]))[:MOST]
    usual = Counter((work.allocator, work.cpu) for work in timed.works).most_common(1)[0][0]
    return timed.where(
        lambda work: (
            (work.allocator, work.cpu) == usual
            and (work.scenario != "handshake" or pictures.base_suite(work.suite) in kept)
        )
    )


def suite_arguments(timed: TimedSelection) -> str:
    suites = dict.fromkeys(pictures.base_suite(work.suite) for work in timed.works)
    return shlex.join(word for suite in suites for word in ("--suite", suite))


def handshakes(recordings: Sequence[Recording]) -> Iterator[str]:
    """Of the first recording that has them, in the suite that most stacks did."""
    several = len({one.machine for one in recordings}) > 1
    for one in recordings:
        timed = one.contents.timed and one.contents.timed.select_scenario("handshake")
        found = rated(timed) if timed else None
        if found:
            work, figures = found
            (slow, least), (fast, most) = (end(figures.items(), key=lambda row: row[1].median) for end in (min, max))
            where = f" on machine {one.machine}" if several else ""
            yield (
                f"One server thread makes {least.median:,.0f} ({slow}) to {most.median:,.0f} ({fast}) full handshakes "
                f"a second in {work.suite}{where}: medians of repeats, {len(figures)} stacks."
            )
            return


def rated(timed: TimedSelection) -> tuple[Work, dict[str, Sample]] | None:
    """Full handshakes a second of servers' own work, where most stacks were timed, at least two; TLS 1.3 of equals."""
    made: dict[Work, dict[str, Sample]] = {}
    for work in timed.works:
        if work.suite != pictures.base_suite(work.suite) or (work.allocator, work.cpu) != ("system", "all"):
            continue
        told = {
            series.stack: timed_summary.measure(series, timed_rates.per_second("server"))
            for series in timed.series_of_work(work)
        }
        made[work] = {stack: figure for stack, figure in told.items() if isinstance(figure, Sample)}
    best = max(made, key=lambda work: (len(made[work]), work.suite.startswith("tls13")), default=None)
    return (best, made[best]) if best and len(made[best]) > 1 else None
