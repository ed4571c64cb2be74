"""The table `stall`: what sessions hold whose peers stop on the way.

A column is one entry of COLUMNS: what it takes of a Stall, and how that is written."""

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from tlsmem.base.printable import strip_suite
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import Holder, find_holder, holder_cell
from tlsmem.tables.runtime import GARBAGE_NOTE, GOROUTINES_NOTE, RUNTIME_NOTE, Size, size_cell, size_if_known
from tlsmem.tables.table import MISSING, Cell, Column, Table, fraction_cell, optional
from tlsmem.topics.stall.stalls import AMPLIFICATION_WARNING, Stall, find_stalls

CAPTION = (
    "Bytes of live heap for one session whose peer stops at a point, until the session is closed. Silent: the peer is "
    "connected and has sent nothing. Pinned: beyond that. Amplification: pinned bytes for each byte sent. Kept: what "
    "closing the session does not free. RSS: the same for resident memory, from the run with most sessions. Held by: "
    "the function that allocates the largest blocks, outside the library's own containers. Stack: the part of "
    "`together` that is a goroutine's stack."
)
REFUSED = re.compile(r"^.*?: does not reach the point [\w-]+: |^[^:]*: (?=has no )")  # before the library's own words
LARGE_NOTE = f"above {AMPLIFICATION_WARNING}: a peer that sends little makes the server hold much"


def size_of(name: str, runtime_note: str) -> Callable[[Stall], Size | Missing]:
    """Return what takes the property of this name from a stall."""

    def take(stall: Stall) -> Size | Missing:
        return size_if_known(getattr(stall, name), runtime_note if stall.runtime_run else None)

    return take


def amplification_cell(value: Fraction) -> Cell:
    """`13,941 ×`; with a note where it is large."""
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    return Cell(f"{float(value):,.{digits}f} ×", float(value), LARGE_NOTE if value > AMPLIFICATION_WARNING else None)


def holder(stall: Stall) -> Holder | Missing:
    """Return the function that holds most of what is pinned."""
    return map_present(lambda run: find_holder(run, stall.role, "stalled"), stall.measured("sites"))


COLUMNS = (
    Column("point", "point", left=True, value=lambda row: row.point),
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("suite", "suite", left=True, usual="tls13-rsa-aes256", value=lambda row: row.suite),
    Column("role", "waits", left=True, usual="server", value=lambda row: row.role),
    Column("received_bytes", "sent to it", value=lambda row: row.received_bytes, form=fraction_cell),
    Column("silent_bytes", "silent", value=size_of("silent_bytes", RUNTIME_NOTE), form=size_cell),
    Column("pinned_bytes", "pinned", value=size_of("pinned_bytes", RUNTIME_NOTE), form=size_cell),
    Column("amplification", "amplification", value=lambda row: row.amplification, form=amplification_cell),
    optional(Column("total_bytes", "together", value=size_of("total_bytes", RUNTIME_NOTE), form=size_cell)),
    optional(Column("stack_bytes", "stack", usual=MISSING, value=size_of("stack_bytes", RUNTIME_NOTE), form=size_cell)),
    optional(Column("pinned_rss_bytes", "RSS pinned", value=size_of("pinned_rss_bytes", GARBAGE_NOTE), form=size_cell)),
    optional(Column("kept_bytes", "kept", value=size_of("kept_bytes", GOROUTINES_NOTE), form=size_cell)),
    Column("holder", "held by", left=True, value=holder, form=holder_cell),
)


def stall_table(records: Sequence[Record]) -> Table:
    """A row a point and stack; without the points that a stack does not reach, each with the library's own words."""
    stalls = find_stalls(records)
    table = Table("stall", "Peers that stop on the way", CAPTION, list(COLUMNS))
    table.add_rows(stall for stall in stalls if not stall.refusal)
    table.without = describe_refusals(stalls)
    return table


def describe_refusals(stalls: Iterable[Stall]) -> list[str]:
    """Return a sentence for each stack and reason: which points it does not reach, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for stall in stalls:
        if stall.refusal:
            reason = REFUSED.sub("", strip_suite(stall.refusal))
            found.setdefault((stall.stack, reason), []).append(stall.point)
    return [f"{stack}: {', '.join(dict.fromkeys(points))}: {reason}" for (stack, reason), points in found.items()]
