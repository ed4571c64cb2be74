"""The cost per session: stacks and suites by role and stage, by three meters, of every recording in one table each.

Of a role in one setting, at the same stages for each meter; what a meter does not tell is missing, with its
reason; where there is one N only, and so no slope, the quotient stands, marked."""

import statistics
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from tlsmem.report import differing_settings, memory_pictures
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, ShownTable
from tlsmem.schema.harness_output import Meter
from tlsmem.schema.roles import Process
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.live_heap import NO_COST_WHEN_WINDOWED, NO_PAYLOAD, SessionHeap, roles_and_processes, why_no_heap_cost
from tlsmem.stats.rss_line import fit_rss
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import PhaseQuantity, heap_of, quantity_at_end, slope_per_pair
from tlsmem.store.record import Record
from tlsmem.tables.heap import ROLE_NAMES, heap_cell, heap_cells
from tlsmem.tables.rss import slope_interval_cell
from tlsmem.tables.settings import SETTING_ASPECTS
from tlsmem.tables.stacks import NEEDS_SPLIT_ROLES
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, text_cell, value_cell, with_note

PEAK, PEAK_PHASE = "peak", "peak_phase"
STAGES = {
    "sessions": "created",
    PEAK: "peak, one more of many",
    PEAK_PHASE: "peak in",
    "established": "established",
    "reply": "after 1 KiB each way",
    "idle": "idle",
    "closed": "closed",
}
COLUMNS = [Heading(stage, heading, left=stage == PEAK_PHASE) for stage, heading in STAGES.items()]
STAGES_OF_HEAP = ("sessions", PEAK, PEAK_PHASE, "established", "reply")  # columns of the table heap
ENDS = "the largest at the end of any phase: statistics show nothing within a phase"
QUOTIENT = "a quotient, not a slope: what N = {:,} holds above `contexts`, divided by its sessions"
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


def select_series(selection: Selection, stack: str, setting: Setting, process: Process) -> Series:
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


def heap(series: Series, role: str) -> list[Cell]:
    runs = series.runs("heap")
    if series.heap_pair():
        found = SessionHeap(series, role)
        later = [value_cell(found.live(phase), heap_cell) for phase in ("idle", "closed")]
        cells = heap_cells(series, role)
        return [*(cells[stage] for stage in STAGES if stage in STAGES_OF_HEAP), *later]
    if not runs:
        return [missing_cell(why_no_heap_cost(series))] * len(STAGES)
    return quotients(series, runs, lambda phase: heap_of(phase, role).live_bytes)


def rss(series: Series, role: str) -> list[Cell]:
    if why := why_whole_process(series, role):
        return [missing_cell(why)] * len(STAGES)
    runs = series.full("rss")
    if len({run.sessions for run in runs}) == 1:
        return quotients(series, runs, lambda phase: phase.rss_bytes)
    return [rss_cell(series, stage, runs) for stage in STAGES]


def rss_cell(series: Series, stage: str, runs: Sequence[Record]) -> Cell:
    if stage == PEAK_PHASE:
        return highest(runs, lambda phase: phase.peak_rss_bytes) if runs else missing_cell(series.reason("rss"))
    if why := unreached_cell(series, "rss", stage):
        return why
    return value_cell(fit_rss(series, None if stage == PEAK else stage), slope_interval_cell)


def allocators(series: Series, role: str) -> list[Cell]:
    """What they say is live, with what they round up to."""
    if why := why_whole_process(series, role):
        return [missing_cell(why)] * len(STAGES)
    runs = series.full("rss")
    silent = next(
        (
            why
            for run in runs
            for phase in run.phases
            if (why := allocator_statistics.unknown_reason(allocator_statistics.LIVE_FIELDS, phase))
        ),
        None,
    )
    if silent or not runs:
        return [missing_cell(silent or series.reason("rss"))] * len(STAGES)
    if len({run.sessions for run in runs}) == 1:
        return quotients(series, runs, allocator_statistics.live_bytes)
    names = [name for name in runs[-1].phase_names if unreached_cell(series, "rss", name) is None]
    found = {name: slope_per_pair(runs, quantity_at_end(allocator_statistics.live_bytes, name)) for name in names}
    slopes = {name: slope for name, slope in found.items() if slope is not None}
    most = max(slopes, key=slopes.__getitem__)
    ends = {PEAK: with_note(bytes_value(slopes[most]), ENDS), PEAK_PHASE: text_cell(most)}
    return [ends.get(stage) or unreached_cell(series, "rss", stage) or bytes_value(slopes[stage]) for stage in STAGES]


METERS = {"heap": ("live heap", heap), "rss": ("RSS", rss), "books": ("allocator statistics", allocators)}


def bytes_value(amount: float | Fraction) -> Cell:
    return Cell(f"{round(amount):,}", {"bytes": round(float(amount), 1)})


def why_whole_process(series: Series, role: str) -> str | None:
    """Why a process's figure is not this role's; None where it is."""
    both = series.setting.roles == "together"
    return NEEDS_SPLIT_ROLES if both and role != "total" else None


def unreached_cell(series: Series, meter: Meter, stage: str) -> Cell | None:
    """The missing value of a stage that these runs do not have, or not for each session; None where they have it."""
    setting = series.setting
    if stage == "reply" and setting.roles.startswith("keep"):
        return missing_cell(NO_PAYLOAD.reason)
    if setting.window != "all" and stage not in ("established", "reply", "idle", "closed"):
        return missing_cell(NO_COST_WHEN_WINDOWED.reason)
    runs = series.runs(meter)
    if stage in (PEAK, PEAK_PHASE) or all(stage in run.phase_names for run in runs):
        return None
    return missing_cell(f"these runs have no phase `{stage}`")


def highest(runs: Sequence[Record], of: PhaseQuantity) -> Cell:
    """The phase with the largest value in the run of the most sessions."""
    return text_cell(max(runs[-1].phases, key=of).phase)


def quotients(series: Series, runs: Sequence[Record], of: PhaseQuantity) -> list[Cell]:
    """Of the only N, per session of the role (of both: per pair), the median of repeats."""
    note = QUOTIENT.format(runs[0].sessions)
    each = [above_contexts(run, of) for run in runs]
    most = max(each[-1], key=each[-1].__getitem__)

    def cell(stage: str) -> Cell:
        if stage == PEAK_PHASE:
            return text_cell(most)
        if why := unreached_cell(series, runs[0].meter, stage):
            return why
        size = statistics.median(values[most if stage == PEAK else stage] for values in each)
        return Cell(f"≈ {round(size):,}", {"bytes": round(size, 1), "quotient": True}, note)

    return [cell(stage) for stage in STAGES]


def above_contexts(run: Record, of: PhaseQuantity) -> dict[str, float]:
    """Bytes per session of a role at the end of each phase."""
    base = of(session_cost.phase_of(run, "contexts"))
    return {phase.phase: (of(phase) - base) / (run.sessions // 2) for phase in run.phases}
