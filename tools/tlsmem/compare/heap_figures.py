"""Figures of live heap by session: counted, in whole numbers, of the heap runs at two numbers of sessions."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tlsmem.compare.places import METERS, PEAK, Place, of_people
from tlsmem.schema.records import Record
from tlsmem.stats import process_tables, remainders, repeats, session_cost
from tlsmem.stats.figure import Figure
from tlsmem.stats.series import Series

OF_WINDOW = ("sessions", "client ", "server ")  # phases of the last window's sessions alone


def metered(series: Series) -> list[list[Record]]:
    """Of each repeat its heap runs at the two smallest N, or the one N; those of sites runs where there are no others.

    Tables that are no session's are taken out, as in the table of live heap."""
    runs = series.runs("heap") or series.runs("sites")
    counts = sorted({run.sessions for run in runs})[:2]
    of_each = repeats.of_each([run for run in runs if run.sessions in counts])
    return [[*process_tables.without(tuple(pair))] if len(pair) == 2 else pair[:1] for pair in of_each]


def heap_figures(series: Series) -> Iterator[tuple[Place, Figure]]:
    found = metered(series)
    if not found:
        return
    roles = {role: role for role, process in series.setting.processes.items() if process == series.process}
    roles |= {"pair": "total"} if series.setting.roles == "together" else {}
    for name, role in roles.items():
        for phase in [PEAK, *reached(found[0], series)]:
            for meter in ("heap", "blocks", "allocations"):
                if figure := heap_figure(found, role, phase, meter, series):
                    yield Place(series.setting.suite, name, of_people(phase), meter), figure
        if name != "pair":
            yield from rest_figure(series, role)


def heap_figure(found: Sequence[Sequence[Record]], role: str, phase: str, meter: str, series: Series) -> Figure | None:
    """None where there is no such figure: a peak of windows, or what is allocated up to a peak."""
    if phase == PEAK and (meter == "allocations" or series.setting.window != "all"):
        return None
    values = [value(runs, role, phase, meter) for runs in found]
    uneven = any(one.denominator != 1 for one in values) or not remainders.repeats(remainders.given(found[0][0]))
    runs = found[0]
    figure = Figure(tuple(values), len(set(values)) == 1, METERS[meter], noise=Fraction(int(uneven)))
    alone = None if len(runs) == 2 else runs[0].sessions
    return figure._replace(quotient=alone, at=at_peak(runs, role) if phase == PEAK else None)


def value(runs: Sequence[Record], role: str, phase: str, meter: str) -> Fraction:
    """Of a session: a slope of two runs, of one what is above `contexts`."""
    at = at_peak(runs, role) if phase == PEAK else phase
    counts = [count(run, role, at, meter, phase == PEAK) for run in runs]
    if len(runs) == 2:
        return Fraction(counts[1] - counts[0], (runs[1].sessions - runs[0].sessions) // 2)
    return Fraction(counts[0], runs[0].sessions // 2)


def count(run: Record, role: str, phase: str, meter: str, peak: bool) -> int:
    """Above `contexts`."""
    now, before = (getattr(session_cost.phase_of(run, name).heap, role) for name in (phase, "contexts"))
    field = {"heap": "bytes", "blocks": "blocks", "allocations": "cumulative_blocks"}[meter]
    if meter == "allocations":
        return now.cumulative_blocks - before.cumulative_blocks
    return getattr(now, f"{'peak' if peak else 'live'}_{field}") - getattr(before, f"live_{field}")


def at_peak(runs: Sequence[Record], role: str) -> str:
    """The phase that asks the most per session, the first of equals, as costs.peak_cost has it."""
    if len(runs) == 2:
        return session_cost.peak_cost(*runs, role).phase
    phases = [phase for phase in session_cost.phases_of(runs[0]) if phase.phase != "contexts"]
    return max(phases, key=lambda phase: getattr(phase.heap, role).peak_bytes).phase


def rest_figure(series: Series, role: str) -> Iterator[tuple[Place, Figure]]:
    pair = series.heap_pair()
    if pair and (two := process_tables.tables(pair).get(role)):
        more = Fraction(two[1].bytes - two[0].bytes)
        place = Place(series.setting.suite, role, "closed", "rest", pair[1].sessions)
        yield place, Figure((more,), True, METERS["rest"], noise=Fraction(remainders.BLINDING_BYTES))


def reached(runs: Sequence[Record], series: Series) -> list[str]:
    """Phases with a cost per session, in order."""
    names = [phase.phase for phase in session_cost.phases_of(runs[0])]
    windowed = series.setting.window != "all"
    return [name for name in names if name != "contexts" and not (windowed and name.startswith(OF_WINDOW))]
