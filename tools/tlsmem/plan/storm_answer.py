"""A storm's answer: the peak and when it is, how long the queue gets, who waits longest, and what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from tlsmem.plan.amounts import format_size, memory_cell
from tlsmem.plan.handshake_rates import HandshakeRate
from tlsmem.plan.memory_answer import Case, describe_origin, extrapolation_note
from tlsmem.plan.storm_memory import StormMemory
from tlsmem.plan.storm_simulation import Course, Service
from tlsmem.tables.table import Cell, Column, Table, integer_cell, with_note


@dataclass(frozen=True)
class StormResult:
    """One stack's: what it stands on, and what came of it."""

    case: Case
    rate: HandshakeRate
    service: Service
    memory: StormMemory

    @property
    def course(self) -> Course:
        return self.memory.course

    @property
    def queue(self) -> tuple[float, int]:
        """When the queue is longest, and how long."""
        times = self.course.times
        lengths = self.course.queued(times)
        at = int(numpy.argmax(lengths))
        return float(times[at]), int(lengths[at])

    @property
    def last(self) -> tuple[float, float]:
        """Of who waits longest: when the first attempt was, and how long it took."""
        client = max(self.course.waits, key=self.course.waits.get, default=None)
        return (0.0, 0.0) if client is None else (self.course.first[client], self.course.waits[client])

    @property
    def mixed(self) -> bool:
        """Rates and memory of two machines."""
        return bool(self.rate.machine) and self.rate.machine != self.case.law.machine

    @property
    def end_s(self) -> float:
        """When nothing is under way any more."""
        return float(self.course.left[-1])


def format_seconds(time: float) -> str:
    return f"{time:,.2f} s" if time < 10 else f"{time:,.1f} s"


def describe_storm(storm: StormResult) -> str:
    """One stack's storm in words."""
    at, peak = storm.memory.peak
    when, length = storm.queue
    mixed = " (of another machine than memory)" if storm.mixed else ""
    first, wait = storm.last
    highest = f"the peak is {format_size(peak)} after {format_seconds(at)}"
    told = [
        f"{storm.case.law.stack}, {storm.rate.description}{mixed}: {highest}",
        f"with at most {storm.memory.most_shaking:,} in the handshake at once",
    ]
    told += (
        [f"the queue is longest after {format_seconds(when)}, with {length:,} that no core has taken"]
        if length > 1
        else []
    )
    told += (
        [f"who waits longest came after {format_seconds(first)} and waits {format_seconds(wait)}"]
        if storm.course.waits
        else []
    )
    told += [f"{format_size(storm.memory.end)} stay once all is over, after {format_seconds(storm.end_s)}"]
    return "; ".join(told) + lost(storm) + "."


def lost(storm: StormResult) -> str:
    clients = len(storm.course.first)
    if storm.course.attempts == clients:
        return ""
    more = storm.course.attempts - clients
    gone = f", and {storm.course.lost:,} clients never came in" if storm.course.lost else ""
    return (
        f"; {more:,} attempts more than clients, since they gave up after {format_seconds(storm.service.timeout)}{gone}"
    )


def storm_table(storms: Sequence[StormResult], title: str) -> Table:
    caption = f"{describe_origin([one.case for one in storms])} Process and kernel.\n\n" + "\n\n".join(
        map(describe_storm, storms)
    )
    headings = {
        "rate_per_s": "handshakes/s",
        "before_bytes": "before",
        "peak_bytes": "peak",
        "peak_s": "after",
        "most_shaking": "most in the handshake",
        "queue": "longest queue",
        "longest_wait_s": "longest wait",
        "after_bytes": "stays",
        "over_s": "over after",
        "attempts": "attempts",
    }
    columns = [Column("stack", "stack", left=True), *(Column(*one) for one in headings.items())]
    made = Table("storm", title, caption, columns)
    made.rows = [row(one) for one in storms]
    return made


def row(storm: StormResult) -> list[Cell]:
    at, peak = storm.memory.peak
    sessions = int(storm.memory.before + len(storm.course.established))
    times = [Cell(format_seconds(one), round(one, 3)) for one in (at, storm.last[1], storm.end_s)]
    rate = Cell(f"{storm.rate.total:,.0f}", round(storm.rate.total, 1), storm.rate.note)
    return [
        storm.case.name,
        rate,
        memory_cell(storm.memory.start),
        with_note(memory_cell(peak), extrapolation_note(storm.case.law, sessions)),
        times[0],
        integer_cell(storm.memory.most_shaking),
        integer_cell(storm.queue[1]),
        times[1],
        memory_cell(storm.memory.end),
        times[2],
        integer_cell(storm.course.attempts),
    ]
