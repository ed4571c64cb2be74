"""What a connection costs a real server and the kernel: differences from the server without connections, by phase.

Live heap is exact: what a connection adds from each number of connections to the next is a quotient of whole numbers.
RSS and the kernel's bytes come in pages and slabs, so they are slopes of a line through several numbers of
connections."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from tlsmem.schema.live_records import USUAL, LiveMeter, LivePhase, LiveRecord, LiveVariant, Transport
from tlsmem.stats.missing import Missing, keep_present, map_present
from tlsmem.stats.session_cost import Line, fit_line

Kind = tuple[str, str, str | None, Transport, int | None, bool]  # of a series, but its variant
BASE = "started"  # the phase without connections, after the first have come and gone
Reading = Callable[[LivePhase], int | None]


def rss_bytes(phase: LivePhase) -> int:
    """Resident anonymous memory of the server's processes, and their page tables."""
    return phase.server.rss_anon_bytes + phase.server.page_table_bytes


def rss_anon_bytes(phase: LivePhase) -> int:
    """Resident anonymous memory of the server's processes."""
    return phase.server.rss_anon_bytes


def peak_rss_bytes(phase: LivePhase) -> int:
    """The highest RSS so far of each of the server's processes, added up."""
    return phase.server.peak_rss_bytes


def live_bytes(phase: LivePhase) -> int | None:
    return phase.server.live_bytes


def live_blocks(phase: LivePhase) -> int | None:
    return phase.server.live_blocks


def server_kernel_bytes(phase: LivePhase) -> int:
    """What the kernel holds for the server's ends, without its page tables: those are in `rss_bytes`."""
    return phase.server_kernel.kernel_bytes + phase.server_kernel.tcp_bytes - phase.server.page_table_bytes


def client_kernel_bytes(phase: LivePhase) -> int:
    return phase.client_kernel.kernel_bytes + phase.client_kernel.tcp_bytes


@dataclass(frozen=True)
class LiveSeries:
    """Runs that differ in their number of connections and meter alone. `window` is None where all handshakes of a run
    were concurrent. `reported`: the server's version, in its own words. `stack`: whose library the server was built on;
    None where it ran as it is packaged."""

    server: str
    reported: str
    stack: str | None
    transport: Transport
    window: int | None
    hollow: bool
    runs: tuple[LiveRecord, ...]
    variant: LiveVariant = USUAL

    @property
    def build(self) -> tuple[str, str, str | None]:
        """What identifies the program: the server, its version, and the stack that it was built on."""
        return self.server, self.reported, self.stack

    def measured(self, meter: LiveMeter) -> list[LiveRecord]:
        """Return the runs under the meter, fewest connections first."""
        found = (run for run in self.runs if run.meter == meter and run.status == "measured")
        return sorted(found, key=lambda run: run.connections)

    @property
    def largest(self) -> LiveRecord | None:
        """The run without the meter that has most connections."""
        return max(self.measured("rss"), key=lambda run: run.connections, default=None)

    @property
    def phases(self) -> list[str]:
        """The phases that the runs have, in order."""
        return list(dict.fromkeys(phase.phase for run in self.runs for phase in run.phases))

    def increments(self, phase: str, reading: Reading) -> dict[int, Fraction]:
        """Return what one connection adds under the heap meter, from each number of connections to the next, by the
        larger; with one number the quotient.

        What a server's pools keep of the first connections, before the first reading, is in no increment."""
        totals = {
            run.connections: found for run in self.measured("heap") if (found := added(run, phase, reading)) is not None
        }
        if len(totals) == 1:
            return {count: Fraction(found, count) for count, found in totals.items()}
        return {
            after: Fraction(totals[after] - totals[before], after - before)
            for before, after in pairwise(sorted(totals))
        }

    def line(self, phase: str, reading: Reading, meter: LiveMeter = "rss") -> Line | Missing:
        """Return the line through what connections add; Missing with fewer than two numbers of connections."""
        points = {
            run.connections: float(found)
            for run in self.measured(meter)
            if (found := added(run, phase, reading)) is not None
        }
        return fit_line(points) or Missing(
            f"a slope needs runs with two numbers of connections; there are {len(points)}"
        )


@dataclass(frozen=True)
class IdleCost:
    """What one idle connection adds, in bytes. `live`: None without the heap meter."""

    series: LiveSeries
    user: float
    kernel: float
    live: float | None

    @property
    def total(self) -> float:
        return self.user + self.kernel


def find_idle_costs(series: Iterable[LiveSeries]) -> list[IdleCost]:
    """Return the series whose slopes are known, clients that dropped TLS left out."""
    return keep_present(find_idle_cost(one) for one in series if not one.hollow)


def find_idle_cost(series: LiveSeries) -> IdleCost | Missing:
    """Return what an idle connection adds; Missing where one of the slopes is."""

    def add_live(user: Line, kernel: Line) -> IdleCost:
        live = series.increments("idle", live_bytes)
        return IdleCost(series, user.slope, kernel.slope, float(live[max(live)]) if live else None)

    return map_present(add_live, series.line("idle", rss_bytes), series.line("idle", server_kernel_bytes))


def added(run: LiveRecord, phase: str, reading: Reading) -> int | None:
    """Return by how much a reading is more in a phase than without connections; None where the run lacks it."""
    by_name = {one.phase: one for one in run.phases}
    if phase not in by_name or BASE not in by_name:
        return None
    now, before = reading(by_name[phase]), reading(by_name[BASE])
    return None if now is None or before is None else now - before


def group_live(records: Iterable[LiveRecord]) -> list[LiveSeries]:
    """Return the series of live runs with connections of the usual kind: TLS 1.3, without client certificates, each
    with a session of its own. The newest run of each kind, plain before TLS and narrow windows first."""
    return [one for one in group_variants(records) if one.variant == USUAL]


def group_variants(records: Iterable[LiveRecord]) -> list[LiveSeries]:
    """Return the series of all live runs, in the same order; those of the usual kind before others. Runs that name call
    sites have another memory: they are in no series."""
    records = [one for one in records if one.meter != "sites"]
    in_order = sorted(records, key=lambda one: (one.status == "measured", one.started_at))  # measured before failed
    newest = {one.key: one for one in in_order}
    found: dict[tuple[Kind, LiveVariant], list[LiveRecord]] = {}
    for one in newest.values():
        window = None if one.window == one.connections else one.window
        kind = (one.server, one.reported, one.stack, one.transport, window, one.hollow)
        found.setdefault((kind, one.variant), []).append(one)
    series = [LiveSeries(*kind, tuple(runs), variant) for (kind, variant), runs in found.items()]
    return sorted(
        series,
        key=lambda one: (
            *(one.server, one.stack or "", one.reported),
            *(one.transport == "tls", one.variant != USUAL, one.variant, one.window or 10**9, one.hollow),
        ),
    )


def is_constant(quotients: Sequence[Fraction]) -> bool:
    """Return whether each connection costs the same whole number of bytes, however many there are."""
    return len(set(quotients)) == 1 and quotients[0].denominator == 1


def short_version(reported: str) -> str:
    """Return `nginx/1.22.1` of what a server says of itself."""
    return reported.removeprefix("nginx version: ").partition(" - ")[0]


def name_program(run: LiveRecord) -> str:
    """Return the same of a run, with the server's name before it where a version is all that it says."""
    version = short_version(run.reported)
    return f"{run.server} {version}" if version[:1].isdigit() else version
