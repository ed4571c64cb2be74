"""Which runs belong together: the newest of each, grouped into series that one line can go through."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import campaign
import definitions
from comparable import by_start, comparable, missing_from, of_latest_builds
from names import nearest
from records import Meter, Record, Window


def allocator_name(record: Record) -> str:
    """Settings make another allocator; a version is said beside it."""
    name, settings = record.allocator.name, record.allocator.settings
    return f"{name} ({settings})" if settings else name


def declared(record: Record) -> tuple:
    """What a campaign asked for, whatever the binary was."""
    run = (record.scenario, record.sessions, record.window, record.meter, record.roles, record.peer, record.repeat)
    return (record.stack, record.suite, allocator_name(record), *run)


def newest(records: Iterable[Record]) -> list[Record]:
    """One record for the same declared fields: the one started last."""
    return list({declared(record): record for record in by_start(records)}.values())


@dataclass(frozen=True)
class Setting:
    """What is equal for all stacks that stand beside each other in a row."""

    suite: str
    allocator: str
    window: Window

    @staticmethod
    def of(record: Record) -> "Setting":
        return Setting(record.suite, allocator_name(record), record.window)


@dataclass(frozen=True)
class Series:
    """The runs of one stack in one setting: all sessions, meters, repeats, and what became of them."""

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

    def series(self, stack: str, setting: Setting) -> Series:
        return Series(stack, setting, tuple(r for r in self.records if r.stack == stack and Setting.of(r) == setting))

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
    return campaign.Run(*named, record.sessions, record.meter, record.repeat)


def select(
    records: Iterable[Record],
    stacks: Sequence[str] | None = None,
    suites: Sequence[str] | None = None,
    allocators: Sequence[str] | None = None,
    windows: Sequence[str] | None = None,
) -> Selection:
    """The newest runs of these stacks, suites, allocators (by name) and windows (as text); None is all.

    Only those that are comparable; `left_out` says how many others there are, to be shown on stderr.
    ValueError when one has no runs at all."""
    records = list(records)
    alike = comparable(records)
    kept = newest(alike)
    stacks = chosen(stacks, (one.stack for one in kept), "the stack")
    suites = chosen(suites, (one.suite for one in kept), "the suite")
    allocators = chosen(allocators, (one.allocator.name for one in kept), "the allocator")
    windows = chosen(windows, (str(one.window) for one in kept), "the window")

    def wanted(one: Record) -> bool:
        of_run = one.suite in suites and one.allocator.name in allocators and str(one.window) in windows
        return one.stack in stacks and of_run

    kept = list(filter(wanted, kept))

    def place(setting: Setting) -> tuple:
        width = float("inf") if setting.window == "all" else setting.window
        return suites.index(setting.suite), setting.allocator, width

    settings = sorted({Setting.of(one) for one in kept}, key=place)
    missing = missing_from(*(list(filter(wanted, some)) for some in (records, of_latest_builds(records), alike)))
    return Selection(tuple(kept), tuple(stacks), tuple(settings), missing)
