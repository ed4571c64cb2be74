"""What the heap meter and /proc say of running programs, as text that Prometheus reads."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.run.heap_page import ROLES, PageCounts
from tlsmem.run.heap_tree import RUNNING, MeteredProgram
from tlsmem.run.rss_parts import RssParts, read_rss

ESTABLISHED = "01"  # as /proc/net/tcp has it
LIVE = ("live_bytes", "live_blocks")
METRICS = {  # name: what it is; a name that ends in _total is a counter
    "tls_heap_live_bytes": "Bytes requested from the allocator and not yet freed",
    "tls_heap_live_blocks": "Blocks requested from the allocator and not yet freed",
    "tls_heap_peak_bytes": "Most live bytes at once since the program began, or since its phase did",
    "tls_heap_allocated_bytes_total": "Bytes requested since the program began",
    "tls_heap_allocated_blocks_total": "Blocks requested since the program began",
    "tls_heap_rss_anon_bytes": "Resident anonymous memory",
    "tls_heap_rss_part_bytes": "Resident anonymous memory by what it is; the parts add up to tls_heap_rss_anon_bytes",
    "tls_heap_absent_bytes": "Live bytes that are not resident: never written, or swapped out",
    "tls_heap_connections": "Established TCP connections of this local port",
}
Sample = tuple[dict[str, str], int]  # labels, value


class RoleCounts(NamedTuple):
    """What a program holds for a role: `untagged` for all of a program that names no roles."""

    program: MeteredProgram
    role: str
    counts: PageCounts


def count_connections(pid: int, port: int) -> int:
    """Return the established connections of a local port in the network namespace of the process; 0 once it is gone."""
    found = 0
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
        except OSError:
            continue
        found += sum(is_established(line, port) for line in lines)
    return found


def is_established(line: str, port: int) -> bool:
    """Return whether a line of /proc/net/tcp is such a connection: `sl local_address rem_address st ...`."""
    fields = line.split()
    return len(fields) > 3 and fields[3] == ESTABLISHED and int(fields[1].rpartition(":")[2], 16) == port


def role_counts(programs: Iterable[MeteredProgram]) -> Iterator[RoleCounts]:
    """Yield what each running program holds for each role, untagged first, without roles that never held a block."""
    for program in programs:
        if program.state == RUNNING:
            roles = program.page.roles
            for role in ROLES[:-1]:  # the last is the total
                if role == ROLES[0] or roles[role].cumulative_blocks:
                    yield RoleCounts(program, role, roles[role])


def render(programs: Iterable[MeteredProgram], connections: dict[int, int]) -> str:
    """Return all metrics of the running programs, and the number of connections by port."""
    running = [program for program in programs if program.state == RUNNING]
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for program, role, counts in role_counts(running):
        for quantity in LIVE:
            samples[f"tls_heap_{quantity}"].append((labels(program) | {"role": role}, getattr(counts, quantity)))
    for program in running:
        total = program.page.total
        samples["tls_heap_peak_bytes"].append((labels(program), total.peak_bytes))
        samples["tls_heap_allocated_bytes_total"].append((labels(program), total.cumulative_bytes))
        samples["tls_heap_allocated_blocks_total"].append((labels(program), total.cumulative_blocks))
    readings = read_rss(program.page.pid for program in running)
    for program in running:
        if isinstance(rss := readings.get(program.page.pid), RssParts):
            add_rss(samples, labels(program), rss)
    samples["tls_heap_connections"] = [({"port": str(port)}, count) for port, count in connections.items()]
    return "".join(render_metric(name, values) for name, values in samples.items() if values)


def add_rss(samples: dict[str, list[Sample]], named: dict[str, str], rss: RssParts) -> None:
    """Add what a program has resident; a part that is not known has no sample."""
    samples["tls_heap_rss_anon_bytes"].append((named, rss.anon_bytes))
    for part, size in rss.parts.items():
        if size is not None:
            samples["tls_heap_rss_part_bytes"].append((named | {"part": part}, size))
    if rss.absent_bytes is not None:
        samples["tls_heap_absent_bytes"].append((named, rss.absent_bytes))


def labels(program: MeteredProgram) -> dict[str, str]:
    """Return what tells programs apart."""
    return {"program": program.page.program, "pid": str(program.page.pid)}


def render_metric(name: str, samples: Iterable[Sample]) -> str:
    """Return one metric in the text format 0.0.4 of Prometheus."""
    kind = "counter" if name.endswith("_total") else "gauge"
    lines = [f"# HELP {name} {METRICS[name]}", f"# TYPE {name} {kind}"]
    for named, value in samples:
        inner = ",".join(f'{key}="{escape(text)}"' for key, text in named.items())
        lines.append(f"{name}{{{inner}}} {value}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return a label's value as the format writes it."""
    return re.sub(r'([\\"])', r"\\\1", text).replace("\n", r"\n")
