"""The runs of one stack in one setting, which one line can fit. Each process of a split run has a series of its own."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from tlsmem.schema.harness_output import Cpu, Data, Env, Meter, Roles, Window
from tlsmem.schema.recorded_arguments import has_full_records
from tlsmem.schema.roles import Process, Role
from tlsmem.store.record import Record


def allocator_name(record: Record) -> str:
    """Return the allocator's name, with its settings, which make it another one; its version is left out."""
    name, settings = record.allocator.name, record.allocator.settings
    return f"{name} ({settings})" if settings else name


@dataclass(frozen=True)
class Setting:
    """The conditions that are equal for all stacks in a row of a table."""

    suite: str
    allocator: str
    window: Window
    roles: Roles = "together"
    peer: str | None = None  # the client's stack in a mixed pair; None: the same stack at both ends
    env: Env = "lab"
    cpu: str = "all"
    data: Data = "short"

    @staticmethod
    def from_record(record: Record) -> "Setting":
        """Return the setting of a run."""
        kind = (record.roles, peer_name(record), record.env, cpu_name(record), data_size(record))
        return Setting(record.suite, allocator_name(record), record.window, *kind)

    @property
    def processes(self) -> dict[Role, Process]:
        """The process that holds the sessions of each role, of the roles whose sessions stay."""
        roles: tuple[Role, ...] = get_args(Role)
        kept = [role for role in roles if self.roles in ("together", "split", f"keep-{role}")]
        return {role: role if self.roles == "split" else "both" for role in kept}


def is_one_process(setting: Setting) -> bool:
    """Return whether one process holds both ends of all sessions."""
    return setting.roles == "together"


def is_same_stack_pair(setting: Setting) -> bool:
    """Return whether one stack is at both ends; mixed pairs are in a table of their own."""
    return setting.peer is None


def peer_name(record: Record) -> str | None:
    """Return the client's stack of a mixed pair; None where one stack is at both ends."""
    return record.peer.stack if record.peer and record.peer.stack != record.stack else None


def data_size(record: Record) -> Data:
    """Return what the sessions sent and received: `full` where it was a full record each too."""
    return "full" if has_full_records(record) else "short"


def cpu_name(record: Record) -> Cpu:
    """Return the name of the CPU features that the library was limited to, or `all`."""
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
        """The stack whose process this is: the peer for the client of a mixed pair."""
        return self.setting.peer if self.process == "client" and self.setting.peer else self.stack

    @property
    def share(self) -> int:
        """1 where all sessions of a run stay in the process, 2 where every second one does."""
        return 1 if self.setting.roles == "together" else 2

    def runs(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        """Return the measured runs under the meter (at this N), by increasing sessions and repeat."""
        found = [record for record in self.with_meter(meter, sessions) if record.status == "measured"]
        return sorted(found, key=lambda record: (record.sessions, record.repeat))

    def full(self, meter: Meter) -> list[Record]:
        """Return the measured runs with at least one full window: with smaller runs a line would not be straight."""
        width = 1 if self.setting.window == "all" else self.setting.window
        return [run for run in self.runs(meter) if run.sessions // 2 >= width]

    def with_meter(self, meter: Meter, sessions: int | None = None) -> list[Record]:
        """Return all runs under the meter (at this N), measured or not."""
        return [one for one in self.records if one.meter == meter and sessions in (None, one.sessions)]

    def reason(self, meter: Meter, sessions: int | None = None) -> str:
        """Return why there is no measured run under the meter (at this N)."""
        for record in self.with_meter(meter, sessions):
            if record.status != "measured":
                return f"{record.status}: {' '.join((record.reason or '').split())}"
        return "not measured"

    def heap_pair(self) -> tuple[Record, Record] | None:
        """Return the first repeats at the two smallest N under the heap meter; None where there is only one N or none.

        One repeat is enough, because the heap meter is exact."""
        firsts = {record.sessions: record for record in reversed(self.runs("heap"))}
        if len(firsts) < 2:
            return None
        small, large = sorted(firsts)[:2]
        return firsts[small], firsts[large]


@dataclass(frozen=True)
class SeriesFigures:
    """Figures of one series, or a row of a table about it: with the stack and the setting that name it."""

    series: Series

    @property
    def stack(self) -> str:
        """The stack of the series; of a mixed pair the server's."""
        return self.series.stack

    @property
    def setting(self) -> Setting:
        """The setting of the series."""
        return self.series.setting


def limit_to_common_sessions(several: Iterable[Series]) -> list[Series]:
    """Return the series with their RSS runs at those N only that all series with RSS runs share.

    Lines through different N cannot be compared."""
    several = list(several)
    counts = [{run.sessions for run in one.runs("rss")} for one in several]
    shared = set.intersection(*found) if (found := [one for one in counts if one]) else set()

    def kept(run: Record) -> bool:
        return run.meter != "rss" or run.status != "measured" or run.sessions in shared

    return [replace(one, records=tuple(filter(kept, one.records))) for one in several]
