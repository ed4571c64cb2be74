"""A fleet's answer: memory of a host before some fail, while their clients come over, and after."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import memory_cell
from tlsmem.plan.memory_answer import describe_origin, extrapolation_note
from tlsmem.plan.storm_answer import StormResult, describe_storm, format_seconds
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell, with_note


class Fleet(NamedTuple):
    """Clients spread evenly over hosts, of which some fail."""

    clients: int
    hosts: int
    fail: int

    @property
    def before(self) -> int:
        """Of a host; the fullest."""
        return math.ceil(self.clients / self.hosts)

    @property
    def after(self) -> int:
        return math.ceil(self.clients / (self.hosts - self.fail))

    @property
    def more(self) -> int:
        return self.after - self.before


def fleet_table(storms: Sequence[StormResult], fleet: Fleet) -> Table:
    failing = (
        f"{fleet.fail:,} of {fleet.hosts:,} hosts fail" if fleet.fail > 1 else f"one of {fleet.hosts:,} hosts fails"
    )
    title = f"{fleet.clients:,} clients, {failing}"
    caption = (
        f"{describe_origin([one.case for one in storms])} Memory of each host that stays, process "
        "and kernel; each takes over "
        f"{fleet.more:,} clients.\n\n" + "\n\n".join(map(describe_storm, storms))
    )
    columns = [Column("stack", "stack", left=True), Column("when", "", left=True), Column("connections", "connections")]
    columns += [Column("bytes", "memory"), Column("shaking", "in the handshake"), Column("at", "after")]
    made = Table("fleet", title, caption, columns)
    for storm in storms:
        made.rows += rows(storm, fleet)
    return made


def rows(storm: StormResult, fleet: Fleet) -> list[list[Cell]]:
    at, peak = storm.memory.peak
    moments = [
        ("before", fleet.before, storm.memory.start, storm.memory.shaking, None),
        ("at the peak", fleet.after, peak, storm.memory.most_shaking, at),
        ("afterwards", fleet.after, storm.memory.end, storm.memory.shaking, storm.end_s),
    ]
    made = []
    for when, count, size, shaking, time in moments:
        total = with_note(memory_cell(size), extrapolation_note(storm.case.law, count))
        after = Cell("", None) if time is None else Cell(format_seconds(time), round(time, 3))
        made.append([storm.case.name, text_cell(when), integer_cell(count), total, integer_cell(shaking), after])
    return made
