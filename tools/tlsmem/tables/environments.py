"""The controlled environment beside default system settings: the same runs, by the median of their repeats.

The columns of an environment are made by `environment_columns`: what they take of a row's values,
which every repeat has, and how that is written."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from tlsmem.schema.harness_output import Env
from tlsmem.stats import bootstrap, repeats, session_cost
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.rss_line import RSS_PHASES, rss_quantity, why_no_such_phase
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_one_process, is_same_stack_pair, limit_to_common_sessions
from tlsmem.stats.session_cost import MIB
from tlsmem.tables.settings import describe_common_settings, processes_by_holder, setting_columns
from tlsmem.tables.table import Cell, Column, Table

Values = tuple[float, ...]  # in bytes, one a repeat: at least one


@dataclass(frozen=True)
class RepeatQuantity:
    """A figure of RSS in bytes; `measure` returns it for each repeat of a series, nothing where none has it."""

    measure: Callable[[Series], Sequence[float]]
    phase: str | None = None  # at whose end it is measured
    sessions: int | None = None  # the N of its runs; None: it takes a line through several N

    def find_values(self, series: Series) -> Values | Missing:
        """Return the value of each repeat."""
        if (why := why_no_such_phase(series, self.phase)) is not None:
            return why
        if values := tuple(self.measure(series)):
            return values
        has_runs = series.runs("rss", self.sessions)
        return Missing("too few N for a line" if has_runs else series.reason("rss", self.sessions))


class RepeatRatio(NamedTuple):
    """The ratio of two medians; the interval is None where one of the two was measured once."""

    change: RepeatChange
    interval: Interval | None

    @property
    def value(self) -> float:
        """The median of `after` to that of `before`."""
        return 1 + self.change.share


def find_ratio(before: Values | Missing, after: Values | Missing) -> RepeatRatio | Missing:
    """Return the ratio of the medians; Missing where a figure is, or is not above 0."""
    if isinstance(before, Missing) or isinstance(after, Missing):
        return Missing("nothing to compare with")
    if min(*before, *after) <= 0:
        return Missing("a ratio takes figures above nought")
    return RepeatRatio(RepeatChange(before, after), bootstrap.ratio_interval(before, after))


LAB: Env = "lab"


class NamedQuantity(NamedTuple):
    """A quantity of RSS as the table has it."""

    name: str
    quantity: RepeatQuantity
    unit: float = MIB  # bytes
    form: str = ",.1f"


class ScaledValues(NamedTuple):
    """The values of the repeats in a quantity's unit."""

    values: Values
    form: str


class EnvironmentRow(NamedTuple):
    """A quantity of a process, with its values in each environment."""

    setting: Setting  # in the laboratory
    quantity: NamedQuantity
    stack: str
    holder: str  # whose sessions stay in the process
    values: dict[Env, Values | Missing]


def list_quantities(selection: Selection, unit_of_slope: str) -> Iterator[NamedQuantity]:
    """All RSS that other tables have: slopes, what is there at no sessions, each N, and the C10K figure."""
    for name, phase in RSS_PHASES.items():
        slopes = partial(repeats.slopes, quantity=rss_quantity(phase))
        yield NamedQuantity(f"{name}, bytes per {unit_of_slope}", RepeatQuantity(slopes, phase), 1, ",.0f")
    intercepts = partial(repeats.intercepts, quantity=session_cost.peak_rss)
    yield NamedQuantity("peak at no sessions, MiB", RepeatQuantity(intercepts), form=",.2f")
    for sessions in selection.sessions():
        peaks = partial(repeats.peaks, sessions=sessions)
        yield NamedQuantity(f"peak at N = {sessions:,}, MiB", RepeatQuantity(peaks, sessions=sessions))
    yield NamedQuantity("C10K peak, MiB", RepeatQuantity(repeats.c10ks))


def values_cell(scaled: ScaledValues) -> Cell:
    """The median, and the range of the repeats."""
    values, form = scaled
    low, middle, high = min(values), statistics.median(values), max(values)
    data = {"median": round(middle, 3), "low": round(low, 3), "high": round(high, 3), "repeats": len(values)}
    if len(values) == 1:
        return Cell(f"{middle:{form}}", data, "measured once")
    return Cell(f"{middle:{form}} ({low:{form}} to {high:{form}})", data)


