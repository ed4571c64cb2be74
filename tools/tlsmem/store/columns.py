"""Columns of the tables of many files, read when they are first used: a table shows few of a hundred."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb

from tlsmem.base.errors import UserError
from tlsmem.store import tables
from tlsmem.store.derive import Entry, database

Convert = Callable[[Any], Any]  # what the store has of a value to what records have; NULL is None and stays so


def execute(files: Sequence[Path], what: str, more: str = "") -> list[tuple[Any, ...]]:
    """Return the rows of a query on Parquet files, of which there is at least one. Raises UserError where one cannot be
    read."""
    listed = ", ".join(map(tables.quote, files))
    try:
        return database().execute(f"SELECT {what} FROM read_parquet([{listed}]){more}").fetchall()
    except duckdb.Error as error:
        raise UserError(f"{files[0].parent}: was changed meanwhile; run the command again ({error})") from None


def query(file: Path, what: str, run: int, more: str = "") -> list[tuple[Any, ...]]:
    """Return the rows of one run, by its place in the file. Raises UserError where it cannot be read."""
    return execute([file], what, f" WHERE run = {run}{more}")


class Columns(dict[str, list[Any]]):
    """The columns of one table over several entries, one after the other: a list each, with a value a row.

    A column that is not there yet is read with the others of its group."""

    def __init__(
        self, table: str, entries: Sequence[Entry], groups: Sequence[Sequence[str]], convert: Mapping[str, Convert]
    ) -> None:
        super().__init__()
        self.files, self.convert = [one.table(table) for one in entries if getattr(one, table)], convert
        self.group_of = {name: group for group in groups for name in group}

    def __missing__(self, name: str) -> list[Any]:
        wanted = [one for one in self.group_of.get(name, (name,)) if one not in self]
        for one, values in zip(wanted, self.read(wanted), strict=True):
            self[one] = convert_values(values, self.convert[one]) if one in self.convert else values
        return self[name]

    def read(self, names: Sequence[str]) -> Sequence[list[Any]]:
        """Return these columns as the store has them, in the order of rows: one thread reads."""
        if not self.files:
            return [[] for _ in names]
        (columns,) = execute(self.files, ", ".join(f'list("{one}")' for one in names))
        return columns


def convert_values(values: Sequence[Any], convert: Convert) -> list[Any]:
    """Return the converted values; equal ones are converted once, and are one object."""
    known = {value: None if value is None else convert(value) for value in dict.fromkeys(values)}
    return [known[value] for value in values]


class Frame:
    """The runs of several entries and their phases, as columns: those of runs together, as most are searched, and those
    of phases for each entry, or together too."""

    def __init__(self, entries: Sequence[Entry], runs: Columns, phases: Sequence[Columns]) -> None:
        self.entries, self.runs, self.phases = entries, runs, phases

    @cached_property
    def first_phases(self) -> list[int]:
        """The place of each run's first phase among all, and one more: the number of all phases."""
        return [0, *accumulate(count or 0 for count in self.runs["phases"])]

    @cached_property
    def first_runs(self) -> list[int]:
        """The row of each entry's first run."""
        return [0, *accumulate(one.runs for one in self.entries)][:-1]

    def find_phases(self, run: int) -> tuple[Columns, range]:
        """Return the columns that have the phases of a run, by its row, and their rows in them."""
        first, end = self.first_phases[run : run + 2]
        if len(self.phases) == 1:
            return self.phases[0], range(first, end)
        at = bisect_right(self.first_runs, run) - 1
        before = self.first_phases[self.first_runs[at]]
        return self.phases[at], range(first - before, end - before)

    def find_place(self, run: int) -> tuple[Path, int]:
        """Return the folder of the entry that has a run, by its row, and its place there."""
        at = bisect_right(self.first_runs, run) - 1
        return self.entries[at].folder, run - self.first_runs[at]
