"""What builds and checks took on this machine, in seconds of CPU: the expectation of the next ones."""

import json
import os
import statistics
from collections.abc import Mapping
from pathlib import Path

FILE = "build/durations.json"


def read_durations(root: Path) -> dict[str, dict[str, float]]:
    """By name: `cpu` and `wall`, in seconds. A file that cannot be read says nothing."""
    try:
        found = json.loads((root / FILE).read_text())
        return {name: {key: float(entry[key]) for key in ("cpu", "wall")} for name, entry in found.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write_duration(root: Path, name: str, cpu_s: float, wall_s: float) -> None:
    """A figure for the next time: where it cannot be written, nothing is lost."""
    file = root / FILE
    partial = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        entries = read_durations(root) | {name: {"cpu": round(cpu_s, 1), "wall": round(wall_s, 1)}}
        partial.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)


def expected_cpu_s(priors: Mapping[str, float | None], root: Path) -> dict[str, float | None]:
    """What was recorded here; else the prior, scaled by how this machine compares with others in what was recorded."""
    recorded = read_durations(root)
    ratios = [recorded[name]["cpu"] / prior for name, prior in priors.items() if prior and name in recorded]
    scale = statistics.median(ratios) if ratios else 1.0
    return {
        name: recorded[name]["cpu"] if name in recorded else prior and prior * scale for name, prior in priors.items()
    }


TICKS = os.sysconf("SC_CLK_TCK")
PARENT, TIMES = 1, slice(11, 15)  # fields of /proc/PID/stat behind the name: utime, stime, cutime, cstime


def tree_cpu_s(top: int) -> float:
    """CPU seconds of a process and all that it started: of those that run, and of those that they have waited for."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        children.setdefault(int(fields[PARENT]), []).append(int(entry))
        used[int(entry)] = sum(map(int, fields[TIMES]))
    pending, total = [top], 0
    while pending:
        process = pending.pop()
        total += used.get(process, 0)
        pending += children.get(process, ())
    return total / TICKS
