"""What a report is made of: recordings, each read once, and what a reader must know before comparing any."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import contents
import reading
from contents import Contents
from definitions import ROOT
from records import Record
from selection import ASPECTS
from settings import machine_of

EVERYTHING = dict.fromkeys(ASPECTS)  # nothing is asked for: all of it


class Recording(NamedTuple):
    name: str  # of its directory: unique in a report
    path: str  # as people type it, from the root of the repository
    records: list[Record]
    contents: Contents  # runs of memory and of time that belong together

    @property
    def machines(self) -> list[str]:
        return list(dict.fromkeys(map(machine_of, self.records)))


def read(paths: Sequence[Path]) -> list[Recording]:
    """Each once, with a word about progress on stderr. ValueError with a sentence that names the recording."""
    return [one(path) for path in dict.fromkeys(path.resolve() for path in paths)]


def one(path: Path) -> Recording:
    began = time.monotonic()
    shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    try:
        found = reading.loaded(path, "recordings are directories under data/")
    except ValueError as error:
        raise ValueError(f"{shown}: {error}") from None
    if not found:
        raise ValueError(f"{shown}: the recording is empty")
    print(f"report: {shown}: {len(found):,} runs, read in {time.monotonic() - began:.1f} s", file=sys.stderr)
    return Recording(path.name, shown, found, contents.select(found, EVERYTHING))
