"""How many handshakes a second a server completes: from a recording of timed runs, or as given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.plan.connection_model import machine_identity
from tlsmem.stats import timed_selection
from tlsmem.stats.timed_rates import handshakes_with_construction
from tlsmem.stats.timed_selection import TimedSeries
from tlsmem.stats.timed_summary import sample_from_runs
from tlsmem.store import recordings


@dataclass(frozen=True)
class HandshakeRate:
    """Handshakes a second of one core, session creation included, and where the rate is from."""

    each: float
    cores: int
    threads: int  # that ran at once when it was measured; 0: it was given
    origin: Path | None = None
    machine: tuple = ()

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
    machine = found[0].runs()[0].machine
    cores = cores or machine.cpus
    within = [one for one in found if one.work.threads <= cores]
    series = max(within or [min(found, key=threads)], key=threads)
    seconds = [
        1 / each
        for one in (("client", "server") if role == "both" else (role,))
        if (each := rate_per_core(series, one))
    ]
    if not seconds:
        raise ValueError(
            f"{recordings.display_name(path)}: the handshake runs of {series.stack} have no times of the {role}; "
            "give a rate with --handshake-rate"
        )
    return HandshakeRate(1 / sum(seconds), cores, series.work.threads, path, machine_identity(found[0].runs()[0]))


def rate_per_core(series: TimedSeries, role: str) -> float | None:
    found = sample_from_runs(series.runs(), handshakes_with_construction(role))
    return found.median if found else None
