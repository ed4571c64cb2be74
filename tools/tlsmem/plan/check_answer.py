"""The memory model against recorded runs that it was not fitted to: other loads, other numbers of sessions, another
recording."""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from tlsmem.config import choices
from tlsmem.config.libraries import stack_title
from tlsmem.live.live_run import WARM_UP
from tlsmem.plan.amounts import memory_cell
from tlsmem.plan.configuration import Configuration, describe_recording
from tlsmem.plan.connection_model import SYSTEM, MachineIdentity, find_series, find_settings, select_runs
from tlsmem.plan.live_check import LiveCheck
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.plan.server_memory import WINDOW
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.configured_stack import AT_REST, IN_USE
from tlsmem.stats.selection import Selection, select_campaign
from tlsmem.stats.series import Series
from tlsmem.stats.session_cost import Quantity
from tlsmem.store import recordings
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, text_cell, with_note

ELSEWHERE = "on another machine than the runs that the model is fitted to"
LINES = ("server, in use", "server, at rest")
PEAKS = {"split": "server, peak", "keep-server": "server kept alone, peak"}  # by roles
NARROWER = "fewer concurrent handshakes than 1 % of the connections: the model is not meant for these"


class Check(NamedTuple):
    """A number of sessions, as measured and as predicted."""

    stack: str
    process: str
    sessions: int  # of the process
    window: int  # concurrent handshakes
    recording: Path
    measured: float  # bytes, median of repeats
    predicted: float
    elsewhere: bool = False  # on another machine than the model's runs

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1

    @property
    def is_claimed(self) -> bool:
        """Whether the model is meant for so few concurrent handshakes."""
        return self.process in LINES or self.window >= memory_model.MIN_WINDOW_SHARE * self.sessions / 2


AnyCheck = TypeVar("AnyCheck", Check, LiveCheck)


def pair_runs(selection: Selection) -> list[Record]:
    """Return the RSS runs with both ends in one process."""
    settings = find_settings(selection, SYSTEM, "together")
    return [run for one in settings for run in selection.series(selection.stacks[0], one).runs("rss")]


def check_pairs(stack: str, suite: str, among: Sequence[Path]) -> Iterator[Check]:
    """The model of the newest recording of the campaign `law`, against all other runs with both ends in one process."""
    chosen = [(path, select_runs(recordings.load_stack(path, stack), stack, suite)) for path in among]
    found = [(path, selection) for path, selection in chosen if selection]
    for _, newest in found:
        runs, *_ = memory_model.split_fit_and_check(select_campaign(pair_runs(newest), "law"))
        points = [(run.sessions, memory_model.pairs_at_once(run), memory_model.handshake_peak_rss(run)) for run in runs]
        if fitted := memory_model.fit_memory_model(points):
            keys, machine = {run.key for run in runs}, MachineIdentity.from_record(runs[0])
            for path, selection in found:
                others = [run for run in pair_runs(selection) if run.key not in keys]
                yield from compare_runs(fitted, machine, stack, path, others)
            return


def compare_runs(
    fitted: memory_model.MemoryModel, machine: MachineIdentity, stack: str, path: Path, runs: Sequence[Record]
) -> Iterator[Check]:
    """Yield a check for each number of sessions and of concurrent handshakes; `machine`: the model's."""
    elsewhere = bool(runs) and MachineIdentity.from_record(runs[0]) != machine
    for sessions, window in sorted({(run.sessions, memory_model.pairs_at_once(run)) for run in runs}):
        peaks = [
            memory_model.handshake_peak_rss(run)
            for run in runs
            if (run.sessions, memory_model.pairs_at_once(run)) == (sessions, window)
        ]
        sizes = statistics.median(peaks), fitted.bytes_at(sessions, window)
        yield Check(stack, "both ends", sessions, window, path, *sizes, elsewhere)


