"""What one session costs, for the tools that a CI keeps figures in: github-action-benchmark, Bencher, Prometheus.

A figure has the same name from one commit to the next, or its history would end there: a tree of a library is
`openssl@git`, without the commit, unless a recording has several trees of one library."""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.base.printable import printable_text
from tlsmem.config import choices
from tlsmem.cost.cost_table import USUAL_STATE, CostRow, cost_rows, recording_name
from tlsmem.cost.find_costs import EVERY_COST, find_costs
from tlsmem.explore import profile_output
from tlsmem.plan.recorded_states import recorded_suites
from tlsmem.schema.roles import Role
from tlsmem.stats.bootstrap import Interval
from tlsmem.stats.configured_stack import AT_REST, IN_USE
from tlsmem.stats.costs import LIVE_AT_REST, LIVE_IN_USE, RSS_AT_REST, RSS_IN_USE, Cost
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store import recordings

TREE = re.compile(r"(.+@(?:git|path))-[0-9a-f]+")  # a stack's name: its library, and which tree of it
PHASES = {RSS_AT_REST: AT_REST, RSS_IN_USE: IN_USE}
METRICS = {  # of Prometheus, each named `tls_session_` and the key of the cost
    LIVE_IN_USE: "Live heap of one more session after a full record each way",
    LIVE_AT_REST: "Live heap of one more session that is established and has carried no data",
    RSS_AT_REST: "RSS of one more session that is established and has carried no data",
    RSS_IN_USE: "RSS of one more session after a full record each way",
}


@dataclass(frozen=True)
class Place:
    """Whose figures: all that tells one session from another in a recording."""

    stack: str
    suite: str
    role: Role
    configuration: str
    state: str

    @property
    def name(self) -> str:
        """What people and histories call it; the usual configuration and state go without saying."""
        unusual = [self.configuration] * (self.configuration != "default") + [self.state] * (self.state != USUAL_STATE)
        return ", ".join([self.stack, self.suite, f"{self.role} session", *unusual])


@dataclass(frozen=True)
class Figure:
    """One cost of a session, in bytes, with the interval of an RSS that was measured several times."""

    place: Place
    cost: Cost
    size: float
    interval: Interval | None
    recorded_stack: str  # as records name it, with the commit of a tree
    recording: str

    @property
    def value(self) -> float:
        """The size as files have it, to a tenth of a byte; whole where it is."""
        return round_bytes(self.size)


def find_figures(named: Sequence[Path]) -> list[Figure]:
    """Return the costs of every stack and suite in these recordings, or in the repository's, each once: as servers run
    the stack, else in the states in which it is recorded. Of several recordings, the first that has a stack in a suite.
    Raises ValueError with a sentence."""
    among = recordings.find_recordings(named)
    stacks = sorted({stack for path in among for stack in recordings.stacks(path)})
    labels = name_trees(stacks)
    found: dict[tuple[Place, Cost], Figure] = {}
    for stack in stacks:
        for suite in recorded_suites(stack, among):
            for row in cost_rows(find_costs(stack, suite, among), ("server", "client")):
                for figure in read_row(row, labels[stack]):
                    found.setdefault((figure.place, figure.cost), figure)
    return [*found.values()]


def name_trees(stacks: Iterable[str]) -> dict[str, str]:
    """Return what each stack is called: a tree without its commit, where it is the only one of its library."""
    short = {stack: tree[1] if (tree := TREE.fullmatch(stack)) else stack for stack in stacks}
    several = Counter(short.values())
    return {stack: stack if several[name] > 1 else name for stack, name in short.items()}


def read_row(row: CostRow, label: str) -> Iterator[Figure]:
    """Yield the figures that a role of a stack in a configuration has."""
    place = Place(label, row.costs.suite, row.role, row.words, row.costs.describe_state())
    for cost in EVERY_COST:
        size = row.costs.figure(row.role, cost, row.configuration)
        if not isinstance(size, Missing):
            yield Figure(place, cost, size, find_interval(row, cost), row.costs.stack, recording_name(row))


