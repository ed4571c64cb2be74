"""The laboratory beside what is deployed: the same runs in several environments, by the median of their repeats."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tlsmem.schema.harness_output import Env
from tlsmem.stats import bootstrap, repeats, session_cost
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.rss_line import RSS_PHASES, rss_quantity, why_no_such_phase
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, limit_to_common_sessions
from tlsmem.stats.session_cost import MIB
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

LAB: Env = "lab"


@dataclass(frozen=True)
class RssQuantity:
    """Of RSS: `of` has its value in each repeat."""

    name: str
    unit: float  # bytes
    form: str
    of: Callable[[Series], Sequence[float]]
    phase: str | None = None
    sessions: int | None = None  # None: it takes a line

    def hole(self, series: Series) -> Cell:
        runs = series.runs("rss", self.sessions)
        if why := why_no_such_phase(series, self.phase):
            return missing_cell(why.reason)
        return missing_cell("too few N for a line" if runs else series.reason("rss", self.sessions))

    def values(self, series: Series) -> Sequence[float]:
        return [] if why_no_such_phase(series, self.phase) else self.of(series)


def figures(selection: Selection, unit_of_slope: str) -> Iterator[RssQuantity]:
    """All RSS that other tables have: slopes, what is there at no sessions, each N, and the C10K figure."""
    for name, phase in RSS_PHASES.items():
        slopes = partial(repeats.slopes, quantity=rss_quantity(phase))
        yield RssQuantity(f"{name}, bytes per {unit_of_slope}", 1, ",.0f", slopes, phase)
    none = partial(repeats.intercepts, quantity=session_cost.peak_rss)
    yield RssQuantity("peak at no sessions, MiB", MIB, ",.2f", none)
    for sessions in selection.sessions():
        peaks = partial(repeats.peaks, sessions=sessions)
        yield RssQuantity(f"peak at N = {sessions:,}, MiB", MIB, ",.1f", peaks, sessions=sessions)
    yield RssQuantity("C10K peak, MiB", MIB, ",.1f", repeats.c10ks)


def figure_cell(figure: RssQuantity, series: Series) -> Cell:
    """The median, and the range of the repeats."""
    values, form = [value / figure.unit for value in figure.values(series)], figure.form
    if not values:
        return figure.hole(series)
    low, middle, high = min(values), statistics.median(values), max(values)
    data = {"median": round(middle, 3), "low": round(low, 3), "high": round(high, 3), "repeats": len(values)}
    if len(values) == 1:
        return Cell(f"{middle:{form}}", data, "measured once")
    return Cell(f"{middle:{form}} ({low:{form}} to {high:{form}})", data)


def ratio_cell(before: Sequence[float], after: Sequence[float]) -> Cell:
    if not before or not after:
        return missing_cell("nothing to compare with")
    if min(*before, *after) <= 0:
        return missing_cell("a ratio takes figures above nought")
    change, found = RepeatChange(tuple(before), tuple(after)), bootstrap.ratio_interval(before, after)
    data = {"ratio": round(1 + change.share, 5)}
    if not found:
        return Cell(
            f"{1 + change.share:.3f}" if change.beyond_spread else "no change", data, f"no interval: {SINGLE_RUN_NOTE}"
        )
    data |= {"low": round(found.low, 5), "high": round(found.high, 5)}
    if not change.beyond_spread:
        return Cell("no change", data, WITHIN_SPREAD_NOTE)
    return Cell(f"{1 + change.share:.3f} ({found.low:.3f} to {found.high:.3f})", data)


def row(figure: RssQuantity, series: dict[Env, Series]) -> list[Cell]:
    """The figure in each environment, then its ratio to the laboratory's for each other."""
    if figure.sessions is None:
        series = dict(zip(series, limit_to_common_sessions(series.values()), strict=True))
    values = {env: figure.values(one) for env, one in series.items()}
    ratios = [ratio_cell(values[LAB], values[env]) for env in series if env != LAB]
    return [*(figure_cell(figure, one) for one in series.values()), *ratios]


def environment_table(selection: Selection) -> Table:
    """Rows of a setting by figure, so that the stacks of each stand beside each other."""
    selection = selection.where(lambda setting: setting.peer is None)
    envs = list(dict.fromkeys(setting.env for setting in selection.settings))
    elsewhere = {replace(setting, env=LAB) for setting in selection.settings if setting.env != LAB}
    in_lab = selection.where(lambda setting: setting in elsewhere)
    names = [Column("quantity", "RSS", left=True), Column("stack", "stack", left=True)]
    names.append(Column("process", "process", left=True, usual="both"))
    columns = [*setting_columns(in_lab), *names, *(Column(env, env) for env in envs)]
    columns += [Column(f"{env}_to_{LAB}", f"{env} to {LAB}") for env in envs if env != LAB]
    caption = (
        "Lab: address randomisation and huge pages off, one thread, one CPU. Deployed: randomisation on, huge pages as "
        "the host has them, four threads that accept and free on different arenas, not pinned; deployed-thp: the same "
        "with huge pages always. Median (range of repeats); ratio of medians, and its "
        f"{100 * bootstrap.CONFIDENCE:.0f} % interval. {describe_common_settings(in_lab)}."
    )
    table = Table("deployed", "As deployed", caption, columns)
    for setting in in_lab.settings:
        beside = {env: replace(setting, env=env) for env in envs}
        of_setting = selection.where(set(beside.values()).__contains__)
        for figure in figures(of_setting, "pair" if setting.roles == "together" else "session"):
            for stack in of_setting.stacks:
                for holder, process in processes_by_holder(setting).items():
                    series = {env: selection.series(stack, one, process) for env, one in beside.items()}
                    named = map(text_cell, (figure.name, stack, holder))
                    table.rows.append([*setting_cells(in_lab, setting), *named, *row(figure, series)])
    return table
