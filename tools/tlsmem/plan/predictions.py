"""Predictions of live runs that are yet to be made: written before, with the commit, and held against the runs after.

They are lines of data/predictions/live.jsonl, one a server, library, number of connections, number of handshakes at a
time and state. A line is compared with runs that began after it was written."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from tlsmem.base.errors import UserError
from tlsmem.base.paths import IS_WHEEL, ROOT
from tlsmem.config.libraries import library_key
from tlsmem.config.servers import servers
from tlsmem.plan.live_model import LiveFit, advise_handshakes, fit_live, measured_bytes
from tlsmem.plan.server_memory import (
    PHASES,
    ServerMemory,
    add_terms,
    find_live_runs,
    find_suite,
    has_sessions,
    measure_handshake_excess,
    measure_server,
    measured_rss,
    model_session,
)
from tlsmem.run.harness import utc_now
from tlsmem.run.provenance import checkout
from tlsmem.schema.harness_output import Model, PositiveInt, describe_error
from tlsmem.schema.live_records import LiveRecord

FILE = ROOT / "data/predictions/live.jsonl"


class Prediction(Model):
    """RSS of a live run, in bytes. `stack`: that the server is built on; None: as it is packaged. `fitted_to`: the live
    runs that its process and its own part of a connection are from."""

    schema_: Literal[1] = Field(1, alias="schema")
    server: str
    stack: str | None
    connections: PositiveInt
    window: PositiveInt
    state: str
    rss_bytes: PositiveInt
    fitted_to: str
    predicted_at: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    commit: str
    dirty: bool


class Outcome(NamedTuple):
    """A prediction and a run that was made after it."""

    prediction: Prediction
    recording: Path
    measured_bytes: int

    @property
    def error(self) -> float:
        return self.prediction.rss_bytes / self.measured_bytes - 1


def predict(
    name: str,
    stacks: Sequence[str | None],
    connections: Sequence[int],
    windows: Sequence[int | str],
    among: tuple[Path, ...],
) -> list[Prediction]:
    """Return the predictions of a server built on these stacks, in all states; None stands for the server as it is
    packaged. Those with more concurrent handshakes than the recordings tell are left out. Raises ValueError with a
    sentence where none can be made."""
    commit, dirty = checkout()
    now = utc_now()
    found = [
        Prediction(
            schema=1,
            server=name,
            stack=stack,
            connections=count,
            window=window,
            state=state,
            rss_bytes=round(basis.predict(count, window, state)),
            fitted_to=basis.source,
            predicted_at=now,
            commit=commit,
            dirty=dirty,
        )
        for stack in stacks
        for basis in [find_basis(name, stack, among)]
        for count in connections
        for window in list_windows(count, windows)
        if not isinstance(basis, LiveFit) or basis.knows(window)
        for state in PHASES
    ]
    if not found:
        raise ValueError(f"--as {name}: {describe_unknown(name)}")
    return found


def list_windows(connections: int, windows: Sequence[int | str]) -> list[int]:
    """Return the numbers of concurrent handshakes, each once, for so many connections."""
    return [*dict.fromkeys(connections if one == "all" else min(int(one), connections) for one in windows)]


def describe_unknown(name: str) -> str:
    return f"what more concurrent handshakes leave is not recorded; to record it: {advise_handshakes(name)}"


class Basis(NamedTuple):
    """What predictions of a server on a stack are made of: what it holds beside a session of the harness. `excess`:
    what it keeps of a concurrent handshake beyond the library."""

    name: str
    stack: str
    measured: ServerMemory
    excess: int

    @property
    def source(self) -> str:
        return self.measured.source

    def predict(self, connections: int, window: int, state: str) -> float:
        """Return the RSS of a run. Raises ValueError where a session of the stack is not recorded."""
        session = model_session(self.name, self.stack, find_suite(self.measured.runs), state)
        return add_terms(self.measured, session, connections, window, self.excess)


def find_basis(name: str, stack: str | None, among: tuple[Path, ...]) -> Basis | LiveFit:
    """Return what predictions are made of: with a session of the harness, or where it has none, of live runs alone.

    Raises ValueError with a sentence where neither is recorded."""
    sessions = (stack or servers()[name].packaged) if name in servers() else None
    measured = measure_server(name, stack, among) if has_sessions(name, stack) else None
    if sessions and measured:
        same = library_key(measured.stack) == library_key(sessions)
        excess = measure_handshake_excess(name, measured.run.stack, among) if same else None
        return Basis(name, sessions, measured, excess or 0)
    if fit := fit_live(name, stack, among):
        return fit
    on = f" on {stack}" if stack else ""
    raise ValueError(
        f"--as {name}: no live runs of it{on} are recorded with two numbers of connections, so there is nothing to "
        f"predict from; `make live SERVER={name}` makes some"
    )


def append(file: Path, predictions: Sequence[Prediction]) -> None:
    """Append lines. Raises UserError where that fails, and in an installed package."""
    if IS_WHEEL:
        raise UserError("--write: an installed package has no recordings to write beside; predict in a clone", status=2)
    text = "".join(f"{one.model_dump_json(by_alias=True)}\n" for one in predictions)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
    except OSError as error:
        raise UserError(f"{file}: cannot write the predictions: {error.strerror}") from None


def load(file: Path) -> list[Prediction]:
    """Return the lines of a file; none where there is no file. Raises UserError with file and line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot read the predictions: {error}") from None
    return [parse(line, f"{file}: line {number}") for number, line in enumerate(lines, start=1)]


def parse(line: str, where: str) -> Prediction:
    """Return a prediction. Raises UserError with a sentence that begins with `where`."""
    try:
        return Prediction.model_validate_json(line)
    except ValidationError as error:
        raise UserError(f"{where}: {describe_error(error)}") from None


def compare(predictions: Sequence[Prediction], among: Sequence[Path]) -> Iterator[Outcome]:
    """Yield the predictions of which a run was made afterwards, with the first such run of each recording."""
    for one in predictions:
        found: dict[Path, LiveRecord] = {}
        for path, run in find_live_runs(one.server, one.stack, among):
            is_it = (run.connections, run.window) == (one.connections, one.window)
            if is_it and run.started_at > one.predicted_at:
                found.setdefault(path, run)
        for path, run in found.items():
            fit = None if has_sessions(one.server, one.stack) else fit_live(one.server, one.stack, tuple(among))
            measured = measured_bytes(fit, run, one.state) if fit else measured_rss(run, one.state)
            yield Outcome(one, path, measured)
