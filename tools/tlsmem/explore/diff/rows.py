"""Rows of a diff: a site of two profiles, what each side holds there, and what one holds more."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple

from tlsmem.explore.diff.match_callstacks import STAGES, Stage
from tlsmem.profile.frames import OWNERS, Frame, Owner
from tlsmem.profile.heap_profile import LiveHeap, sum_live

Part = Owner | Literal["warm-up"]
WARM_UP: Part = "warm-up"  # what client and server calls made before any session of the run, and still is there
PARTS: tuple[Part, ...] = (*OWNERS, WARM_UP)
SESSIONS: tuple[Owner, ...] = ("client", "server")


class DiffRow(NamedTuple):
    """A site, or a sum of sites. Bytes and blocks are those of all sessions; Diff.figures divides them."""

    part: Part
    stage: Stage
    frames: tuple[Frame, ...]  # NEW's largest stack, OLD's where NEW has none; innermost first
    lines: frozenset[int]  # where the innermost caller of that side calls: several are one site where lines moved
    old: LiveHeap
    new: LiveHeap


class SiteAmounts(NamedTuple):
    """Of one session in the parts that are sessions', else of the process. Blocks: None where a tool does not count."""

    old_bytes: Fraction
    new_bytes: Fraction
    old_blocks: Fraction | None
    new_blocks: Fraction | None

    @property
    def more(self) -> Fraction:
        """What NEW holds more, in bytes."""
        return self.new_bytes - self.old_bytes

    @property
    def differ(self) -> bool:
        return self.more != 0 or (None not in self[2:] and self.old_blocks != self.new_blocks)


def sum_rows(rows: Iterable[DiffRow]) -> DiffRow:
    """The largest gives the frames, the one that was joined worst its stage."""
    rows = list(rows)
    largest = max(rows, key=lambda row: max(row.old.bytes, row.new.bytes))
    stage = max((row.stage for row in rows), key=STAGES.index)
    lines = frozenset[int]().union(*(row.lines for row in rows))
    old, new = (sum_live(dict(enumerate(side))) for side in zip(*((row.old, row.new) for row in rows), strict=True))
    return largest._replace(stage=stage, lines=lines, old=old, new=new)
