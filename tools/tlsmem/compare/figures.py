"""The figures of one stack's runs by place: live heap per session, RSS slopes and peaks, and rates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from tlsmem.compare.figure_places import CUMULATIVE_METERS, Place, parse_phase, timed_phase_name
from tlsmem.config.choices import METERS, PEAK
from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.stats import process_tables, remainders, repeats, session_cost, timed_rates, timed_selection
from tlsmem.stats.change import Figure
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.timed_selection import Work
from tlsmem.stats.timed_summary import sample_from_runs as timed_figure
from tlsmem.store.record import HeapCounts, Record

COUNTS: dict[str, Callable[[HeapCounts], int]] = {  # of the heap meter, at the end of a phase
    "heap": lambda counts: counts.live_bytes,
    "blocks": lambda counts: counts.live_blocks,
    "allocations": lambda counts: counts.cumulative_blocks,
    "allocated": lambda counts: counts.cumulative_bytes,
}
PEAK_COUNTS: dict[str, Callable[[HeapCounts], int]] = {
    "heap": lambda counts: counts.peak_bytes,
    "blocks": lambda counts: counts.peak_blocks,
}
OF_WINDOW = ("sessions", "client ", "server ")  # phases of the last window's sessions alone
HeapRuns = tuple[Record] | tuple[Record, Record]  # at one N, or at two, the smaller first


def metered(series: Series) -> list[HeapRuns]:
    """Of each repeat its heap runs at the two smallest N, or the one N; those of sites runs where there are no others.

    Tables that are no session's are taken out, as in the table of live heap."""
    runs = series.runs("heap") or series.runs("sites")
    counts = sorted({run.sessions for run in runs})[:2]
    of_each = repeats.group_by_repeat([run for run in runs if run.sessions in counts])
    return [process_tables.remove_tables((pair[0], pair[1])) if len(pair) == 2 else (pair[0],) for pair in of_each]


def heap_figures(series: Series) -> Iterator[tuple[Place, Figure]]:
    found = metered(series)
    if not found:
        return
    roles: dict[str, str] = {
        role: role for role, process in series.setting.processes.items() if process == series.process
    }
    roles |= {"pair": "total"} if series.setting.roles == "together" else {}
    for name, role in roles.items():
        for phase in [PEAK, *reached_phases([run for runs in found for run in runs], series)]:
            for meter in COUNTS:
                if figure := heap_figure(found, role, phase, meter, series):
                    yield Place(series.setting.suite, name, parse_phase(phase), meter), figure
        if name != "pair":
            yield from rest_figure(series, role)


def heap_figure(found: Sequence[HeapRuns], role: str, phase: str, meter: str, series: Series) -> Figure | None:
    """None where there is no such figure: a peak of windows, or what is allocated up to a peak."""
    if phase == PEAK and (meter in CUMULATIVE_METERS or series.setting.window != "all"):
        return None
    values = [value(runs, role, phase, meter) for runs in found]
    uneven = any(one.denominator != 1 for one in values) or not remainders.repeats_exactly(
        harness_arguments(found[0][0])
    )
    runs = found[0]
    if meter == "allocated":
        noise, exact = remainders.allocated_noise(runs, role), False
    else:
        noise, exact = Fraction(int(uneven)), len(set(values)) == 1
    figure = Figure(tuple(values), exact, METERS[meter], noise=noise)
    alone = None if len(runs) == 2 else runs[0].sessions
    return figure._replace(quotient=alone, at=at_peak(runs, role) if phase == PEAK else None)


