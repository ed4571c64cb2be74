"""Selects the runs of memory that a table shows: the newest of each, grouped into series that one line can fit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions, matrix, timed_matrix
from tlsmem.config.campaigns import TimedCampaign
from tlsmem.config.releases import version
from tlsmem.config.run import Run
from tlsmem.config.scenarios import Settings, settings_in_argv
from tlsmem.config.stack_names import resolve_name, suggest_releases
from tlsmem.schema.harness_output import TIMED_SCENARIOS, Env, Meter, Roles, Scenario
from tlsmem.schema.roles import ITSELF, Process
from tlsmem.stats.comparability import (
    MachineFields,
    describe_dropped,
    machine_identity,
    select_comparable,
    select_latest_builds,
    sort_by_start,
)
from tlsmem.stats.series import Series as Series  # for those who read a selection
from tlsmem.stats.series import Setting as Setting
from tlsmem.stats.series import cpu_name, data_size, peer_name
from tlsmem.store.record import Record


def declared(record: Record) -> tuple[str, Setting, Scenario, Settings, int, Meter, int]:
    """Return what a campaign asks for, whatever the binary was: equal for a run and its repetition later."""
    own = settings_in_argv(record.scenario, record.argv)
    run = (record.scenario, own, record.sessions, record.meter, record.repeat)
    return (record.stack, Setting.from_record(record), *run)


def select_newest(records: Iterable[Record]) -> list[Record]:
    """Return one record for each set of declared fields: the one that started last."""
    return list({declared(record): record for record in sort_by_start(records)}.values())


@dataclass(frozen=True)
class Selection:
    """Runs of memory. Stacks and settings are in the order in which they were asked for, else recorded."""

    records: tuple[Record, ...]
    stacks: tuple[str, ...]
    settings: tuple[Setting, ...]
    left_out: tuple[str, ...] = ()  # sentences: how many runs stand in no line, and why
    machines: tuple["Selection", ...] = ()  # where several machines made such runs: those of each

    def series(self, stack: str, setting: Setting, process: Process = "both") -> Series:
        """Return the runs of a stack in a setting as this process saw them; no runs where there are none.

        Raises ValueError with a sentence when the runs had no such process."""
        key = stack, setting, process
        if key not in self.known_series:
            runs = self.runs_of.get((stack, setting), ())
            self.known_series[key] = Series(stack, setting, tuple(one.select_process(process) for one in runs), process)
        return self.known_series[key]

    @cached_property
    def known_series(self) -> dict[tuple[str, Setting, Process], Series]:
        """The series that were asked for: many tables use the same ones."""
        return {}

    @cached_property
    def runs_of(self) -> dict[tuple[str, Setting], list[Record]]:
        """The records by stack and setting: there may be thousands, and each is in many tables."""
        found: dict[tuple[str, Setting], list[Record]] = {}
        for one in self.records:
            found.setdefault((one.stack, Setting.from_record(one)), []).append(one)
        return found

    def where(self, wanted: Callable[[Setting], bool]) -> "Selection":
        """Return the part in the settings that are wanted, with the stacks that have runs there."""
        settings = tuple(filter(wanted, self.settings))
        records = tuple(one for one in self.records if Setting.from_record(one) in settings)
        there = {one.stack for one in records}
        stacks = tuple(one for one in self.stacks if one in there)
        return Selection(records, stacks, settings, self.left_out, tuple(one.where(wanted) for one in self.machines))

    def sessions(self, meter: Meter = "rss") -> list[int]:
        """Return the numbers of sessions that were run under the meter, in increasing order."""
        return sorted({record.sessions for record in self.records if record.meter == meter})

    def varies(self, field: str) -> bool:
        """Return whether the settings differ in this field of Setting."""
        return len({getattr(setting, field) for setting in self.settings}) > 1


STACK = "the stack"  # as messages name it


def choose_values(wanted: Sequence[str] | None, present: Iterable[str], what: str) -> list[str]:
    """Return the wanted values, or all that are present, each once. `what` names them in the message; a stack may have
    one of the names that `match_stack` takes.

    Raises Usage with a sentence when a wanted value is not present: the nearest ones, or all."""
    present = list(dict.fromkeys(present))
    if what == STACK:
        wanted = [resolve_name(name, present) for name in wanted or ()]
    for name in wanted or ():
        if name not in present:
            near = suggest_releases(name, present) if what == STACK and version(name) else ""
            near = near or suggest_nearest(name, present) or f"; it has: {', '.join(present) or 'none'}"
            raise Usage(f"the recording has no runs of {what} {name}{near}")
    return list(dict.fromkeys(wanted)) if wanted else present


def select_campaign(records: Iterable[Record], name: str) -> list[Record]:
    """Return the runs that a table of campaigns.toml asks for; of a timed campaign all repeats, by stack in its order.

    Raises Usage when there is no such table, and ValueError when a timed campaign has no runs."""
    known = definitions.campaigns()
    if name not in known:
        raise Usage(f"memtest/campaigns.toml has no campaign {name}{suggest_nearest(name, known)}")
    campaign = known[name]
    if isinstance(campaign, TimedCampaign):
        return timed_matrix.select_campaign(records, campaign)
    asked = set(matrix.campaign_runs(campaign))
    return [record for record in records if run_from_record(record) in asked]


def run_from_record(record: Record) -> Run:
    """Return the run of a campaign that gave this record."""
    if record.scenario in TIMED_SCENARIOS:
        return timed_matrix.run_from_record(record)
    return Run(
        stack=record.stack,
        suite=record.suite,
        allocator=record.allocator.name,
        window=record.window,
        sessions=record.sessions,
        meter=record.meter,
        repeat=record.repeat,
        roles=record.roles,
        peer=peer_name(record),
        env=record.env,
        cpu=cpu_name(record),
        scenario=record.scenario,
        data=data_size(record),
        settings=settings_in_argv(record.scenario, record.argv),
    )


ASPECTS: dict[str, tuple[str, Callable[[Record], str]]] = {  # what a selection may be narrowed to, by argument
    "stacks": (STACK, lambda one: one.stack),
    "suites": ("the suite", lambda one: one.suite),
    "allocators": ("the allocator", lambda one: one.allocator.name),
    "windows": ("the window", lambda one: str(one.window)),
    "roles": ("roles", lambda one: one.roles),
    "peers": ("the peer", lambda one: peer_name(one) or ITSELF),
    "envs": ("the environment", lambda one: one.env),
    "cpus": ("CPU", cpu_name),
    "data": ("data", data_size),
}


def select(
    records: Iterable[Record],
    stacks: Sequence[str] | None = None,
    suites: Sequence[str] | None = None,
    allocators: Sequence[str] | None = None,
    windows: Sequence[str] | None = None,
    **kinds: Sequence[str] | None,
) -> Selection:
    """Return the newest comparable runs of memory with these values; None means all values.

    `allocators` are names, `windows` are texts, and `kinds` may be roles, peers, envs, cpus and data. Pairs of one
    stack always join the peers, as they are compared with them; peers=[ITSELF] selects these pairs alone. `left_out` of
    the result says how many other runs there are. Raises ValueError with a sentence when a value has no runs."""
    records = [record for record in records if record.scenario == "memory"]
    alike = select_comparable(records)
    kept = select_newest(alike)
    given = {"stacks": stacks, "suites": suites, "allocators": allocators, "windows": windows} | kinds
    narrowed = [name for name, names in given.items() if names]
    asked = {name: choose_values(names, map(ASPECTS[name][1], kept), ASPECTS[name][0]) for name, names in given.items()}
    if "peers" in narrowed:
        asked["peers"].append(ITSELF)

    def wanted(one: Record) -> bool:
        return all(ASPECTS[name][1](one) in asked[name] for name in narrowed)

    kept = list(filter(wanted, kept))

    def place(setting: Setting) -> tuple[int, str, int, str, int, str, str, float]:
        width = float("inf") if setting.window == "all" else setting.window
        kind = (
            get_args(Roles).index(setting.roles),
            setting.peer or "",
            get_args(Env).index(setting.env),
            setting.cpu,
            setting.data,
        )
        return asked["suites"].index(setting.suite), setting.allocator, *kind, width

    settings = sorted({Setting.from_record(one) for one in kept}, key=place)
    of_builds = select_latest_builds(records)
    missing = describe_dropped(*(list(filter(wanted, some)) for some in (records, of_builds, alike)))
    machines = tuple(
        Selection(tuple(runs), tuple(asked["stacks"]), tuple(settings))
        for runs in split_by_machine(filter(wanted, of_builds))
    )
    return Selection(tuple(kept), tuple(asked["stacks"]), tuple(settings), missing, machines)


def split_by_machine(records: Iterable[Record]) -> list[list[Record]]:
    """Return the newest comparable runs of each machine; none where there is one machine only."""
    found: dict[MachineFields, list[Record]] = {}
    for one in records:
        found.setdefault(machine_identity(one.machine), []).append(one)
    return [select_newest(select_comparable(runs)) for runs in found.values()] if len(found) > 1 else []
