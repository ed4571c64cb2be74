"""Kinds and words that options of several commands share. Standard library only."""

from argparse import ArgumentTypeError
from pathlib import Path

from tlsmem.base.repository import is_no_directory
from tlsmem.config import amounts, choices
from tlsmem.config.option_kinds import NAME_DIRECTORY, Parsed
from tlsmem.config.option_model import Words


def parse_new_directory(text: str) -> Path:
    """A directory that is there, or can be made: the type of an argument."""
    if file := next((one for one in (Path(text), *Path(text).parents) if is_no_directory(one)), None):
        raise ArgumentTypeError(f"{file} is a file; {NAME_DIRECTORY}")
    return Path(text)


PATH = Parsed(Path, "a path")
NEW_DIRECTORY = Parsed(parse_new_directory, "a directory")
WHOLE = Parsed(int, "a whole number")
TIME_OF_RUN = Parsed(amounts.parse_time_limit, "seconds")
SIZE = Parsed(amounts.parse_size, "a size: `16GiB`")
BYTES = Parsed(amounts.parse_size_or_zero, "a size, or 0")
COUNT = Parsed(amounts.parse_count, "a number: `100000`, `10M`")
COUNT_OR_ZERO = Parsed(amounts.parse_count_or_zero, "a number, or 0")
POSITIVE = Parsed(amounts.parse_positive, "a whole number from 1 on")
TIME = Parsed(amounts.parse_seconds, "a time: `200ms`, `10s`")
DURATION = Parsed(amounts.parse_duration, "a time above 0: `10s`")
RATE = Parsed(amounts.parse_rate, "a rate: `500/s`")
POSITIVE_RATE = Parsed(amounts.parse_positive_rate, "a rate above 0: `500/s`")
SCHEDULER = Parsed(
    amounts.parse_scheduler, "the address of a Dask scheduler: `tls://10.0.0.1:8786`, or `tcp://` without TLS"
)
SHARE = Parsed(amounts.parse_share, "a share: `5%`, or a number")
ONE_RECORDING = "a directory under data/, or one of its files"
USUAL_SUITE = Words(f"{choices.PLAN_SUITE}; for a stack without it, one that it has")
ARE_TABLED = ("tabulate", "compare")
LOOK, HOW = "what to show", "how to show it; may be combined"