def find_interval(row: CostRow, cost: Cost) -> Interval | None:
    """Return the interval of an RSS; None where it was measured once or did not vary. Live heap is exact."""
    if cost not in PHASES:
        return None
    line = row.costs.roles[row.role].rss(row.configuration, PHASES[cost])
    found = map_present(lambda one: one.interval, line)
    return None if isinstance(found, Missing) else found


def round_bytes(size: float) -> float:
    """Return a size to a tenth of a byte, as a whole number where it is one."""
    rounded = round(size, 1)
    return int(rounded) if rounded.is_integer() else rounded


def format_github(figures: Sequence[Figure]) -> str:
    """Return the JSON of github-action-benchmark's tool customSmallerIsBetter: an entry for each figure."""
    return format_json([github_entry(one) for one in figures])


def github_entry(figure: Figure) -> dict[str, str | float]:
    """Return the entry of a figure. Its range is the distance to the farther end of the interval."""
    entry: dict[str, str | float] = {
        "name": f"{figure.place.name}: {figure.cost.name}",
        "unit": "B",
        "value": figure.value,
    }
    if figure.interval:
        farther = max(figure.size - figure.interval.low, figure.interval.high - figure.size)
        entry["range"] = f"± {farther:.1f}"
    return entry | {"extra": f"{figure.recorded_stack}: {figure.place.state}\nrecorded in {figure.recording}"}


def format_bencher(figures: Sequence[Figure]) -> str:
    """Return Bencher Metric Format: a benchmark for each session, with a measure for each of its costs."""
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for one in figures:
        metric = {"value": one.value}
        if one.interval:
            metric |= {"lower_value": round_bytes(one.interval.low), "upper_value": round_bytes(one.interval.high)}
        benchmarks.setdefault(one.place.name, {})[one.cost.key.replace("_", "-")] = metric
    return format_json(benchmarks)


def format_json(content: object) -> str:
    """Return JSON as files have it."""
    return json.dumps(content, indent=1) + "\n"


def format_openmetrics(figures: Sequence[Figure]) -> str:
    """Return OpenMetrics text: a gauge for each cost, and which recording each session's figures are from."""
    lines = []
    for cost in EVERY_COST:
        name = f"tls_session_{cost.key}"
        if samples := [one for one in figures if one.cost == cost]:
            lines += [f"# TYPE {name} gauge", f"# UNIT {name} bytes", f"# HELP {name} {METRICS[cost]}"]
            lines += [f"{name}{labels(one.place)} {one.value}" for one in samples]
    lines += ["# TYPE tls_session_recording info", "# HELP tls_session_recording Which recording the figures are from"]
    origins = dict.fromkeys(
        labels(one.place, recorded_stack=one.recorded_stack, recording=one.recording) for one in figures
    )
    lines += [f"tls_session_recording_info{one} 1" for one in origins]
    return "\n".join([*lines, "# EOF"]) + "\n"


def labels(place: Place, **more: str) -> str:
    """Return the labels of a sample, as the format writes them."""
    return "{" + ",".join(f'{key}="{escape(text)}"' for key, text in (vars(place) | more).items()) + "}"


def escape(text: str) -> str:
    """Return a label's value as the format writes it, which a recording's directory can break."""
    return re.sub(r'([\\"])', r"\\\1", printable_text(text))


FORMS: dict[str, Callable[[Sequence[Figure]], str]] = dict(
    zip(choices.FIGURE_FORMATS, (format_github, format_bencher, format_openmetrics), strict=True)
)


def export(named: Sequence[Path], form: str, file: Path) -> None:
    """Write the figures of these recordings into a file, whole or not at all, `-` being stdout; stderr has how many.

    Raises Usage with a sentence for a file that is a recording or a profile, and where nothing is recorded of a
    session; UserError where the file cannot be written."""
    try:
        profile_output.check_outputs([str(file)], [])
    except ValueError as error:
        raise Usage(str(error)) from None
    with raise_user_errors(file):
        found = find_figures(named)
        if not found:
            raise Usage(
                f"{', '.join(map(str, named))}: no runs that say what a session costs; "
                "`tls-memtest cost --recorded --recording RECORDING` lists what a recording has"
            )
        profile_output.write_text(FORMS[form](found), str(file))
    sessions = len({one.place for one in found})
    print(f"{file}: {len(found):,} figures of {sessions:,} sessions", file=sys.stderr)
