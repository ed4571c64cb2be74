"""Which runs belong together: the newest of each, grouped into series that one line can go through."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions, matrix, timed_matrix
from tlsmem.config.run import Run
from tlsmem.schema.harness_output import Env, Meter, Process, Roles
from tlsmem.schema.records import Record
from tlsmem.schema.roles import ITSELF
from tlsmem.stats.comparability import describe_dropped, select_comparable, select_latest_builds, sort_by_start
from tlsmem.stats.series import Series, Setting, cpu_name, peer_name


def declared(record: Record) -> tuple:
    """What a campaign asked for, whatever the binary was."""
    run = (record.scenario, record.sessions, record.meter, record.repeat)
    return (record.stack, Setting.from_record(record), *run)


def select_newest(records: Iterable[Record]) -> list[Record]:
    """One record for the same declared fields: the one started last."""
    return list({declared(record): record for record in sort_by_start(records)}.values())


@dataclass(frozen=True)
class Selection:
    """Stacks and settings in the order in which they were asked for, else recorded."""

    records: tuple[Record, ...]
    stacks: tuple[str, ...]
    settings: tuple[Setting, ...]
    left_out: tuple[str, ...] = ()  # sentences: how many runs stand in no line, and why

    def series(self, stack: str, setting: Setting, process: Process = "both") -> Series:
        """ValueError with a sentence when the runs had no such process."""
        key = stack, setting, process
        if key not in self.known_series:
            runs = self.runs_of.get((stack, setting), ())
            self.known_series[key] = Series(stack, setting, tuple(one.of_process(process) for one in runs), process)
        return self.known_series[key]

    @cached_property
    def known_series(self) -> dict[tuple[str, Setting, Process], Series]:
        """Made once: many tables ask for the same ones."""
        return {}

    @cached_property
    def runs_of(self) -> dict[tuple[str, Setting], list[Record]]:
        """By stack and setting: there may be thousands, and each is in many tables."""
        found: dict[tuple[str, Setting], list[Record]] = {}
        for one in self.records:
            found.setdefault((one.stack, Setting.from_record(one)), []).append(one)
        return found

    def where(self, wanted: Callable[[Setting], bool]) -> "Selection":
        """The part in these settings, with the stacks that have runs there."""
        settings = tuple(filter(wanted, self.settings))
        records = tuple(one for one in self.records if Setting.from_record(one) in settings)
        there = {one.stack for one in records}
        return Selection(records, tuple(one for one in self.stacks if one in there), settings, self.left_out)

    def sessions(self, meter: Meter = "rss") -> list[int]:
        return sorted({record.sessions for record in self.records if record.meter == meter})

    def varies(self, field: str) -> bool:
        return len({getattr(setting, field) for setting in self.settings}) > 1


def choose_values(wanted: Sequence[str] | None, present: Iterable[str], what: str) -> list[str]:
    """ValueError with a sentence when something that is wanted is not there."""
    present = list(dict.fromkeys(present))
    for name in wanted or ():
        if name not in present:
            raise ValueError(f"no runs of {what} {name}; there are: {', '.join(present) or 'none'}")
    return list(dict.fromkeys(wanted)) if wanted else present


def select_campaign(records: Iterable[Record], name: str) -> list[Record]:
    """The runs that this table of campaigns.toml asks for as it stands; of timed ones all repeats, in its order of
    stacks. ValueError when there is no such table."""
    known = definitions.campaigns()
    if name not in known:
        raise ValueError(f"no campaign {name} in memtest/campaigns.toml{suggest_nearest(name, known)}")
    if known[name].scenario != "memory":
        return timed_matrix.select_campaign(records, known[name])
    asked = set(matrix.campaign_runs(known[name]))
    return [record for record in records if run_from_record(record) in asked]


def run_from_record(record: Record) -> Run:
    if record.scenario != "memory":
        return timed_matrix.run_from_record(record)
    named = (record.stack, record.suite, record.allocator.name, record.window)
    kind = (record.roles, peer_name(record), record.env, cpu_name(record))
    return Run(*named, record.sessions, record.meter, record.repeat, *kind)


ASPECTS: dict[str, tuple[str, Callable[[Record], str]]] = {  # what a selection may be narrowed to, by argument
    "stacks": ("the stack", lambda one: one.stack),
    "suites": ("the suite", lambda one: one.suite),
    "allocators": ("the allocator", lambda one: one.allocator.name),
    "windows": ("the window", lambda one: str(one.window)),
    "roles": ("roles", lambda one: one.roles),
    "peers": ("the peer", lambda one: peer_name(one) or ITSELF),
    "envs": ("the environment", lambda one: one.env),
    "cpus": ("CPU", cpu_name),
}


def select(
    records: Iterable[Record],
    stacks: Sequence[str] | None = None,
    suites: Sequence[str] | None = None,
    allocators: Sequence[str] | None = None,
    windows: Sequence[str] | None = None,
    **kinds: Sequence[str] | None,
) -> Selection:
    """The newest runs of memory, of these stacks, suites, allocators (by name), windows (as text), roles, peers
    (beside pairs of one stack, which they are compared with; ITSELF: those alone), envs and cpus. None is all.

    Only those that are comparable; `left_out` says how many others there are, to be shown on stderr.
    ValueError when one has no runs at all."""
    records = [record for record in records if record.scenario == "memory"]
    alike = select_comparable(records)
    kept = select_newest(alike)
    asked = {"stacks": stacks, "suites": suites, "allocators": allocators, "windows": windows} | kinds
    given = [name for name, names in asked.items() if names]
    asked = {name: choose_values(names, map(ASPECTS[name][1], kept), ASPECTS[name][0]) for name, names in asked.items()}
    if "peers" in given:
        asked["peers"].append(ITSELF)

    def wanted(one: Record) -> bool:
        return all(ASPECTS[name][1](one) in asked[name] for name in given)

    kept = list(filter(wanted, kept))

    def place(setting: Setting) -> tuple:
        width = float("inf") if setting.window == "all" else setting.window
        kind = (get_args(Roles).index(setting.roles), setting.peer or "", get_args(Env).index(setting.env), setting.cpu)
        return asked["suites"].index(setting.suite), setting.allocator, *kind, width

    settings = sorted({Setting.from_record(one) for one in kept}, key=place)
    missing = describe_dropped(
        *(list(filter(wanted, some)) for some in (records, select_latest_builds(records), alike))
    )
    return Selection(tuple(kept), tuple(asked["stacks"]), tuple(settings), missing)
