"""What else went on while a run was timed: the machine, read before it and after."""

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from tlsmem.schema.timed_record import Noise

STAT, CPUINFO = Path("/proc/stat"), Path("/proc/cpuinfo")
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # of proc_stat(5), in ticks
IDLE = ("idle", "iowait", "steal")


@dataclass(frozen=True)
class MachineReading:
    """Times since the machine started, but our own, which is since the runner did."""

    at_ns: int
    load: float
    steal_ns: int
    busy_ns: int
    own_ns: int  # this runner, and the runs that it has made
    mhz: float | None  # of the run's CPUs


def take_reading(cpus: Sequence[int]) -> MachineReading:
    ticks = parse_cpu_times(STAT.read_text())
    busy = sum(count for name, count in ticks.items() if name not in IDLE)
    own = os.times()
    own_s = own.user + own.system + own.children_user + own.children_system
    frequency = parse_mhz(CPUINFO.read_text(), cpus)
    steal_ns, busy_ns = ticks["steal"] * TICK_NS, busy * TICK_NS
    return MachineReading(time.monotonic_ns(), os.getloadavg()[0], steal_ns, busy_ns, round(own_s * 1e9), frequency)


def parse_cpu_times(stat: str) -> dict[str, int]:
    """Of all CPUs together."""
    counts = [int(word) for word in stat.splitlines()[0].split()[1:]]
    return dict.fromkeys(FIELDS, 0) | dict(zip(FIELDS, counts, strict=False))


def parse_mhz(cpuinfo: str, cpus: Sequence[int]) -> float | None:
    """Their mean; not every machine says it."""
    found = dict(re.findall(r"^processor\s*: (\d+)$.*?^cpu MHz\s*: ([\d.]+)$", cpuinfo, re.MULTILINE | re.DOTALL))
    known = [float(found[str(cpu)]) for cpu in cpus if str(cpu) in found]
    return fmean(known) if known else None


def noise_between(before: MachineReading, after: MachineReading, elapsed_ns: int) -> Noise:
    """Of a run of this time, which is a little less than there is between the readings. Ticks are counted by sampling,
    our own time is not: less than nothing is nothing."""
    own_ns = after.own_ns - before.own_ns
    share = min(1.0, elapsed_ns / max(1, after.at_ns - before.at_ns))
    return Noise(
        load=before.load,
        steal_ns=max(0, round(share * (after.steal_ns - before.steal_ns))),
        busy_ns=max(0, round(share * (after.busy_ns - before.busy_ns - own_ns))),
        mhz=None if before.mhz is None or after.mhz is None else (before.mhz, after.mhz),
    )
