"""What a recording holds, runs of memory and of time: each kind has its own selection and tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tlsmem.config.table_names import NEEDS, describe_need
from tlsmem.config.topic import topic_tables
from tlsmem.stats import selection, timed_selection
from tlsmem.stats.selection import ASPECTS, Selection, choose_values
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record
from tlsmem.tables import catalogue, scenario_catalogue
from tlsmem.tables.table import Table

Asked = dict[str, Sequence[str] | None]  # an aspect of a run to what is wanted of it; None: all
Runs = TypeVar("Runs", Selection, TimedSelection)


@dataclass(frozen=True)
class RecordingContents:
    """The selections of a recording; None where it has no runs of the kind."""

    memory: Selection | None
    timed: TimedSelection | None
    others: tuple[Record, ...] = ()  # of the other scenarios of memory

    @property
    def records(self) -> list[Record]:
        """All runs that were selected."""
        of_memory = self.memory.records if self.memory else ()
        return [*of_memory, *self.others, *(self.timed.every_record if self.timed else ())]

    @property
    def left_out(self) -> list[str]:
        """What was left out, in sentences."""
        return [said for kind in (self.memory, self.timed) if kind for said in kind.left_out]

    def tables(self, names: Sequence[str] | None, sessions: Sequence[int] | None) -> list[Table]:
        """Raises ValueError when one that was asked for has no rows."""
        wanted = names or []
        of_memory, joint_tables = NEEDS.keys() | topic_tables("memory"), topic_tables("both")
        ours = [name for name in wanted if name in of_memory and (self.memory or name != "settings")]
        others = [name for name in wanted if name in topic_tables("runs")]
        joint = [name for name in wanted if name in joint_tables]
        theirs = [name for name in wanted if name not in (*ours, *others, *joint)]
        made: list[Table] = []
        if ours or (self.memory and not wanted):
            made += catalogue.build(require_runs(self.memory, ours), ours, sessions)
        if others or (self.others and not wanted):
            made += scenario_catalogue.build(self.others, others)
        for name in joint:
            topic, table = joint_tables[name]
            made.append(topic.find(table.maker)(self.memory, self.others))
            if not made[-1].rows:
                raise ValueError(f"table {name} has no rows: it needs {table.needs}")
        if theirs or (self.timed and not wanted):
            made += scenario_catalogue.build_timed(require_runs(self.timed, theirs), theirs)
        return [table for at, table in enumerate(made) if table.name not in {one.name for one in made[:at]}]


def require_runs(kind: Runs | None, names: Sequence[str]) -> Runs:
    """Return the selection. Raises ValueError where it is None."""
    if kind is None:
        raise ValueError(f"table {names[0]} has no rows: it needs {describe_need(names[0])}")
    return kind


def select(records: Iterable[Record], asked: Asked) -> RecordingContents:
    """What is asked for may be of one kind only. Raises ValueError where there is none of it at all."""
    records = list(records)
    asked = {
        name: choose_values(names, map(ASPECTS[name][1], records), ASPECTS[name][0]) if names else None
        for name, names in asked.items()
    }
    memory = [record for record in records if record.scenario == "memory"]
    rest = scenario_catalogue.select_runs(records)
    others = [record for record in records if timed_selection.is_timed(record)]
    of_this = present_filters(memory, asked)
    found = selection.select(memory, **of_this) if of_this is not None else None
    of_that = present_filters(others, asked)
    kept = (
        timed_selection.select(filter_records(others, of_that), of_that["stacks"], of_that["suites"])
        if of_that is not None
        else None
    )
    of_rest = present_filters(rest, asked)
    return RecordingContents(
        found if found and found.records else None,
        kept if kept and kept.every_record else None,
        tuple(filter_records(rest, of_rest)) if of_rest is not None else (),
    )


def present_filters(records: Sequence[Record], asked: Asked) -> Asked | None:
    """What of it these runs have; None where that is nothing of an aspect, or there are no runs."""
    found: Asked = {}
    for name, names in asked.items():
        values = {ASPECTS[name][1](record) for record in records}
        found[name] = [one for one in names if one in values] if names else None
        if names and not found[name]:
            return None
    return found if records else None


def filter_records(records: Iterable[Record], asked: Asked) -> list[Record]:
    """Return the runs that have all of what is asked for."""
    given = {name: names for name, names in asked.items() if names}
    return [one for one in records if all(ASPECTS[name][1](one) in names for name, names in given.items())]
