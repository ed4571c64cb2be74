"""What the heap meter and /proc say of running programs, as text that Prometheus reads."""

import re
from collections import Counter
from collections.abc import Iterable

from tlsmem.monitor.connections import live_by_role
from tlsmem.monitor.rss_parts import RssParts, read_rss
from tlsmem.monitor.sums import sum_live
from tlsmem.monitor.tree import ENDED, RUNNING, MeteredProgram

METRICS = {  # name: what it is; a name that ends in _total is a counter
    "tls_heap_live_bytes": "Bytes that the process requested from the allocator and has not freed",
    "tls_heap_live_blocks": "Blocks that the process requested from the allocator and has not freed",
    "tls_heap_inherited_bytes": "Bytes that the process inherited at its fork and has not freed",
    "tls_heap_all_live_bytes": "Live bytes of all programs together; what was inherited counts once",
    "tls_heap_growth_bytes": "Live bytes, without contexts, above those at the reading with the fewest connections",
    "tls_heap_growth_connections": "Connections above the fewest that were seen",
    "tls_heap_peak_bytes": "Most live bytes at once since the program began, or since its phase did",
    "tls_heap_allocated_bytes_total": "Bytes requested since the program began",
    "tls_heap_allocated_blocks_total": "Blocks requested since the program began",
    "tls_heap_rss_anon_bytes": "Resident anonymous memory",
    "tls_heap_rss_part_bytes": "Resident anonymous memory by what it is; the parts add up to tls_heap_rss_anon_bytes",
    "tls_heap_absent_bytes": "Live bytes that are not resident: never written, or swapped out",
    "tls_heap_mapped_bytes": "Private anonymous memory that the program took from the OS past malloc, and may use",
    "tls_heap_connections": "Established TCP connections of this local port",
    "tls_heap_processes": "Processes of a program that run under the meter",
    "tls_heap_ended_total": "Processes of a program that have ended",
}
Sample = tuple[dict[str, str], int]  # labels, value


def render(programs: list[MeteredProgram], connections: dict[int, int], growth: tuple[int, int] | None) -> str:
    """Return all metrics of the running programs, the number of connections by port, and the bytes and connections of
    `ConnectionGrowth.above`."""
    running = [program for program in programs if program.state == RUNNING]
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for one in live_by_role(running):
        samples["tls_heap_live_bytes"].append((labels(one.program) | {"role": one.role}, one.bytes))
        samples["tls_heap_live_blocks"].append((labels(one.program) | {"role": one.role}, one.blocks))
    if running:
        samples["tls_heap_all_live_bytes"].append(({}, sum_live(running).bytes))
    if growth:
        samples["tls_heap_growth_bytes"].append(({}, growth[0]))
        samples["tls_heap_growth_connections"].append(({}, max(growth[1], 0)))
    for program in running:
        total = program.page.total
        samples["tls_heap_inherited_bytes"].append((labels(program), program.page.inherited_live[0]))
        samples["tls_heap_mapped_bytes"].append((labels(program), program.page.mapped.private))
        samples["tls_heap_peak_bytes"].append((labels(program), total.peak_bytes))
        samples["tls_heap_allocated_bytes_total"].append((labels(program), total.cumulative_bytes))
        samples["tls_heap_allocated_blocks_total"].append((labels(program), total.cumulative_blocks))
    readings = read_rss(program.page.pid for program in running)
    for program in running:
        if isinstance(rss := readings.get(program.page.pid), RssParts):
            add_rss(samples, labels(program), rss)
    samples["tls_heap_connections"] = [({"port": str(port)}, count) for port, count in connections.items()]
    titles = dict.fromkeys(program.page.program for program in programs)
    for name, state in (("tls_heap_processes", RUNNING), ("tls_heap_ended_total", ENDED)):
        processes = Counter(program.page.program for program in programs if program.state == state)
        samples[name] = [({"program": title}, processes[title]) for title in titles]
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
        lines.append(f"{name}{{{inner}}} {value}" if named else f"{name} {value}")
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return a label's value as the format writes it."""
    return re.sub(r'([\\"])', r"\\\1", text).replace("\n", r"\n")