def check_servers(stack: str, suite: str, among: Sequence[Path]) -> Iterator[Check]:
    """Yield the lines through all numbers of sessions but the largest, at the largest: in use, at rest, and at the peak
    of handshakes."""
    for path in among:
        runs = recordings.load_stack(path, stack)
        configured = select_runs(runs, stack, Configuration().variant(suite))
        narrow = find_series(configured, SYSTEM, "server", "full", narrow=True) if configured else None
        if narrow:
            yield from check_line(stack, LINES[0], path, narrow, session_cost.rss_at_end(IN_USE))
            yield from check_line(stack, LINES[1], path, narrow, session_cost.rss_at_end(AT_REST))
        if not (selection := select_runs(runs, stack, suite)):
            continue
        for roles in PEAKS:
            for setting in find_settings(selection, SYSTEM, roles):
                if (setting.window == "all") == (roles == "split"):
                    series = selection.series(stack, setting, "server" if roles == "split" else "both")
                    yield from check_line(stack, PEAKS[roles], path, series, memory_model.handshake_peak_rss)


def check_line(stack: str, process: str, path: Path, series: Series, quantity: Quantity) -> Iterator[Check]:
    """Yield the line through all numbers of sessions but the largest, at the largest; nothing below three of them."""
    points = session_cost.medians(series.full("rss"), quantity)
    if len(points) < 3:
        return
    most = max(points)
    line = session_cost.fit_line({sessions: size for sessions, size in points.items() if sessions != most})
    assert line
    window = most // 2 if series.setting.window == "all" else series.setting.window
    yield Check(stack, process, most // 2, window, path, points[most], line.value_at(most))


def answer_check(stacks: Sequence[str], suite: str, among: Sequence[Path], live: Sequence[LiveCheck] = ()) -> Answer:
    """Return the answer; `live`: checks of servers. Raises ValueError where there is nothing to check."""
    checks = [one for stack in stacks for find in (check_servers, check_pairs) for one in find(stack, suite, among)]
    if not checks:
        raise ValueError(
            f"no runs of {', '.join(stacks)} in {suite} to check the memory model at: it needs three numbers of "
            f"sessions; {describe_recording(stacks[0], suite)}"
        )
    claimed = [one for one in checks if one.is_claimed]
    worst = max((one.error for one in claimed), key=abs, default=None)
    counted = f"{len(claimed)} figure{'s' * (len(claimed) != 1)}"
    headline = (
        "No recorded run has as many concurrent handshakes as the memory model is meant for"
        if worst is None
        else f"In the harness, the memory model is at most {abs(worst):.2%} off at {counted} that it was not fitted to"
    )
    notes = [
        f"Left out: {len(checks) - len(claimed)} harness figures with fewer concurrent handshakes than 1 % of the "
        "connections.",
        f"From {', '.join(dict.fromkeys(recordings.display_name(one.recording) for one in checks))}",
        "More: --details lists every figure; --stack, --suite",
    ]
    sections = [check_section(stack, [one for one in claimed if one.stack == stack]) for stack in stacks]
    tables = [check_table(checks, suite, worst)]
    if live:
        sections.append(live_section(live))
        tables.append(live_table(live))
    return Answer([headline], [one for one in sections if one.lines], notes, tables)


def check_section(stack: str, checks: Sequence[Check]) -> Section:
    """Return the largest error of each kind of process."""
    lines = []
    for process in dict.fromkeys(one.process for one in checks):
        worst, among = find_worst([one for one in checks if one.process == process])
        lines.append(Line(process, f"{worst.error:+.2%}", f"at {worst.sessions:,} sessions{among}"))
    return Section(stack_title(stack), lines)


def find_worst(checks: Sequence[AnyCheck]) -> tuple[AnyCheck, str]:
    """Return the check with the largest error, and of how many it is the worst."""
    return max(checks, key=lambda one: abs(one.error)), f" (worst of {len(checks)})" if len(checks) > 1 else ""


def live_section(checks: Sequence[LiveCheck]) -> Section:
    """Return the largest error of each server in each state; of a server that was built on a library, in either."""
    kinds: dict[tuple[str, str], list[LiveCheck]] = {}
    for one in checks:
        kinds.setdefault((one.server, one.build or one.state), []).append(one)
    lines = []
    for found in kinds.values():
        worst, among = find_worst(found)
        window = "all" if worst.window == worst.connections else f"{worst.window:,}"
        if worst.build:
            remark = f"{worst.state}, N {worst.connections:,}, W {window}{among}"
            lines.append(Line(f"{worst.server} {worst.build}", f"{worst.error:+.1%}", remark))
        else:
            remark = f"{worst.connections:,} connections, W {window}{among}"
            lines.append(Line(f"{worst.server}, {worst.state}", f"{worst.error:+.1%}", remark))
    return Section("RSS of real servers, as planned with --as and W concurrent handshakes", lines)


def live_table(checks: Sequence[LiveCheck]) -> Table:
    """Return a row for each live run and state."""
    caption = (
        "RSS of the server's processes, added up, without kernel memory. Model: the process, N·(E + own), and (W - "
        f"{WARM_UP})·H: the process was read after the first {WARM_UP} connections. The process and own come from the "
        f"runs with W = {WINDOW} of one recording of this server on this library (for W = 1, own is from runs "
        "with W = 1, if it is notably more there), H from the harness, and what the server keeps of a handshake beyond "
        "H from the largest run with all handshakes concurrent. In each row, runs of the same recording with the same "
        "N are left out of the fit, so nothing is compared with itself. A server without a session of the harness is "
        "fitted to its live runs alone: the process is then where the line of RSS over N begins, E is its slope, and H "
        "what the slope is more with all handshakes concurrent."
    )
    names = {"server": "server", "library": "library", "state": "state", "recording": "recording"}
    columns = [Heading(key, heading, left=True) for key, heading in names.items()]
    columns += [Heading("connections", "N"), Heading("window", "W"), Heading("measured_bytes", "measured")]
    columns += [Heading("predicted_bytes", "model"), Heading("error", "error")]
    table = Table("servers", "Plans against real servers", caption, columns)
    for one in checks:
        error = Cell(f"{one.error:+.1%}".replace("%", " %"), round(one.error, 6))
        cells = [text_cell(one.server), text_cell(one.build or choices.PACKAGED), text_cell(one.state)]
        cells += [text_cell(recordings.display_name(one.recording))]
        cells += [integer_cell(one.connections), integer_cell(one.window)]
        table.rows.append([*cells, memory_cell(one.measured), memory_cell(one.predicted), error])
    return table


def check_table(checks: Sequence[Check], suite: str, worst: float | None) -> Table:
    largest = "none of these" if worst is None else f"the largest error there is {worst:+.2%}"
    caption = (
        f"Suite {suite}. Both ends in one process: peak RSS during handshakes, fitted to the campaign `law` (5,000 and "
        "10,000 sessions, the fewest concurrent handshakes from 1 % of the pairs on, and the most). Servers: the line "
        f"through all N but the largest, at the largest. Where the model is meant to hold: {largest}."
    )
    names = {"stack": "stack", "process": "process", "recording": "recording"}
    columns = [Heading(key, heading, left=True) for key, heading in names.items()]
    columns += [Heading("sessions", "sessions"), Heading("window", "W"), Heading("measured_bytes", "measured")]
    columns += [Heading("predicted_bytes", "model"), Heading("error", "error")]
    table = Table("check", "The memory model at runs that it was not fitted to", caption, columns)
    for one in checks:
        error = Cell(f"{one.error:+.2%}".replace("%", " %"), round(one.error, 6), None if one.is_claimed else NARROWER)
        where = text_cell(recordings.display_name(one.recording))
        cells = [text_cell(one.stack), text_cell(one.process), with_note(where, ELSEWHERE if one.elsewhere else None)]
        cells += [integer_cell(one.sessions), integer_cell(one.window)]
        table.rows.append([*cells, memory_cell(one.measured), memory_cell(one.predicted), error])
    return table
