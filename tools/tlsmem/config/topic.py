"""Topics: axes of the measurements, each with a folder of its own below tlsmem/topics.

The folder's `__init__.py` declares the topic as `TOPIC`. What there is of a topic elsewhere follows from that: names of
tables and choices of `--table`, who makes them and in which order, sections of the report, slides, meters of a gate and
the list of topics in docs/how-to/axes.md. Makers are named by module and function within the folder, "table:make", and
are imported when they are asked for. Standard library only: make's check of options reads names before packages are
installed."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

FOLDER = Path(__file__).absolute().parents[1] / "topics"
Takes = Literal["runs", "memory", "both", "timed"]


class TopicTable(NamedTuple):
    """A table. Its maker takes the runs that the topic selects; or a Selection of memory runs; or such a Selection or
    None, and the runs of other scenarios; or a TimedSelection."""

    name: str
    maker: str
    needs: str  # which runs it is made of, and how they are recorded
    takes: Takes = "runs"
    shown_if: str | None = None  # takes what the maker takes; whether the table is shown unasked. None: always


class TopicSlide(NamedTuple):
    """A slide of a talk. Its maker takes paths of recordings, the newest first."""

    number: int  # in the talk
    name: str  # of its file, after the number
    maker: str


class Topic(NamedTuple):
    """An axis of the measurements."""

    name: str  # of its folder
    question: str  # that it answers
    place: int  # among the others: tables and sections are in this order
    selects: Callable[[Any], bool]  # runs that it is made of
    campaigns: tuple[str, ...]  # that record these runs
    page: str  # of docs/
    section: str  # of the report: its maker takes the recordings
    tables: tuple[TopicTable, ...] = ()
    pictures: tuple[str, ...] = ()  # names of those that its section has
    slides: tuple[TopicSlide, ...] = ()
    meters: str | None = None  # of a gate: a dictionary by name
    folder: str | None = None  # of a recording, where the topic's runs are; None: among those of harnesses
    leads: str | None = None  # takes a Selection of many stacks; whether the topic's tables alone tell of it

    def find(self, maker: str) -> Any:
        """Return what `maker` names within the folder."""
        module, _, name = maker.partition(":")
        return getattr(import_module(f"tlsmem.topics.{self.name}.{module}"), name)

    def shows(self, table: TopicTable, taken: Any) -> bool:
        """Return whether a table of what its maker takes is shown when nobody asks for it."""
        return table.shown_if is None or bool(self.find(table.shown_if)(taken))


@cache
def topics() -> tuple[Topic, ...]:
    """Return all topics in their order."""
    names = (file.parent.name for file in FOLDER.glob("*/__init__.py"))
    found: list[Topic] = [import_module(f"tlsmem.topics.{name}").TOPIC for name in names]
    return tuple(sorted(found, key=lambda topic: topic.place))


def topic_tables(takes: Takes) -> dict[str, tuple[Topic, TopicTable]]:
    """Return the tables that are made of this, by name, each with its topic."""
    return {table.name: (topic, table) for topic in topics() for table in topic.tables if table.takes == takes}
