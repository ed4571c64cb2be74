"""What `plan predict` prints, and what `plan check` prints of predictions that were written before their runs."""

from collections.abc import Sequence
from pathlib import Path

from tlsmem.base.paths import shorten
from tlsmem.config import choices
from tlsmem.config.libraries import stack_title
from tlsmem.plan import predictions
from tlsmem.plan.amounts import format_size, memory_cell
from tlsmem.plan.live_model import describe_server
from tlsmem.plan.predictions import Outcome, Prediction
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.stats.missing import NOT_RECORDED
from tlsmem.store.recordings import display_name
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

WORDS = {"in-use": "in use", "at-rest": "at rest"}
CAPTION = (
    "RSS of the server's processes, added up, without kernel memory. Written: when, and at which commit. Measured: the "
    "first run of a recording that began after that. + is a prediction above the measurement."
)
COLUMNS = {"server": "server", "library": "library", "state": "state"}
COMMIT_DIGITS = 10


def answer_predict(found: Sequence[Prediction], asked: int, is_written: bool) -> Answer:
    """Return the predictions of so many runs that were asked for; `is_written`: they were appended to the file."""
    runs = len(found) // len(WORDS)
    stacks = list(dict.fromkeys(one.stack for one in found))
    what = describe_server(found[0].server).what
    largest = max(found, key=lambda one: one.rss_bytes)
    headline = (
        f"{what}: {format_size(min(one.rss_bytes for one in found))} to {format_size(largest.rss_bytes)} of RSS in "
        f"{runs} runs that are to be made"
    )
    sections = [
        Section(f"{what} on {name_build(stack)}, in use", [line_of(one) for one in found if is_shown(one, stack)])
        for stack in stacks
    ]
    where = shorten(predictions.FILE)
    sources = "; ".join(dict.fromkeys(one.fitted_to for one in found))
    notes = [
        f"Appended to {where}; plan check compares them with runs that are made from now on."
        if is_written
        else f"More: --write appends them to {where}; --details",
        f"The process and the server's own part of a connection: {sources}.",
    ]
    if runs < asked:
        notes.append(f"Left out: {asked - runs} runs; {predictions.describe_unknown(found[0].server)}")
    return Answer([headline], sections, notes, [prediction_table(found)])


def is_shown(one: Prediction, stack: str | None) -> bool:
    """Return whether the screen has a prediction of this stack; the table has every one."""
    return one.stack == stack and one.state == "in-use"


def line_of(one: Prediction) -> Line:
    return Line(f"N {one.connections:,}, W {describe_window(one)}", format_size(one.rss_bytes))


def describe_window(one: Prediction) -> str:
    return "all" if one.window == one.connections else f"{one.window:,}"


def name_build(stack: str | None) -> str:
    """Return the library that a server was built on as people write it."""
    return stack_title(stack) if stack else "the library of its package"


def prediction_table(found: Sequence[Prediction]) -> Table:
    """Return a row for each prediction."""
    columns = [*(Heading(key, heading, left=True) for key, heading in COLUMNS.items())]
    columns += [Heading("connections", "N"), Heading("window", "W"), Heading("predicted_bytes", "predicted")]
    table = Table("predictions", "RSS of live runs to go", CAPTION.partition(" Written")[0], columns)
    table.rows = [[*cells_of(one), memory_cell(one.rss_bytes)] for one in found]
    return table


def cells_of(one: Prediction) -> list[Cell]:
    names = [one.server, one.stack or choices.PACKAGED, WORDS[one.state]]
    return [*map(text_cell, names), integer_cell(one.connections), integer_cell(one.window)]


def add_outcomes(answer: Answer, among: Sequence[Path]) -> Answer:
    """Return the answer of a check with the predictions that were written before their runs; the same without any."""
    written = predictions.load(predictions.FILE)
    outcomes = list(predictions.compare(written, among))
    if not written:
        return answer
    return answer._replace(
        sections=[*answer.sections, *([outcome_section(outcomes)] if outcomes else [])],
        tables=[*answer.tables, outcome_table(written, outcomes)],
    )


def outcome_section(outcomes: Sequence[Outcome]) -> Section:
    """Return the largest error of each server and library, by the live runs that the predictions were made of."""
    kinds: dict[tuple[str, str | None, str], list[Outcome]] = {}
    for one in outcomes:
        kinds.setdefault((one.prediction.server, one.prediction.stack, one.prediction.fitted_to), []).append(one)
    lines = []
    for (server, stack, fitted_to), found in kinds.items():
        worst = max(found, key=lambda one: abs(one.error))
        where = f"N {worst.prediction.connections:,}, W {describe_window(worst.prediction)} (worst of {len(found)})"
        lines.append(Line(f"{server} {stack or ''}".rstrip(), f"{worst.error:+.1%}", where))
        lines.append(Line(f"  from {fitted_to.rpartition(', ')[0]}", ""))
    return Section("RSS of real servers, as predicted before the run", lines)


def outcome_table(written: Sequence[Prediction], outcomes: Sequence[Outcome]) -> Table:
    """Return a row for each prediction and run; for a prediction without a run, one that says so."""
    columns = [*(Heading(key, heading, left=True) for key, heading in COLUMNS.items())]
    columns += [Heading("connections", "N"), Heading("window", "W"), Heading("predicted_bytes", "predicted")]
    columns += [Heading("predicted_at", "written", left=True), Heading("commit", "commit", left=True)]
    columns += [Heading("recording", "recording", left=True), Heading("measured_bytes", "measured")]
    columns += [Heading("error", "error")]
    table = Table("predictions", "Predictions that were written before their runs", CAPTION, columns)
    for one in written:
        origin = [text_cell(one.predicted_at), text_cell(one.commit[:COMMIT_DIGITS] + " (changed)" * one.dirty)]
        row = [*cells_of(one), memory_cell(one.rss_bytes), *origin]
        found = [outcome for outcome in outcomes if outcome.prediction == one]
        for outcome in found:
            error = Cell(f"{outcome.error:+.1%}".replace("%", " %"), round(outcome.error, 6))
            where = text_cell(display_name(outcome.recording))
            table.rows.append([*row, where, memory_cell(outcome.measured_bytes), error])
        if not found:
            blank = [missing_cell(f"{NOT_RECORDED}: make live SERVER={one.server}") for _ in range(2)]
            table.rows.append([*row, text_cell(""), *blank])
    return table
