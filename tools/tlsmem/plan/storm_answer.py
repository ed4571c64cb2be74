"""A storm's answer: the peak and when it is, how long the queue gets, who waits longest, and what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from tlsmem.plan.amounts import memory_cell, readable
from tlsmem.plan.handshake_rates import Rate
from tlsmem.plan.memory_answer import Case, beyond, origin
from tlsmem.plan.storm_memory import Memory
from tlsmem.plan.storm_simulation import Course, Service
from tlsmem.tables.table import Cell, Column, Table, noted, whole


@dataclass(frozen=True)
class Storm:
    """One stack's: what it stands on, and what came of it."""

    case: Case
    rate: Rate
    service: Service
    memory: Memory

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
    def over(self) -> float:
        """When nothing is under way any more."""
        return float(self.course.left[-1])


def seconds(time: float) -> str:
    return f"{time:,.2f} s" if time < 10 else f"{time:,.1f} s"


def said(storm: Storm) -> str:
    """One stack's storm in words."""
    at, peak = storm.memory.peak
    when, length = storm.queue
    mixed = " (of another machine than memory)" if storm.mixed else ""
    first, wait = storm.last
    told = [
        f"{storm.case.law.stack}, {storm.rate.said}{mixed}: the peak is {readable(peak)} after {seconds(at)}",
        f"with at most {storm.memory.most_shaking:,} in the handshake at once",
    ]
    told += (
        [f"the queue is longest after {seconds(when)}, with {length:,} that no core has taken"] if length > 1 else []
    )
    told += [f"who waits longest came after {seconds(first)} and waits {seconds(wait)}"] if storm.course.waits else []
    told += [f"{readable(storm.memory.end)} stay once all is over, after {seconds(storm.over)}"]
    return "; ".join(told) + lost(storm) + "."


def lost(storm: Storm) -> str:
    clients = len(storm.course.first)
    if storm.course.attempts == clients:
        return ""
    more = storm.course.attempts - clients
    gone = f", and {storm.course.lost:,} clients never came in" if storm.course.lost else ""
    return f"; {more:,} attempts more than clients, since they gave up after {seconds(storm.service.timeout)}{gone}"


def table(storms: Sequence[Storm], title: str) -> Table:
    caption = f"{origin([one.case for one in storms])} Process and kernel.\n\n" + "\n\n".join(map(said, storms))
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


def row(storm: Storm) -> list[Cell]:
    at, peak = storm.memory.peak
    sessions = int(storm.memory.before + len(storm.course.established))
    times = [Cell(seconds(one), round(one, 3)) for one in (at, storm.last[1], storm.over)]
    rate = Cell(f"{storm.rate.all:,.0f}", round(storm.rate.all, 1), storm.rate.note)
    return [
        storm.case.name,
        rate,
        memory_cell(storm.memory.start),
        noted(memory_cell(peak), beyond(storm.case.law, sessions)),
        times[0],
        whole(storm.memory.most_shaking),
        whole(storm.queue[1]),
        times[1],
        memory_cell(storm.memory.end),
        times[2],
        whole(storm.course.attempts),
    ]
