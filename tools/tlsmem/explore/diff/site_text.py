"""Call sites and amounts of a diff as text, for its tables and sentences alike."""

import re
from collections.abc import Collection
from fractions import Fraction

from tlsmem.explore import profile_selection, short_function_names
from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS
from tlsmem.explore.diff.rows import DiffRow
from tlsmem.profile.frames import Frame, skip_containers

LINES = 4  # of a site
MOMENTS = {"established": "once sessions are established", **profile_selection.EXTREMES}
UNEXPLAINED = "memory that no call stack explains"


def describe_moment(moment: str) -> str:
    return MOMENTS.get(moment) or profile_selection.describe_moment(moment)


def format_callers(row: DiffRow) -> str:
    """The innermost callers, shortened; the first with its lines. Of a call: who made it, how many sites it led to."""
    callers = skip_containers(row.frames)[:INNERMOST_CALLERS]
    if not callers:
        return UNEXPLAINED
    first, *others = callers
    text = " < ".join([describe_lines(first, row.lines), *map(short_function_names.frame_name, others)])
    return text + describe_sites_below(len(row.below))


def describe_sites_below(sites: int) -> str:
    """What follows a call that led to several sites; nothing for a site."""
    return f", at {sites} call sites below it" if sites else ""


def describe_lines(frame: Frame, lines: Collection[int]) -> str:
    """`function (file:10, 20)`."""
    text = short_function_names.describe_frame(frame)
    if len(lines) < 2:
        return text
    named = ", ".join(map(str, sorted(lines)[:LINES])) + (", ..." if len(lines) > LINES else "")
    return re.sub(r":\d+\)$", f":{named})", text)


def format_amount(number: Fraction) -> str:
    """A whole number as it is; any other to a tenth."""
    return f"{int(number):,}" if number.denominator == 1 else f"{float(number):,.1f}"


def format_change(more: Fraction, unit: str = "") -> str:
    """`1,408 B more`: the direction is in words, since a sign would leave open which side it is of."""
    return f"{format_amount(abs(more))}{unit} {'more' if more > 0 else 'less'}"


def format_size(size: Fraction, blocks: Fraction | None) -> str:
    """`3,408 B in 2 blocks`; without the blocks where they are not counted."""
    counted = "" if blocks is None else f" in {format_amount(blocks)} block{'s'[: blocks != 1]}"
    return f"{format_amount(size)} B{counted}"
