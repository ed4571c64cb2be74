"""What a report is made of: recordings, each read once, and told apart by machine before anything is compared."""

import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.schema.records import UNDECLARED, Record
from tlsmem.stats.selection import ASPECTS
from tlsmem.tables import contents, table_command
from tlsmem.tables.contents import Contents
from tlsmem.tables.settings import machine_of

EVERYTHING = dict.fromkeys(ASPECTS)  # nothing is asked for: all of it


class Recording(NamedTuple):
    """What one machine recorded: a recording that was made on several is as many of these."""

    name: str  # of its directory, with the machine's letter where it has several: unique in a report
    path: str  # as people type it, from the root of the repository
    records: list[Record]
    contents: Contents  # runs of memory and of time that belong together
    machine: str  # its letter
    about_machine: str


def typed(*recordings: Recording) -> str:
    """Their paths in a command, each once: people call directories as they like."""
    return shlex.join(dict.fromkeys(one.path for one in recordings))


def loaded(paths: Sequence[Path]) -> dict[str, list[Record]]:
    """Path to its runs; each is read once, however often it is named. ValueError with a sentence that names it."""
    return {shown(path): records_of(path) for path in dict.fromkeys(path.resolve() for path in paths)}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def records_of(path: Path) -> list[Record]:
    began = time.monotonic()
    try:
        found = table_command.loaded(path, "recordings are directories under data/")
    except ValueError as error:
        raise ValueError(f"{shown(path)}: {error}") from None
    if not found:
        raise ValueError(f"{shown(path)}: the recording is empty")
    print(f"report: {shown(path)}: {len(found):,} runs, read in {time.monotonic() - began:.1f} s", file=sys.stderr)
    return found


def by_machine(loaded: dict[str, list[Record]]) -> Iterator[Recording]:
    """From paths and their runs."""
    letters = lettered(record for records in loaded.values() for record in records)
    names = unique(loaded)
    for path, records in loaded.items():
        there = dict.fromkeys(map(declared, records))
        for machine in there:
            own = [record for record in records if declared(record) == machine]
            letter = letters[machine]
            name = f"{names[path]} on {letter}" if len(there) > 1 else names[path]
            yield Recording(name, path, own, contents.select(own, EVERYTHING), letter, machine_of(own[0]))


def unique(paths: Iterable[str]) -> dict[str, str]:
    """The last part of each path, or the whole where two end alike."""
    ends = [Path(path).name for path in paths]
    return {path: end if ends.count(end) == 1 else path for path, end in zip(paths, ends, strict=True)}


def declared(record: Record) -> tuple:
    """What makes it another machine, as a record's key has it."""
    return tuple((name, value) for name, value in record.machine.model_dump().items() if name not in UNDECLARED)


def lettered(records: Iterable[Record]) -> dict[tuple, str]:
    """A, B, ..., Z, AA, ... in the order in which they are met."""
    return {machine: letters(at) for at, machine in enumerate(dict.fromkeys(map(declared, records)))}


def letters(number: int) -> str:
    before, at = divmod(number, 26)
    return (letters(before - 1) if before else "") + chr(ord("A") + at)
