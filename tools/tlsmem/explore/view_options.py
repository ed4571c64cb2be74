"""What of a profile is looked at, and how, as options name it. Standard library only."""

from pathlib import Path
from typing import Literal, get_args

Live = Literal["bytes", "blocks"]
OfRun = Literal["allocations", "allocated", "temporary"]
By = Literal["bytes", "blocks", "allocations", "allocated", "temporary"]
LIVE, OF_RUN, BY = get_args(Live), get_args(OfRun), get_args(By)
ROWS = 10  # sites that are shown
VIEWS = ("callers", "sizes", "buckets")
FILES = ("folded", "speedscope", "flamegraph")
SUFFIXES = (".html", ".svg")  # of flamegraphs


def flamegraph_suffix(file: Path | str) -> str:
    if (found := Path(file).suffix.lower()) not in SUFFIXES:
        raise ValueError(f"{file}: a flamegraph is a .svg of one moment or a .html of all: name the file so")
    return found
