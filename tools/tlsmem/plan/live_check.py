"""Plans of servers against their live runs, each compared with a plan that leaves it out."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.plan.live_model import fit_live, measured_bytes
from tlsmem.plan.server_memory import (
    LeftOut,
    find_live_runs,
    has_sessions,
    list_builds,
    list_recorded,
    measured_rss,
    predict_rss,
)
from tlsmem.schema.live_records import LiveRecord

STATES = {"in use": "in-use", "at rest": "at-rest"}  # as people and as a plan name them


class LiveCheck(NamedTuple):
    """RSS of a live run, in bytes, as measured and as planned. `build`: the stack that the server was built on; None:
    as it is packaged."""

    server: str
    build: str | None
    state: str
    connections: int
    window: int  # concurrent handshakes
    recording: Path
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def check_live(among: tuple[Path, ...] | None = None) -> list[LiveCheck]:
    """Return the plan of each server, in each build, against all its live runs, in use and at rest; `among`: of these
    recordings; None: the committed ones."""
    return [
        check
        for name in list_recorded(among)
        for build in list_builds(name, among)
        for check in check_server(name, build, among)
    ]


def check_server(name: str, build: str | None, among: tuple[Path, ...] | None) -> list[LiveCheck]:
    """Return the same of one build of a server."""
    return [
        check
        for state in STATES
        for path, run in find_live_runs(name, build, among)
        for check in check_run(name, run, state, path, among, has_sessions(name, build))
    ]


def check_plan(like: LiveRecord, plan_state: str, among: tuple[Path, ...], is_modelled: bool) -> list[LiveCheck]:
    """Return plans in a state against the runs of the program and library of one. `is_modelled`: they set a session of
    the harness apart."""
    (state,) = (words for words, one in STATES.items() if one == plan_state)
    return [
        check
        for path, run in find_live_runs(like.server, like.stack, among)
        if (run.reported, run.tls_library) == (like.reported, like.tls_library)
        for check in check_run(like.server, run, state, path, among, is_modelled)
    ]


def check_run(
    name: str, run: LiveRecord, state: str, recording: Path, among: tuple[Path, ...] | None, is_modelled: bool
) -> Iterator[LiveCheck]:
    """Yield the plan against a run; nothing where too few others are left to fit it to."""
    kind = (name, run.stack, state, run.connections, run.window, recording)
    if is_modelled:
        if (predicted := predict_rss(name, run, STATES[state], recording, among)) is not None:
            yield LiveCheck(*kind, measured_rss(run, STATES[state]), predicted)
    elif fit := fit_live(name, run.stack, among, LeftOut(recording, run.connections)):
        predicted = fit.predict(run.connections, run.window, STATES[state])
        yield LiveCheck(*kind, measured_bytes(fit, run, STATES[state]), predicted)
