"""The laboratory beside what is deployed: the same runs in several environments, by the median of their repeats."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import costs
import intervals
import repeats
from costs import MIB
from lines import Env
from repeats import INSIDE, ONCE, Change
from selection import Selection
from series import Series
from settings import cells_of, columns_of, constant
from tables import Cell, Column, Table, hole, word

LAB: Env = "lab"

Figures = Callable[[Series], list[float]]
QUANTITIES: dict[str, tuple[float, str, Figures]] = {  # unit, its form, and the figure of each repeat
    "peak RSS, bytes per {}": (1, ",.0f", lambda series: repeats.slopes(series, costs.peak_rss)),
    "C10K peak RSS, MiB": (MIB, ",.1f", repeats.c10ks),
}


def figure_cell(series: Series, values: Sequence[float], unit: float, form: str) -> Cell:
    """The median, and the range of the repeats."""
    if not values:
        return hole(series.reason("rss") if not series.runs("rss") else "too few N for a line")
    low, middle, high = (value / unit for value in (min(values), statistics.median(values), max(values)))
    data = {"median": round(middle, 3), "low": round(low, 3), "high": round(high, 3), "repeats": len(values)}
    if len(values) == 1:
        return Cell(f"{middle:{form}}", data, "measured once")
    return Cell(f"{middle:{form}} ({low:{form}} to {high:{form}})", data)


def ratio_cell(before: Sequence[float], after: Sequence[float]) -> Cell:
    if not before or not after:
        return hole("nothing to compare with")
    change, found = Change(tuple(before), tuple(after)), intervals.ratio(before, after)
    data = {"ratio": round(1 + change.share, 5)}
    if not found:
        return Cell(f"{1 + change.share:.3f}" if change.beyond_spread else "no change", data, f"no interval: {ONCE}")
    data |= {"low": round(found.low, 5), "high": round(found.high, 5)}
    if not change.beyond_spread:
        return Cell("no change", data, INSIDE)
    return Cell(f"{1 + change.share:.3f} ({found.low:.3f} to {found.high:.3f})", data)


def rows_of(series: dict[Env, Series], unit_of_slope: str) -> Iterator[list[Cell]]:
    """One a quantity: a figure for each environment, then its ratio to the laboratory's for each other."""
    for name, (unit, form, figures) in QUANTITIES.items():
        found = {env: figures(one) for env, one in series.items()}
        cells = [figure_cell(one, found[env], unit, form) for env, one in series.items()]
        yield [
            word(name.format(unit_of_slope)),
            *cells,
            *(ratio_cell(found[LAB], found[env]) for env in series if env != LAB),
        ]


def deployed(selection: Selection) -> Table:
    selection = selection.where(lambda setting: setting.peer is None and setting.roles in ("together", "split"))
    envs = list(dict.fromkeys(setting.env for setting in selection.settings))
    elsewhere = {replace(setting, env=LAB) for setting in selection.settings if setting.env != LAB}
    in_lab = selection.where(lambda setting: setting in elsewhere)
    names = [Column(name, name, left=True) for name in ("stack", "process", "quantity")]
    columns = [*columns_of(in_lab), *names, *(Column(env, env) for env in envs)]
    columns += [Column(f"{env}_to_{LAB}", f"{env} to {LAB}") for env in envs if env != LAB]
    caption = (
        "Lab: address randomisation and huge pages off, one thread, one CPU. Deployed: randomisation on, huge pages as "
        "the host has them, four threads that accept and free on different arenas, not pinned; deployed-thp: the same "
        "with huge pages always. Median (range of repeats); ratio of medians, and its "
        f"{100 * intervals.CONFIDENCE:.0f} % interval. {constant(in_lab)}."
    )
    table = Table("deployed", "As deployed", caption, columns)
    for setting in in_lab.settings:
        for stack in in_lab.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                names = [*cells_of(in_lab, setting), word(stack), word(process)]
                series = {env: selection.series(stack, replace(setting, env=env), process) for env in envs}
                rows = rows_of(series, "pair" if process == "both" else "session")
                table.rows += [[*names, *row] for row in rows]
    return table
