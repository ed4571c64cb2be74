"""What a connection costs as servers run it, from runs with full records: RSS that was measured in that state.

E is the slope of RSS at the end of the state's phase, few handshakes at a time. E + H is the slope of the peak with all
in the handshake, in the same configuration; where nobody recorded that, H is not known."""

from collections.abc import Sequence
from dataclasses import replace

from tlsmem.plan.allocator_retention import CLOSED, share
from tlsmem.plan.configuration import Configuration
from tlsmem.plan.connection_model import (
    MEASURED,
    WHOLE,
    ConnectionModel,
    Slope,
    find_settings,
    fit_slope,
    machine_identity,
)
from tlsmem.schema.records import Record
from tlsmem.schema.roles import ROLES
from tlsmem.stats import memory_model, session_cost
from tlsmem.stats.configured_stack import AT_REST, IDLE, IN_USE
from tlsmem.stats.missing import Missing
from tlsmem.stats.runtime_heap import bytes_per_session, heap_of_role
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Series


def select_configuration(runs: Sequence[Record], stack: str, variant: str) -> Selection | None:
    """Return the comparable measured runs of the stack in the suite's variant; None where there are none."""
    found = [one for one in runs if (one.scenario, one.suite, one.status) == ("memory", variant, "measured")]
    return select(found, [stack], [variant]) if found else None


def series_of_role(selection: Selection, allocator: str, role: str, data: str, narrow: bool) -> Series | None:
    """Return the runs in which a process holds the role: few handshakes at a time, or all at once."""
    for roles in ("together",) if role == "both" else ("split", f"keep-{role}"):
        for one in find_settings(selection, allocator, roles, data):
            if (one.window != "all") == narrow:
                process = one.processes[role] if role in ROLES else "both"
                return selection.series(selection.stacks[0], one, process)
    return None


def slope_at(series: Series, phase: str) -> Slope | None:
    """Return the slope of RSS at the end of the phase; None where the runs have no such phase or no line."""
    if not all(any(one.phase == phase for one in run.phases) for run in series.full("rss")):
        return None
    found = fit_slope(series, session_cost.rss_at_end(phase), 2)
    return None if found is None or found.quotient else found


def fit_configuration(
    runs: Sequence[Record], stack: str, suite: str, allocator: str, role: str, configuration: Configuration
) -> ConnectionModel | None:
    """Return the model of the role's process in the configuration; None where it was not recorded."""
    selection = select_configuration(runs, stack, configuration.variant(suite))
    narrow = series_of_role(selection, allocator, role, "full", narrow=True) if selection else None
    resting = slope_at(narrow, configuration.phase) if narrow else None
    if not selection or not narrow or not resting:
        return None
    known = ConnectionModel(
        stack, suite, allocator, role, MEASURED, resting.fixed, resting.each, None, None, 0.0, None, resting.widest
    )
    in_use, live = slope_at(narrow, IN_USE), live_heap_at(narrow, role, configuration.phase)
    known = replace(
        known,
        configuration=configuration,
        live=live,
        in_use=in_use.each if in_use else None,
        whole_record=releases_whole_record(narrow, role),
        machine=machine_identity(selection.records[-1]),
        left_out=selection.left_out,
        held_closed=share(slope.each, resting.each) if (slope := fit_slope(narrow, CLOSED, 2)) else 1.0,
    )
    return add_handshakes(known, selection, configuration.phase)


def add_handshakes(known: ConnectionModel, selection: Selection, phase: str) -> ConnectionModel:
    """Return the model with H, and with what stays of it, from runs with all in the handshake at once."""
    wide = [series_of_role(selection, known.allocator, known.role, data, narrow=False) for data in ("full", "short")]
    for series in filter(None, wide):
        peak = fit_slope(series, memory_model.handshake_peak_rss, 2)
        after = slope_at(series, phase) or slope_at(series, AT_REST)
        closed = fit_slope(series, CLOSED, 2)
        if peak and after and closed and not peak.quotient:
            beyond = max(0.0, peak.each - known.kept)
            stays = share(after.each - known.kept, beyond)
            at_most = max(peak.each, after.each)
            return replace(known, handshake=beyond, held_shaking=stays, held_closed=share(closed.each, at_most))
    return known


def live_heap_at(series: Series, role: str, phase: str) -> float | None:
    """Return the live heap of a connection at the end of the phase; None where it was not metered."""
    roles = ROLES if role == "both" else (role,)
    figures = [heap_of_role(series, one).live(phase) for one in roles]
    known = [bytes_per_session(one) for one in figures if not isinstance(one, Missing)]
    return sum(known) if len(known) == len(roles) else None


def releases_whole_record(series: Series, role: str) -> bool | None:
    """Return whether a session in use has room for a whole record: it gave back that much when it was asked to.

    None where nothing tells: a library may have no such call."""
    before, after = (live_heap_at(series, role, phase) for phase in (IN_USE, IDLE))
    return True if before and after and before - after >= WHOLE else None
