"""The runs of one stack in one setting: what one line can go through. Of a split run either process has its own."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from tlsmem.schema.harness_output import Env, Meter, Process, Role, Roles, Window
from tlsmem.schema.records import Record


def allocator_name(record: Record) -> str:
    """Settings make another allocator; a version is said beside it."""
    name, settings = record.allocator.name, record.allocator.settings
    return f"{name} ({settings})" if settings else name


@dataclass(frozen=True)
class Setting:
    """What is equal for all stacks that stand beside each other in a row."""

    suite: str
    allocator: str
    window: Window
    roles: Roles = "together"
    peer: str | None = None  # the client's stack in a mixed pair; None: the same stack at both ends
    env: Env = "lab"
    cpu: str = "all"

    @staticmethod
    def from_record(record: Record) -> "Setting":
        kind = (record.roles, peer_name(record), record.env, cpu_name(record))
        return Setting(record.suite, allocator_name(record), record.window, *kind)

    @property
    def processes(self) -> dict[Role, Process]:
        """The roles whose sessions stay, each with the process that holds them."""
        roles: tuple[Role, ...] = get_args(Role)
        kept = [role for role in roles if self.roles in ("together", "split", f"keep-{role}")]
        return {role: role if self.roles == "split" else "both" for role in kept}


def peer_name(record: Record) -> str | None:
    return record.peer.stack if record.peer and record.peer.stack != record.stack else None


def cpu_name(record: Record) -> str:
    return record.cpu_features.name if record.cpu_features else "all"


@dataclass(frozen=True)
class Series:
    """The runs of one stack in one setting: all sessions, meters, repeats, and what became of them."""

    stack: str
    setting: Setting
    records: tuple[Record, ...]
    process: Process = "both"

    @property
    def owner(self) -> str:
        """The stack whose process it is: of a mixed pair's client that is the peer."""
        return self.setting.peer if self.process == "client" and self.setting.peer else self.stack

    @property
    def share(self) -> int:
        """One in this many of a run's sessions stays in the process."""
        return 1 if self.setting.roles == "together" else 2

    def runs(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        """Measured ones, by increasing sessions and repeat."""
        found = [record for record in self.with_meter(meter, sessions) if record.status == "measured"]
        return sorted(found, key=lambda record: (record.sessions, record.repeat))

    def full(self, meter: Meter) -> list[Record]:
        """Runs that had at least one whole window: a line through others too would bend at its beginning."""
        width = 1 if self.setting.window == "all" else self.setting.window
        return [run for run in self.runs(meter) if run.sessions // 2 >= width]

    def with_meter(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        return [one for one in self.records if one.meter == meter and sessions in (None, one.sessions)]

    def reason(self, meter: Meter, sessions: int | None = None) -> str:
        """Why there is a hole."""
        for record in self.with_meter(meter, sessions):
            if record.status != "measured":
                return f"{record.status}: {' '.join(record.reason.split())}"
        return "not measured"

    def heap_pair(self) -> tuple[Record, Record] | None:
        """First repeats of the two smallest numbers of sessions under the heap meter, which is exact."""
        firsts = {record.sessions: record for record in reversed(self.runs("heap"))}
        small_and_large = sorted(firsts)[:2]
        return tuple(firsts[sessions] for sessions in small_and_large) if len(small_and_large) == 2 else None


def limit_to_common_sessions(several: Iterable[Series]) -> list[Series]:
    """With RSS runs of those sessions only that all have that have any: a line through other N is another line."""
    several = list(several)
    counts = [{run.sessions for run in one.runs("rss")} for one in several]
    shared = set.intersection(*found) if (found := [one for one in counts if one]) else set()

    def kept(run: Record) -> bool:
        return run.meter != "rss" or run.status != "measured" or run.sessions in shared

    return [replace(one, records=tuple(filter(kept, one.records))) for one in several]
