"""The cost per session: stacks and suites by role and stage, by three meters, of every recording in one table each."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from tlsmem.report import differing_settings, memory_pictures
from tlsmem.report.cost_cells import COLUMNS, METERS
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, ShownTable
from tlsmem.stats.live_heap import roles_and_processes
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.store.record import Record
from tlsmem.tables.heap import ROLE_NAMES
from tlsmem.tables.settings import SETTING_ASPECTS
from tlsmem.tables.table import Heading, Table, text_cell

CAPTIONS = {
    "heap": "Live heap per additional session of the role, in bytes (blocks); exact, from heap runs. A pair is a "
    "client and a server, with all that the process holds for them. Peak: what one more of many sessions adds to the "
    "peak of all.",
    "rss": "Resident bytes per additional session of the role: the slope of RSS over N, ± the wider half of its 95 % "
    "interval over repeats. Peak: the slope of the highest RSS of the run.",
    "books": "Bytes per additional session of the role that the allocator itself reports as live, its rounding "
    "included: the slope over N, from RSS runs.",
}
ORDER = ("stack", "suite", "role")


class CostRow(NamedTuple):
    """A row: of a recording, one stack in one setting, in one role."""

    recording: Recording
    series: Series
    role: str


def section(recordings: Sequence[Recording]) -> Section | None:
    lines = [line for recording in recordings for line in cost_rows(recording)]
    if not lines:
        return None
    apart = f"tools/tls-memtest show report {recording_arguments(*(line.recording for line in lines))}"
    shown = [
        ShownTable(table(name, lines), f"{apart} --format markdown --table cost-{name}", "cost", label)
        for name, (label, _) in METERS.items()
    ]
    return Section(
        "cost", "Cost per session", pictures=memory_pictures.memory_pictures(recordings), tables=tuple(shown)
    )


def cost_rows(recording: Recording) -> Iterator[CostRow]:
    """Of what was tried: a stack that could not do a suite has its rows, with the reason. Mixed pairs are elsewhere."""
    selection = recording.contents.memory
    if not selection:
        return
    selection = selection.where(lambda setting: setting.peer is None)
    for setting, stack in product(selection.settings, selection.stacks):
        for role, process in roles_and_processes(setting).items():
            series = select_series(selection, stack, setting, process)
            if series.records:
                yield CostRow(recording, series, role)


def select_series(selection: Selection, stack: str, setting: Setting, process: str) -> Series:
    measured = [one for one in selection.runs_of.get((stack, setting), ()) if one.status == "measured"]
    return selection.series(stack, setting, process) if measured else selection.series(stack, setting)


def table(meter: str, lines: Sequence[CostRow]) -> Table:
    label, cells = METERS[meter]
    varying = [name for name in SETTING_ASPECTS if len({getattr(line.series.setting, name) for line in lines}) > 1]
    several = ["recording"] if len({line.recording.name for line in lines}) > 1 else []
    names, beside = ([Heading(name, name, left=True) for name in some] for some in (ORDER, [*varying, *several]))
    made = Table(f"cost-{meter}", f"Cost per session: {label}", CAPTIONS[meter], [*names, *COLUMNS, *beside])
    for line in lines:
        setting, figures = line.series.setting, cells(line.series, line.role)
        own = [line.series.stack, setting.suite, ROLE_NAMES[line.role]]
        where = [str(getattr(setting, one)) for one in varying] + [line.recording.name] * len(several)
        made.rows.append([*map(text_cell, own), *figures, *map(text_cell, where)])
    runs = [behind(meter, line.series) for line in lines]
    return differing_settings.mark_differences(made, runs, [line.recording.machine for line in lines])


def behind(meter: str, series: Series) -> list[Record]:
    """The runs of a row; where there is none of this meter, those that say why."""
    return series.runs("heap" if meter == "heap" else "rss") or list(series.records)