def ratio_cell(ratio: RepeatRatio) -> Cell:
    """The ratio and its interval; `no change` within the spread of repeats."""
    data, differs = {"ratio": round(ratio.value, 5)}, ratio.change.beyond_spread
    if not ratio.interval:
        return Cell(f"{ratio.value:.3f}" if differs else "no change", data, f"no interval: {SINGLE_RUN_NOTE}")
    low, high = ratio.interval.low, ratio.interval.high
    data |= {"low": round(low, 5), "high": round(high, 5)}
    if not differs:
        return Cell("no change", data, WITHIN_SPREAD_NOTE)
    return Cell(f"{ratio.value:.3f} ({low:.3f} to {high:.3f})", data)


NAMES = (
    Column("quantity", "RSS", left=True, value=lambda row: row.quantity.name),
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("process", "process", left=True, usual="both", value=lambda row: row.holder),
)


def environment_columns(envs: Sequence[Env]) -> Iterator[Column]:
    """A column for each environment, then the ratio of each other to the controlled environment."""
    for env in envs:
        yield Column(env, env, value=scaled_value(env), form=values_cell)
    for env in envs:
        if env != LAB:
            yield Column(f"{env}_to_{LAB}", f"{env} to {LAB}", value=ratio_value(env), form=ratio_cell)


def scaled_value(env: Env) -> Callable[[EnvironmentRow], ScaledValues | Missing]:
    """Return a function that takes a row's values in this environment."""

    def take(row: EnvironmentRow) -> ScaledValues | Missing:
        def scale(values: Values) -> ScaledValues:
            return ScaledValues(tuple(value / row.quantity.unit for value in values), row.quantity.form)

        return map_present(scale, row.values[env])

    return take


def ratio_value(env: Env) -> Callable[[EnvironmentRow], RepeatRatio | Missing]:
    """Return a function that takes a row's ratio of this environment to the controlled environment."""
    return lambda row: find_ratio(row.values[LAB], row.values[env])


def environment_table(selection: Selection) -> Table:
    """Rows of a setting by figure, so that the stacks of each stand beside each other."""
    selection = selection.where(is_same_stack_pair)
    envs = list(dict.fromkeys(setting.env for setting in selection.settings))
    elsewhere = {replace(setting, env=LAB) for setting in selection.settings if setting.env != LAB}
    in_lab = selection.where(lambda setting: setting in elsewhere)
    caption = (
        "Lab, the controlled environment: address randomisation and huge pages off, one thread, one CPU. Deployed, "
        "default system settings: randomisation on, huge pages as the host has them, four threads that accept and free "
        "on different arenas, not pinned. deployed-thp: the same with huge pages always. Median (range of repeats); "
        "ratio of medians, and its "
        f"{100 * bootstrap.CONFIDENCE:.0f} % interval. {describe_common_settings(in_lab)}."
    )
    columns = [*setting_columns(in_lab), *NAMES, *environment_columns(envs)]
    table = Table("deployed", "As deployed", caption, columns)
    for setting in in_lab.settings:
        table.add_rows(rows(selection, setting, envs))
    return table


def rows(selection: Selection, setting: Setting, envs: Sequence[Env]) -> Iterator[EnvironmentRow]:
    """Of a setting in the controlled environment, and of the same in the other environments."""
    beside = {env: replace(setting, env=env) for env in envs}
    here = selection.where(set(beside.values()).__contains__)
    for quantity in list_quantities(here, "pair" if is_one_process(setting) else "session"):
        for stack in here.stacks:
            for holder, process in processes_by_holder(setting).items():
                series = {env: selection.series(stack, one, process) for env, one in beside.items()}
                values = find_values(quantity.quantity, series)
                yield EnvironmentRow(setting, quantity, stack, holder, values)


def find_values(quantity: RepeatQuantity, series: dict[Env, Series]) -> dict[Env, Values | Missing]:
    """Lines are through the N that all environments have."""
    if quantity.sessions is None:
        series = dict(zip(series, limit_to_common_sessions(series.values()), strict=True))
    return {env: quantity.find_values(one) for env, one in series.items()}
