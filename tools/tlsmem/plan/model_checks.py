"""The law against runs that it was not fitted to: other windows, other numbers of sessions, another recording."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.plan import recordings
from tlsmem.plan.amounts import memory_cell
from tlsmem.plan.connection_model import (
    MEASURED,
    SYSTEM,
    find_series,
    find_settings,
    fit_role,
    machine_identity,
    select_runs,
)
from tlsmem.schema.records import Record
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.selection import Selection, select_campaign
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell, with_note


class Check(NamedTuple):
    stack: str
    process: str
    sessions: int  # that the process holds
    window: int  # pairs in the handshake at once
    recording: Path
    measured: float  # bytes, median of repeats
    predicted: float
    elsewhere: bool = False  # the law is of another machine

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def together(selection: Selection) -> list[Record]:
    windows = find_settings(selection, SYSTEM, "together")
    return [run for one in windows for run in selection.series(selection.stacks[0], one).runs("rss")]


def check_pairs(stack: str, suite: str, among: Sequence[Path]) -> Iterator[Check]:
    """The law of the newest recording of the campaign `law`, against all other runs with both ends in one process."""
    fitted, keys, of = None, set(), ()
    chosen = {path: select_runs(recordings.load_stack(path, stack), stack, suite) for path in among}
    for selection in filter(None, chosen.values()):
        runs, *_ = memory_model.split_fit_and_check(select_campaign(together(selection), "law"))
        points = [(run.sessions, memory_model.pairs_at_once(run), memory_model.handshake_peak_rss(run)) for run in runs]
        if fitted := memory_model.fit_memory_model(points):
            keys, of = {run.key for run in runs}, machine_identity(runs[0])
            break
    for path, selection in chosen.items() if fitted else ():
        runs = together(selection) if selection else []
        yield from beside(fitted, of, stack, path, [run for run in runs if run.key not in keys])


def beside(
    fitted: memory_model.MemoryModel, of: tuple, stack: str, path: Path, runs: Sequence[Record]
) -> Iterator[Check]:
    """`of`: the machine of the law."""
    elsewhere = bool(runs) and machine_identity(runs[0]) != of
    for sessions, window in sorted({(run.sessions, memory_model.pairs_at_once(run)) for run in runs}):
        peaks = [
            memory_model.handshake_peak_rss(run)
            for run in runs
            if (run.sessions, memory_model.pairs_at_once(run)) == (sessions, window)
        ]
        sizes = statistics.median(peaks), fitted.bytes_at(sessions, window)
        yield Check(stack, "both ends", sessions, window, path, *sizes, elsewhere)


def check_servers(stack: str, suite: str, among: Sequence[Path]) -> Iterator[Check]:
    """Lines through all numbers of sessions but the largest, at the largest."""
    for path in among:
        selection = select_runs(recordings.load_stack(path, stack), stack, suite)
        for roles in ("split", "keep-server") if selection else ():
            series = find_series(selection, SYSTEM, roles, "server", narrow=roles != "split")
            points = session_cost.medians(series.full("rss"), memory_model.handshake_peak_rss) if series else {}
            if len(points) < 3:
                continue
            most = max(points)
            line = session_cost.fit_line({sessions: peak for sessions, peak in points.items() if sessions != most})
            window = most // 2 if series.setting.window == "all" else series.setting.window
            yield Check(stack, f"server ({roles})", most // 2, window, path, points[most], line.value_at(most))


ELSEWHERE = "of another machine than the law"
NARROWER = "fewer at once than 1 % of the pairs: not what the law is claimed for"


def claimed(one: Check) -> bool:
    return one.window >= memory_model.MIN_WINDOW_SHARE * one.sessions / 2


def estimate_table(stacks: Sequence[str], suite: str, among: Sequence[Path]) -> Table:
    """Where a server's law is measured, what would be estimated without it."""
    caption = (
        f"Suite {suite}, servers: E as measured, and as it is estimated where few handshakes at once were not recorded."
    )
    names = {"stack": "stack", "recording": "recording"}
    columns = [Column(key, heading, left=True) for key, heading in names.items()]
    columns += [Column("kept_bytes", "E"), Column("estimated_bytes", "estimated"), Column("error", "error")]
    made = Table("estimates", "Estimates of E where it was measured", caption, columns)
    for stack in stacks:
        for path in among:
            selection = select_runs(recordings.load_stack(path, stack), stack, suite)
            laws = [fit_role(selection, "server", estimated) for estimated in (False, True)] if selection else [None]
            if None not in laws and laws[0][0].how == MEASURED:
                sizes = [one.kept for one, _ in laws]
                error = sizes[1] / sizes[0] - 1
                cells = [Cell(f"{100 * error:+.2f} %", round(error, 6))]
                cells = [*(integer_cell(round(one)) for one in sizes), *cells]
                made.rows.append([text_cell(stack), text_cell(recordings.display_name(path)), *cells])
    return made


def check_table(stacks: Sequence[str], suite: str, among: Sequence[Path]) -> Table:
    """ValueError where there is nothing to check."""
    found = [one for stack in stacks for of in (check_pairs, check_servers) for one in of(stack, suite, among)]
    if not found:
        raise ValueError(f"nothing to check the law at: no windowed runs of {', '.join(stacks)} in {suite}")
    worst = max((one.error for one in found if claimed(one)), key=abs, default=None)
    largest = "none of these" if worst is None else f"the largest error there is {100 * worst:+.2f} %"
    caption = (
        f"Suite {suite}, peak RSS while handshakes are under way. Both ends: fitted to the campaign `law` (5,000 and "
        "10,000 sessions, the narrowest window from 1 % of the pairs on, and the widest). Servers: the line through "
        f"all N but the largest, at the largest. Where the law is claimed: {largest}."
    )
    names = {"stack": "stack", "process": "process", "recording": "recording"}
    columns = [Column(key, heading, left=True) for key, heading in names.items()]
    columns += [Column("sessions", "sessions"), Column("window", "W"), Column("measured_bytes", "measured")]
    columns += [Column("predicted_bytes", "law"), Column("error", "error")]
    made = Table("check", "The law at runs that it was not fitted to", caption, columns)
    for one in found:
        error = Cell(
            f"{round(100 * one.error, 2) + 0.0:+.2f} %", round(one.error, 6), None if claimed(one) else NARROWER
        )
        where = text_cell(recordings.display_name(one.recording))
        names = [text_cell(one.stack), text_cell(one.process), with_note(where, ELSEWHERE if one.elsewhere else None)]
        sizes = [
            integer_cell(one.sessions),
            integer_cell(one.window),
            memory_cell(one.measured),
            memory_cell(one.predicted),
        ]
        made.rows.append([*names, *sizes, error])
    return made
