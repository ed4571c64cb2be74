"""Which runs belong together: the newest of each, grouped into series that one line can go through."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import campaign
import costs
import definitions
from comparable import by_start, comparable, missing_from, of_latest_builds
from lines import Env, Meter, Process, Role, Roles, Window
from names import nearest
from records import Record

ITSELF = "itself"  # the peer of a stack that is at both ends of a pair


def allocator_name(record: Record) -> str:
    """Settings make another allocator; a version is said beside it."""
    name, settings = record.allocator.name, record.allocator.settings
    return f"{name} ({settings})" if settings else name


def declared(record: Record) -> tuple:
    """What a campaign asked for, whatever the binary was."""
    run = (record.scenario, record.sessions, record.meter, record.repeat)
    return (record.stack, Setting.of(record), *run)


def newest(records: Iterable[Record]) -> list[Record]:
    """One record for the same declared fields: the one started last."""
    return list({declared(record): record for record in by_start(records)}.values())


@dataclass(frozen=True)
class Setting:
    """What is equal for all stacks that stand beside each other in a row."""

    suite: str
    allocator: str
    window: Window
    roles: Roles = "together"
    peer: str | None = None  # the client's stack in a mixed pair; None: the same stack at both ends
    env: Env = "lab"

    @staticmethod
    def of(record: Record) -> "Setting":
        kind = (record.roles, peer_name(record), record.env)
        return Setting(record.suite, allocator_name(record), record.window, *kind)

    @property
    def processes(self) -> dict[Role, Process]:
        """The roles whose sessions stay, each with the process that holds them."""
        roles: tuple[Role, ...] = get_args(Role)
        kept = [role for role in roles if self.roles in ("together", "split", f"keep-{role}")]
        return {role: role if self.roles == "split" else "both" for role in kept}


def peer_name(record: Record) -> str | None:
    return record.peer.stack if record.peer and record.peer.stack != record.stack else None


def of_process(record: Record, process: Process) -> Record:
    """The run as this one of its processes saw it."""
    return record.model_copy(update={"phases": costs.phases_of(record, process)})


@dataclass(frozen=True)
class Series:
    """The runs of one stack in one setting: all sessions, meters, repeats, and what became of them.

    Of a split run either process has a series of its own."""

    stack: str
    setting: Setting
    records: tuple[Record, ...]

    def runs(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        """Measured ones, by increasing sessions and repeat."""
        found = [record for record in self.of(meter, sessions) if record.status == "measured"]
        return sorted(found, key=lambda record: (record.sessions, record.repeat))

    def full(self, meter: Meter) -> list[Record]:
        """Runs that had at least one whole window: a line through others too would bend at its beginning."""
        width = 1 if self.setting.window == "all" else self.setting.window
        return [run for run in self.runs(meter) if run.sessions // 2 >= width]

    def of(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        return [one for one in self.records if one.meter == meter and sessions in (None, one.sessions)]

    def reason(self, meter: Meter, sessions: int | None = None) -> str:
        """Why there is a hole."""
        for record in self.of(meter, sessions):
            if record.status != "measured":
                return f"{record.status}: {' '.join(record.reason.split())}"
        return "not measured"

    def heap_pair(self) -> tuple[Record, Record] | None:
        """First repeats of the two smallest numbers of sessions under the heap meter, which is exact."""
        firsts = {record.sessions: record for record in reversed(self.runs("heap"))}
        small_and_large = sorted(firsts)[:2]
        return tuple(firsts[sessions] for sessions in small_and_large) if len(small_and_large) == 2 else None


@dataclass(frozen=True)
class Selection:
    """Stacks and settings in the order in which they were asked for, else recorded."""

    records: tuple[Record, ...]
    stacks: tuple[str, ...]
    settings: tuple[Setting, ...]
    left_out: tuple[str, ...] = ()  # sentences: how many runs stand in no line, and why

    def series(self, stack: str, setting: Setting, process: Process = "both") -> Series:
        """ValueError with a sentence when the runs had no such process."""
        found = (one for one in self.records if one.stack == stack and Setting.of(one) == setting)
        return Series(stack, setting, tuple(of_process(one, process) for one in found))

    def where(self, wanted: Callable[[Setting], bool]) -> "Selection":
        """The part in these settings, with the stacks that have runs there."""
        settings = tuple(filter(wanted, self.settings))
        records = tuple(one for one in self.records if Setting.of(one) in settings)
        there = {one.stack for one in records}
        return Selection(records, tuple(one for one in self.stacks if one in there), settings, self.left_out)

    def sessions(self, meter: Meter = "rss") -> list[int]:
        return sorted({record.sessions for record in self.records if record.meter == meter})

    def varies(self, field: str) -> bool:
        return len({getattr(setting, field) for setting in self.settings}) > 1


def chosen(wanted: Sequence[str] | None, present: Iterable[str], what: str) -> list[str]:
    """ValueError with a sentence when something that is wanted is not there."""
    present = list(dict.fromkeys(present))
    for name in wanted or ():
        if name not in present:
            raise ValueError(f"no runs of {what} {name}; there are: {', '.join(present)}")
    return list(dict.fromkeys(wanted)) if wanted else present


def of_campaign(records: Iterable[Record], name: str) -> list[Record]:
    """The runs that this table of campaigns.toml asks for as it stands. ValueError when there is no such table."""
    known = definitions.campaigns()
    if name not in known:
        raise ValueError(f"no campaign {name} in memtest/campaigns.toml{nearest(name, known)}")
    asked = set(campaign.matrix(known[name]))
    return [record for record in records if run_of(record) in asked]


def run_of(record: Record) -> campaign.Run:
    named = (record.stack, record.suite, record.allocator.name, record.window)
    kind = (record.roles, peer_name(record), record.env)
    return campaign.Run(*named, record.sessions, record.meter, record.repeat, *kind)


ASPECTS: dict[str, tuple[str, Callable[[Record], str]]] = {  # what a selection may be narrowed to, by argument
    "stacks": ("the stack", lambda one: one.stack),
    "suites": ("the suite", lambda one: one.suite),
    "allocators": ("the allocator", lambda one: one.allocator.name),
    "windows": ("the window", lambda one: str(one.window)),
    "roles": ("roles", lambda one: one.roles),
    "peers": ("the peer", lambda one: peer_name(one) or ITSELF),
    "envs": ("the environment", lambda one: one.env),
}


def select(
    records: Iterable[Record],
    stacks: Sequence[str] | None = None,
    suites: Sequence[str] | None = None,
    allocators: Sequence[str] | None = None,
    windows: Sequence[str] | None = None,
    **kinds: Sequence[str] | None,
) -> Selection:
    """The newest runs of these stacks, suites, allocators (by name), windows (as text); and of these roles, peers
    (ITSELF: the same stack at both ends) and envs. None is all.

    Only those that are comparable; `left_out` says how many others there are, to be shown on stderr.
    ValueError when one has no runs at all."""
    records = list(records)
    alike = comparable(records)
    kept = newest(alike)
    asked = {"stacks": stacks, "suites": suites, "allocators": allocators, "windows": windows} | kinds
    asked = {name: chosen(names, map(ASPECTS[name][1], kept), ASPECTS[name][0]) for name, names in asked.items()}

    def wanted(one: Record) -> bool:
        return all(ASPECTS[name][1](one) in names for name, names in asked.items())

    kept = list(filter(wanted, kept))

    def place(setting: Setting) -> tuple:
        width = float("inf") if setting.window == "all" else setting.window
        kind = (get_args(Roles).index(setting.roles), setting.peer or "", get_args(Env).index(setting.env))
        return asked["suites"].index(setting.suite), setting.allocator, *kind, width

    settings = sorted({Setting.of(one) for one in kept}, key=place)
    missing = missing_from(*(list(filter(wanted, some)) for some in (records, of_latest_builds(records), alike)))
    return Selection(tuple(kept), tuple(asked["stacks"]), tuple(settings), missing)
