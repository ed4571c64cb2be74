"""A storm of returning clients: what to provision, how long the queue gets, who waits longest, and what stays.

How many handshakes a second a server completes is from a recording of timed runs, or as given."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy

from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.plan.amounts import find_unit, format_in, format_size, memory_cell
from tlsmem.plan.capacity import Demand
from tlsmem.plan.case import (
    QUIET,
    Case,
    describe_checks,
    describe_limits,
    describe_origin,
    describe_server,
    describe_tables,
    extrapolation_note,
)
from tlsmem.plan.connection_model import MachineIdentity
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.plan.storm_simulation import Course, Service, StormMemory, arrivals, simulate
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats import timed_selection
from tlsmem.stats.timed_rates import handshakes_with_construction
from tlsmem.stats.timed_selection import TimedSeries
from tlsmem.stats.timed_summary import sample_from_runs
from tlsmem.store import recordings
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, with_note

TITLED = 3  # stacks that a picture's title has room for
SPREAD = 0.5  # of the time until a client comes back: not all do at the same moment


@dataclass(frozen=True)
class HandshakeRate:
    """Handshakes a second of one core, session creation included, and where the rate is from."""

    each: float
    cores: int
    threads: int  # that ran at once when it was measured; 0: it was given
    origin: Path | None = None
    machine: MachineIdentity | None = None  # None: the rate was given

    @property
    def total(self) -> float:
        return self.each * self.cores

    @property
    def source(self) -> str:
        """Where it is from."""
        if not self.origin:
            return "as given"
        return f"{recordings.display_name(self.origin)}, {self.threads} thread{'s' if self.threads > 1 else ''} at once"

    @property
    def note(self) -> str | None:
        if not self.origin or self.cores <= self.threads:
            return None
        cores = f"{self.threads} core{'s' if self.threads > 1 else ''}"
        return f"extrapolated: measured on {cores}, times {self.cores / self.threads:g}"


@dataclass(frozen=True)
class StormResult:
    """The storm of one stack: what it is computed from, and what came of it."""

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
    def longest_wait(self) -> float:
        """Seconds from the first attempt of the client that waits longest."""
        return max(self.course.waits.values(), default=0.0)

    @property
    def is_mixed(self) -> bool:
        """Whether rate and memory are of two machines."""
        return self.rate.machine not in (None, self.case.model.machine)

    @property
    def end_s(self) -> float:
        """When nothing is under way any more."""
        return float(self.course.left[-1])

    @property
    def connections(self) -> int:
        """Established when all is over."""
        return self.memory.before + len(self.course.established)

    @property
    def limits(self) -> tuple[float, float]:
        """Peak memory if no handshakes were concurrent, and if as many were as may be."""
        _, peak = self.memory.peak
        clients = len(self.course.first)
        most = self.memory.end_with(self.memory.shaking + min(clients, self.service.limit or clients))
        return min(peak, self.memory.without_handshakes), max(peak, most)


def choose_rate(given: argparse.Namespace, case: Case) -> HandshakeRate:
    """Return the handshakes a second: as given, else as recorded."""
    model = case.model
    if given.handshake_rate is None:
        among = recordings.find_recordings(given.recording)
        return find_rate(model.stack, model.suite, model.role, given.cores, among)
    return HandshakeRate(given.handshake_rate, given.cores or model.machine.cpus, 0)


def run_storm(
    given: argparse.Namespace, case: Case, clients: int, before: int = 0, usual: Demand = QUIET
) -> StormResult:
    """Return the storm of so many clients on a server that has some connections before."""
    rate = choose_rate(given, case)
    patience = (given.limit, given.timeout, given.retry, given.attempts, SPREAD)
    service = Service(1 / rate.each, rate.cores, given.rtt + given.client_time, *patience)
    course = simulate(arrivals(clients, given.within, given.arrivals, given.seed), service)
    records = math.ceil(usual.flying(before) * case.price.record)
    memory = StormMemory(case.model, case.price, course, before, math.ceil(usual.shaking(before)), records)
    return StormResult(case, rate, service, memory)


def format_seconds(time: float) -> str:
    return f"{time:,.2f} s" if time < 10 else f"{time:,.1f} s"


def storm_title(clients: int, within: float) -> str:
    return f"{clients:,} clients come back within {within:g} seconds"


def storm_finding(storms: Sequence[StormResult], event: str) -> str:
    """Return the title of a picture: the event, and what each stack needs until all are back, where there is room."""
    needs = [
        f"{format_size(storm.memory.peak[1])} and {format_seconds(storm.end_s)} with {storm.case.title}"
        for storm in storms
    ]
    return f"{event}: {', '.join(needs)}" if len(needs) <= TITLED else event


def answer_storm(storms: Sequence[StormResult], clients: int, within: float) -> Answer:
    cases = [storm.case for storm in storms]
    notes = [
        *describe_range(storms),
        *describe_limits(cases, max(storm.connections for storm in storms)),
        *(sentence for case in cases for sentence in describe_checks(case)),
        "",
        describe_origin(cases),
        *describe_server(cases),
        *describe_rates(storms),
        "More: --details, --limit 1000, --cores 8, --timeout 5s, -o FILE (a picture)",
    ]
    return Answer(
        [storm_headline(storm, clients, within, len(storms) > 1) for storm in storms],
        [Section(storm.case.setting, storm_lines(storm)) for storm in storms],
        notes,
        [storm_table(storms, storm_title(clients, within))],
    )


def format_range(storm: StormResult) -> str:
    """Return the least and the most memory; nothing where both are the same as printed."""
    unit = find_unit(storm.memory.peak[1])
    least, most = (format_in(one, unit) for one in storm.limits)
    return "" if least == most else f" ({least} to {most})"


def describe_range(storms: Sequence[StormResult]) -> list[str]:
    """Say what the ranges in the first lines are; nothing where none is printed."""
    if not any(map(format_range, storms)):
        return []
    most = "as many as --limit allows" if storms[0].service.limit else "all clients in a handshake at once"
    return [f"Range: from no concurrent handshakes to {most}."]


def storm_headline(storm: StormResult, clients: int, within: float, several: bool) -> str:
    """Return what to provision, and the range."""
    _, peak = storm.memory.peak
    limits = format_range(storm)
    if several:
        return f"{storm.case.title}: {storm.case.mark}{format_size(peak)} for {clients:,} returning clients{limits}"
    return f"Provision {storm.case.mark}{format_size(peak)} for {clients:,} clients back within {within:g} s{limits}"


def storm_lines(storm: StormResult) -> list[Line]:
    """Return when and why the peak is, and what the clients see of it."""
    at, _ = storm.memory.peak
    when, length = storm.queue
    price, most = storm.case.price, storm.memory.most_shaking
    added = storm.memory.end_with(most) - storm.memory.without_handshakes
    state = "at rest" if storm.case.is_at_rest else "in use"
    lines = [
        Line(f"RSS {state}", f"{price.tls:,} B", f"per connection; kernel {price.kernel:,} B"),
        Line("concurrent handshakes", f"{most:,}", f"at most; they add {format_size(added)}"),
        Line("peak after", format_seconds(at)),
        Line("longest queue", f"{length:,}", f"clients, after {format_seconds(when)}"),
        Line("longest wait", format_seconds(storm.longest_wait), "until the handshake is complete"),
        Line("over after", format_seconds(storm.end_s), f"{format_size(storm.memory.end)} stays"),
        Line("handshake rate", f"{storm.rate.total:,.0f}/s", f"{storm.rate.cores} cores x {storm.rate.each:,.0f}/s"),
    ]
    clients = len(storm.course.first)
    if storm.course.attempts > clients:
        lost = f"; {storm.course.lost:,} clients gave up" if storm.course.lost else ""
        lines.append(Line("attempts", f"{storm.course.attempts:,}", f"of {clients:,} clients{lost}"))
    return lines


def describe_rates(storms: Sequence[StormResult]) -> list[str]:
    """Return where the handshake rates are from."""
    sentences: dict[str, list[str]] = {}
    for storm in storms:
        mixed = ", on another machine than the memory" if storm.is_mixed else ""
        note = f"; {storm.rate.note}" if storm.rate.note else ""
        sentences.setdefault(f"{storm.rate.source}{mixed}{note}", []).append(storm.case.title)
    if len(sentences) == 1:
        return [f"Handshake rate: {how}." for how in sentences]
    return [f"Handshake rate of {', '.join(names)}: {how}." for how, names in sentences.items()]


HEADINGS = {
    "rate_per_s": "handshakes/s",
    "before_bytes": "before",
    "peak_bytes": "peak",
    "peak_s": "peak after",
    "most_shaking": "most concurrent handshakes",
    "queue": "longest queue",
    "longest_wait_s": "longest wait",
    "after_bytes": "stays",
    "over_s": "over after",
    "attempts": "attempts",
}


def storm_table(storms: Sequence[StormResult], title: str) -> Table:
    caption = f"{describe_tables([one.case for one in storms])} Memory of process and kernel. "
    caption += " ".join(describe_rates(storms))
    columns = [Heading("stack", "stack", left=True), *(Heading(*one) for one in HEADINGS.items())]
    table = Table("storm", title, caption, columns)
    table.rows = [storm_row(one) for one in storms]
    return table


def storm_row(storm: StormResult) -> list[Cell]:
    at, peak = storm.memory.peak
    times = [Cell(format_seconds(one), round(one, 3)) for one in (at, storm.longest_wait, storm.end_s)]
    rate = Cell(f"{storm.rate.total:,.0f}", round(storm.rate.total, 1), storm.rate.note)
    return [
        storm.case.name,
        rate,
        memory_cell(storm.memory.start),
        with_note(memory_cell(peak), extrapolation_note(storm.case.model, storm.connections)),
        times[0],
        integer_cell(storm.memory.most_shaking),
        integer_cell(storm.queue[1]),
        times[1],
        memory_cell(storm.memory.end),
        times[2],
        integer_cell(storm.course.attempts),
    ]


def find_rate(stack: str, suite: str, role: str, cores: int | None, among: Sequence[Path]) -> HandshakeRate:
    """Return the rate that was measured with most of the cores at once; of several such, the newest recording's.

    Cores: as many as the recording's machine had, unless given. Raises ValueError when there is none."""
    rates: list[HandshakeRate] = []
    for path in among:
        runs = [one for one in recordings.load_stack(path, stack) if one.scenario == "handshake" and one.suite == suite]
        found = [one for one in timed_selection.select(runs).every() if one.runs() and plain(one)] if runs else []
        if found:
            rates.append(measured_rate(found, role, cores, path))
    if rates:
        return max(rates, key=lambda rate: min(rate.threads, rate.cores))  # the first of equals
    command = f"make handshake STACKS={stack} SUITES={suite}"
    is_possible = advise_recording(AS_DEPLOYED, stack, suite)
    how = f"record it: {command}" if is_possible.command else f"it {is_possible.sentence}"
    raise ValueError(f"no handshake rate of {stack} in {suite} is recorded; give one with --handshake-rate, or {how}")


def threads(series: TimedSeries) -> int:
    return series.work.threads


def plain(series: TimedSeries) -> bool:
    return (series.work.allocator, series.work.cpu) == ("system", "all")


def measured_rate(found: Sequence[TimedSeries], role: str, cores: int | None, path: Path) -> HandshakeRate:
    """With as many threads as there are cores, or the most that were measured below that; else the fewest."""
    machine = MachineIdentity.from_record(found[0].runs()[0])
    cores = cores or machine.cpus
    within = [one for one in found if one.work.threads <= cores]
    series = max(within or [min(found, key=threads)], key=threads)
    rates = (rate_per_core(series, one) for one in ROLES if role in (one, "both"))
    seconds = [1 / rate for rate in rates if rate]
    if not seconds:
        raise ValueError(
            f"{recordings.display_name(path)}: the handshake runs of {series.stack} have no times of the {role}; "
            "give a rate with --handshake-rate"
        )
    machine = MachineIdentity.from_record(found[0].runs()[0])
    return HandshakeRate(1 / sum(seconds), cores, series.work.threads, path, machine)


def rate_per_core(series: TimedSeries, role: Role) -> float | None:
    found = sample_from_runs(series.runs(), handshakes_with_construction(role))
    return found.median if found else None
