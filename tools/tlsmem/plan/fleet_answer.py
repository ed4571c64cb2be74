"""A fleet of which some hosts fail: memory of each remaining host before, while clients come over, and after."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import find_unit, format_in, format_size, memory_cell
from tlsmem.plan.case import (
    describe_checks,
    describe_limits,
    describe_origin,
    describe_server,
    describe_tables,
    extrapolation_note,
)
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.plan.storm_answer import StormResult, describe_rates, format_seconds
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, text_cell, with_note


class Fleet(NamedTuple):
    """Clients spread evenly over hosts, of which some fail."""

    clients: int
    hosts: int
    fail: int

    @property
    def before(self) -> int:
        """Clients of a host; the fullest."""
        return math.ceil(self.clients / self.hosts)

    @property
    def after(self) -> int:
        return math.ceil(self.clients / (self.hosts - self.fail))

    @property
    def more(self) -> int:
        return self.after - self.before

    @property
    def failure(self) -> str:
        return f"{self.fail:,} of {self.hosts:,} hosts fail{'s' if self.fail == 1 else ''}"

    @property
    def title(self) -> str:
        return f"{self.clients:,} clients when {self.failure}"


class Moment(NamedTuple):
    """A host before the failure, at the peak, or afterwards."""

    when: str
    connections: int
    size: float
    handshaking: int
    seconds: float | None


def answer_fleet(storms: Sequence[StormResult], fleet: Fleet) -> Answer:
    cases = [storm.case for storm in storms]
    notes = [
        f"{fleet.more:,} clients move to each remaining host.",
        'In the first line, "at most" is for all of them in a handshake at once.',
        *describe_limits(cases, fleet.after),
        *(sentence for case in cases for sentence in describe_checks(case)),
        "",
        describe_origin(cases),
        *describe_server(cases),
        *describe_rates(storms),
        "More: --details, --fail 2, --handshaking 1%, --within 5s, -o FILE (a picture)",
    ]
    return Answer(
        [fleet_headline(storm, fleet, len(storms) > 1) for storm in storms],
        [Section(storm.case.setting, fleet_lines(storm, fleet)) for storm in storms],
        notes,
        [fleet_table(storms, fleet)],
    )


def fleet_headline(storm: StormResult, fleet: Fleet, several: bool) -> str:
    """Return what to provision on each host, and the range."""
    _, peak = storm.memory.peak
    before, most = (format_in(one, find_unit(peak)) for one in (storm.memory.start, storm.limits[1]))
    text = f"{storm.case.mark}{format_size(peak)} per host if {fleet.failure} ({before} before, {most} at most)"
    return f"{storm.case.title}: {text}" if several else f"Provision {text}"


def fleet_moments(storm: StormResult, fleet: Fleet) -> list[Moment]:
    memory, (at, peak) = storm.memory, storm.memory.peak
    return [
        Moment("before", fleet.before, memory.start, memory.shaking, None),
        Moment("at the peak", fleet.after, peak, memory.most_shaking, at),
        Moment("afterwards", fleet.after, memory.end, memory.shaking, storm.end_s),
    ]


def fleet_lines(storm: StormResult, fleet: Fleet) -> list[Line]:
    lines = []
    for moment in fleet_moments(storm, fleet):
        after = "" if moment.seconds is None else f", after {format_seconds(moment.seconds)}"
        lines.append(Line(moment.when, format_size(moment.size), f"{moment.connections:,} connections{after}"))
    lines.append(Line("concurrent handshakes", f"{storm.memory.most_shaking:,}", "at most"))
    rate = storm.rate
    lines.append(Line("handshake rate", f"{rate.total:,.0f}/s", f"{rate.cores} cores x {rate.each:,.0f}/s"))
    return lines


def fleet_table(storms: Sequence[StormResult], fleet: Fleet) -> Table:
    caption = (
        f"{describe_tables([one.case for one in storms])} Memory of process and kernel of each remaining host, to "
        f"which {fleet.more:,} clients move. {' '.join(describe_rates(storms))}"
    )
    columns = [
        Heading("stack", "stack", left=True),
        Heading("when", "", left=True),
        Heading("connections", "connections"),
    ]
    columns += [Heading("bytes", "memory"), Heading("shaking", "concurrent handshakes"), Heading("at", "after")]
    table = Table("fleet", fleet.title, caption, columns)
    for storm in storms:
        table.rows += [moment_row(storm, moment) for moment in fleet_moments(storm, fleet)]
    return table


def moment_row(storm: StormResult, moment: Moment) -> list[Cell]:
    seconds = moment.seconds
    total = with_note(memory_cell(moment.size), extrapolation_note(storm.case.model, moment.connections))
    after = Cell("", None) if seconds is None else Cell(format_seconds(seconds), round(seconds, 3))
    names = [storm.case.name, text_cell(moment.when), integer_cell(moment.connections)]
    return [*names, total, integer_cell(moment.handshaking), after]
