"""Rows of a diff: call sites of two profiles, what each side holds there, and how much more NEW holds."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple

from tlsmem.explore.diff.match_callstacks import STAGES, Stage
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import LiveHeap, sum_live
from tlsmem.schema.roles import OWNERS, Owner

SideName = Literal["OLD", "NEW"]
Part = Owner | Literal["warm-up"]
WARM_UP: Part = "warm-up"  # what client and server calls allocated before the first session, and still hold
PARTS: tuple[Part, ...] = (*OWNERS, WARM_UP)
SESSIONS: tuple[Owner, ...] = ("client", "server")


class DiffRow(NamedTuple):
    """A call site, or a sum of call sites. Bytes and blocks are those of all sessions; Diff.figures divides them."""

    part: Part
    stage: Stage
    frames: tuple[Frame, ...]  # NEW's largest stack, OLD's where NEW has none; innermost first
    lines: frozenset[int]  # of that side's innermost caller: several are one site where lines moved
    old: LiveHeap
    new: LiveHeap
    below: tuple["DiffRow", ...] = ()  # the sites, where these are several below one call, whose callers are the frames

    @property
    def holders(self) -> tuple[SideName, ...]:
        """The sides that hold memory here."""
        sides: dict[SideName, LiveHeap] = {"OLD": self.old, "NEW": self.new}
        return tuple(side for side, held in sides.items() if held.bytes or held.blocks)

    @property
    def only_holder(self) -> SideName | None:
        return self.holders[0] if len(self.holders) == 1 else None


class SiteAmounts(NamedTuple):
    """Per session in the parts that are sessions', else of the process. Blocks: None where a tool does not count."""

    old_bytes: Fraction
    new_bytes: Fraction
    old_blocks: Fraction | None
    new_blocks: Fraction | None

    @property
    def more(self) -> Fraction:
        """What NEW holds more, in bytes."""
        return self.new_bytes - self.old_bytes

    @property
    def share(self) -> float | None:
        """The size of the difference, whatever its direction, as a share of OLD's bytes; None where OLD has none."""
        return float(abs(self.more / self.old_bytes)) if self.old_bytes else None

    @property
    def differ(self) -> bool:
        """Whether bytes differ, or blocks where both sides count them."""
        return self.more != 0 or (None not in self[2:] and self.old_blocks != self.new_blocks)


def sum_rows(rows: Iterable[DiffRow]) -> DiffRow:
    """One row for several: the frames are those of the largest, the stage is the worst."""
    rows = list(rows)
    largest = max(rows, key=lambda row: max(row.old.bytes, row.new.bytes))
    stage = max((row.stage for row in rows), key=STAGES.index)
    lines = frozenset[int]().union(*(row.lines for row in rows))
    old, new = (sum_live(dict(enumerate(side))) for side in zip(*((row.old, row.new) for row in rows), strict=True))
    return largest._replace(stage=stage, lines=lines, old=old, new=new)
