"""The memory model: memory = fixed + N E + W H, fitted to runs with several windows, and checked at others.

A column is one entry of COLUMNS: what it takes of a fit (stats/memory_model.py), and how that is written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tlsmem.stats.memory_model import QUANTITIES, CheckedModel, ModelError, fit_and_check
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, is_one_process
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.settings import setting_aspect
from tlsmem.tables.table import Cell, Column, Table

CAPTION = (
    "Peak during handshakes = fixed + N·E + W·H, with N sessions (clients or servers alone: half of them) and W pairs "
    "in the handshake. Fitted to the widest and the narrowest window (for RSS, the narrowest with at least 1 % of the "
    "pairs). The columns on the right show the largest error at windows outside the fit."
)


class ModelRow(NamedTuple):
    """The model of a quantity, of a stack in settings that differ in their windows alone."""

    setting: Setting
    stack: str
    quantity: str
    fit: CheckedModel | Missing


def fit_value(figure: Callable[[CheckedModel], Any]) -> Callable[[ModelRow], Any]:
    """A figure of a row's fit where it has one."""
    return lambda row: map_present(figure, row.fit)


def fixed_cell(size: float) -> Cell:
    """In KiB; bytes for programs."""
    return Cell(f"{size / KIB:,.0f} KiB", round(size))


def term_cell(size: float) -> Cell:
    """Whole bytes, to a tenth for programs."""
    return Cell(f"{round(size):,}", round(size, 1) + 0.0)  # -0.0 or 0.0 would depend on the processor


def error_cell(error: ModelError) -> Cell:
    """The error in percent, with the window that has it."""
    text = f"{round(100 * error.share, 2) + 0.0:+.2f} % at W = {error.window:,}"
    return Cell(text, {"error": error.rounded_share, "sessions": error.sessions, "window": error.window})


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("quantity", "quantity", left=True, value=lambda row: row.quantity),
    Column("fixed_bytes", "fixed", value=fit_value(lambda fit: fit.model.fixed), form=fixed_cell),
    Column("kept_bytes", "E, bytes per session", value=fit_value(lambda fit: fit.model.kept), form=term_cell),
    Column(
        "handshake_bytes", "H, bytes per handshake", value=fit_value(lambda fit: fit.model.handshake), form=term_cell
    ),
    Column("check", "law against measured", value=fit_value(lambda fit: fit.error), form=error_cell),
    Column("narrow", "the same at narrower windows", value=fit_value(lambda fit: fit.narrow_error), form=error_cell),
)


def memory_model_table(selection: Selection) -> Table:
    """The table `law`, of processes that hold both ends."""
    selection = selection.where(is_one_process)
    aspects = ("suite", "allocator", *(["env"] if selection.varies("env") else []))
    names = [Column(name, name, left=True, value=partial(setting_aspect, name)) for name in aspects]
    table = Table("law", "The memory model", CAPTION, [*names, *COLUMNS])
    table.add_rows(rows(selection))
    return table


def rows(selection: Selection) -> Iterator[ModelRow]:
    """Yield the model of each quantity, of each stack in the settings that differ in their windows alone."""
    for setting, windows in group_windows(selection.settings).items():
        for stack in selection.stacks:
            runs = [run for one in windows for run in selection.series(stack, one).records]
            for quantity in QUANTITIES:
                yield ModelRow(setting, stack, quantity, fit_and_check(runs, quantity))


def group_windows(settings: Iterable[Setting]) -> dict[Setting, list[Setting]]:
    """Settings that differ in nothing but the window, by that of them with all handshakes at once."""
    found: dict[Setting, list[Setting]] = {}
    for one in settings:
        found.setdefault(replace(one, window="all"), []).append(one)
    return found