def value(runs: HeapRuns, role: str, phase: str, meter: str) -> Fraction:
    """Of a session: a slope of two runs, of one what is above `contexts`."""
    at = at_peak(runs, role) if phase == PEAK else phase
    counts = [count(run, role, at, meter, phase == PEAK) for run in runs]
    if len(runs) == 2:
        return Fraction(counts[1] - counts[0], (runs[1].sessions - runs[0].sessions) // 2)
    return Fraction(counts[0], runs[0].sessions // 2)


def count(run: Record, role: str, phase: str, meter: str, peak: bool) -> int:
    """Above `contexts`."""
    now, before = (session_cost.heap_of(session_cost.phase_of(run, name), role) for name in (phase, "contexts"))
    return (PEAK_COUNTS if peak else COUNTS)[meter](now) - COUNTS[meter](before)


def at_peak(runs: HeapRuns, role: str) -> str:
    """The phase that asks the most per session, the first of equals, as costs.peak_cost has it."""
    if len(runs) == 2:
        return session_cost.peak_cost(*runs, role).phase
    phases = [phase for phase in session_cost.phases_of(runs[0]) if phase.phase != "contexts"]
    return max(phases, key=lambda phase: session_cost.heap_of(phase, role).peak_bytes).phase


def rest_figure(series: Series, role: str) -> Iterator[tuple[Place, Figure]]:
    pair = series.heap_pair()
    if pair and (two := process_tables.find_tables(pair).get(role)):
        more = Fraction(two[1].bytes - two[0].bytes)
        place = Place(series.setting.suite, role, "closed", "rest", pair[1].sessions)
        yield place, Figure((more,), True, METERS["rest"], noise=Fraction(remainders.BLINDING_BYTES))


def reached_phases(runs: Sequence[Record], series: Series) -> list[str]:
    """Phases with a cost per session that every run has, in order."""
    names, *others = ([phase.phase for phase in session_cost.phases_of(run)] for run in runs)
    names = [name for name in names if all(name in other for other in others)]
    windowed = series.setting.window != "all"
    return [name for name in names if name != "contexts" and not (windowed and name.startswith(OF_WINDOW))]


def rss_figures(series: Series) -> Iterator[tuple[Place, Figure]]:
    """Slopes where there are two N, quotients where there is one; and peaks of the process at each N."""
    runs, setting = series.full("rss"), series.setting
    together = setting.roles == "together"
    role = next(role for role, process in setting.processes.items() if process == series.process)
    owner, holder = ("pair", "process") if together else (role, role)
    for phase in [PEAK, *(reached_phases(runs, series) if runs else [])]:
        quantity = session_cost.peak_rss if phase == PEAK else session_cost.rss_at_end(phase)
        found = repeats.slopes(series, quantity)
        alone = runs[0].sessions if runs and not found and len({run.sessions for run in runs}) == 1 else None
        found = found or ([rss_quotient(run, quantity) for run in runs] if alone else [])
        if found:
            figure = Figure(tuple(found), False, METERS["rss"], quotient=alone)
            yield Place(setting.suite, owner, parse_phase(phase), "rss"), figure
    for sessions in sorted({run.sessions for run in series.runs("rss")}):
        peaks = tuple(map(float, repeats.peaks(series, sessions)))
        yield Place(setting.suite, holder, PEAK, "peak-rss", sessions), Figure(peaks, False, METERS["peak-rss"])


def rss_quotient(run: Record, quantity: session_cost.Quantity) -> float:
    return (quantity(run) - session_cost.phase_of(run, "contexts").rss_bytes) / (run.sessions // 2)


__all__ = ["Figure", "figures_by_place"]


def figures_by_place(records: Iterable[Record]) -> dict[Place, Figure]:
    """Of ONE stack's comparable runs (selection.select's, of one stack), in one setting a suite.

    Raises ValueError with a sentence when there are several stacks, or a suite is there in several settings."""
    records = list(records)
    found = {place: figure for series in memory_series(records) for place, figure in figures_from_series(series)}
    return found | {place: figure for runs in timed_runs(records) for place, figure in figures_from_timed(runs)}


def memory_series(records: Sequence[Record]) -> Iterator[Series]:
    """One a suite and process."""
    groups: dict[Setting, list[Record]] = {}
    for one in records:
        if one.scenario == "memory":
            groups.setdefault(Setting.from_record(one), []).append(one)
    check_single({one.stack for one in records}, [setting.suite for setting in groups])
    for setting, runs in groups.items():
        for process in dict.fromkeys(setting.processes.values()):
            yield Series(runs[0].stack, setting, tuple(one.select_process(process) for one in runs), process)


def check_single(stacks: set[str], suites: Sequence[str]) -> None:
    if len(stacks) > 1:
        raise ValueError(f"figures are of one stack, not of {' and '.join(sorted(stacks))}")
    for suite in suites:
        if suites.count(suite) > 1:
            raise ValueError(f"{suite} is there in several settings (allocator, window, roles, environment, CPU)")


def figures_from_series(series: Series) -> Iterator[tuple[Place, Figure]]:
    yield from heap_figures(series)
    yield from rss_figures(series)


def timed_runs(records: Sequence[Record]) -> list[list[Record]]:
    """Repeats of one work each."""
    groups: dict[Work, list[Record]] = {}
    for one in records:
        if timed_selection.is_timed(one) and one.meter == "time" and one.status == "measured":
            groups.setdefault(Work.from_record(one), []).append(one)
    check_single({one.stack for one in records}, [])
    return [sorted(runs, key=lambda one: one.repeat) for runs in groups.values()]


def figures_from_timed(runs: Sequence[Record]) -> Iterator[tuple[Place, Figure]]:
    first = runs[0]
    for meter, role, quantity in (
        ("handshakes", "client", timed_rates.per_second("client")),
        ("handshakes", "server", timed_rates.per_second("server")),
        ("send", "server", timed_rates.mebibytes_per_second("send")),
        ("receive", "client", timed_rates.mebibytes_per_second("receive")),
    ):
        found = timed_figure(runs, quantity)
        if found and (meter == "handshakes") == (first.scenario == "handshake"):
            figure = Figure(found.values, False, METERS[meter], True, repeats=found.repeats, made=found.made)
            yield Place(first.suite, role, timed_phase_name(first), meter), figure
