"""The census as Prometheus reads it: the last look at each process, and how the looks went."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlsmem.census.census import ProcessCensus
from tlsmem.monitor.endpoint import Sample, render_metric

METRICS = {  # name: what it is
    "tls_census_sessions": "TLS sessions that the process holds",
    "tls_census_session_bytes": "Bytes of malloc's chunks that TLS sessions alone hold, resident or not",
    "tls_census_own_bio_bytes": "Bytes of TLS sessions that the program keeps in BIOs of its own",
    "tls_census_sockets": "TLS sessions by state of their socket: open, closed, not set or unknown",
    "tls_census_objects": "Objects of the TLS library: SSL_SESSION, X509 and BIO, those of sessions too",
    "tls_census_connections": "Established TCP connections that the process has open",
    "tls_census_rss_anon_bytes": "Resident anonymous memory",
    "tls_census_rss_part_bytes": "Resident anonymous memory by kind; the parts add up to tls_census_rss_anon_bytes",
    "tls_census_processes": "Processes of the program in which sessions were counted",
    "tls_census_looks_total": "Counts that succeeded",
    "tls_census_failed_looks_total": "Counts that failed: no process could be counted",
    "tls_census_look_seconds": "How long the last count took",
    "tls_census_last_look_timestamp_seconds": "Unix time of the last count, failed or not",
}
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Looks:
    """How the looks went: their number, how many failed, how long the last took, and when it was since 1970."""

    number: int
    failed: int
    seconds: float
    timestamp: float


def render_census(found: Sequence[ProcessCensus], programs: Sequence[str], looks: Looks) -> str:
    """Return all metrics of a look, in the text format 0.0.4 of Prometheus. `programs`: all that were ever seen."""
    sums: dict[str, Counter[Labels]] = {name: Counter() for name in METRICS}
    for process in found:
        # Two copies of one library in a process have the same labels.
        for name, labels, value in list_samples(process):
            sums[name][tuple(labels.items())] += value
    samples: dict[str, list[Sample]] = {
        name: [(dict(labels), value) for labels, value in counts.items()] for name, counts in sums.items()
    }
    processes = Counter(process.target.program for process in found)
    samples["tls_census_processes"] = [({"program": name}, processes[name]) for name in programs]
    samples["tls_census_looks_total"] = [({}, looks.number)]
    samples["tls_census_failed_looks_total"] = [({}, looks.failed)]
    samples["tls_census_look_seconds"] = [({}, round(looks.seconds, 6))]
    samples["tls_census_last_look_timestamp_seconds"] = [({}, round(looks.timestamp, 3))]
    return "".join(render_metric(name, METRICS[name], values) for name, values in samples.items() if values)


def list_samples(process: ProcessCensus) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield name, labels and value of what was found in one process."""
    head = {"program": process.target.program, "pid": str(process.target.pid)}
    for library in process.libraries:
        named = head | {"library": library.library.title}
        for group in library.groups:
            kind = named | {"role": group.role, "state": group.state}
            yield "tls_census_sessions", kind, group.count
            yield "tls_census_session_bytes", kind, group.bytes
            if group.own_bio_bytes is not None:
                yield "tls_census_own_bio_bytes", kind, group.own_bio_bytes
            for socket, count in group.sockets.items():
                yield "tls_census_sockets", kind | {"socket": socket}, count
        if not library.groups:
            yield "tls_census_sessions", named | {"role": "", "state": ""}, 0
        for name, count in library.objects.items():
            yield "tls_census_objects", named | {"kind": name}, count
    if process.connections is not None:
        yield "tls_census_connections", head, process.connections
    yield "tls_census_rss_anon_bytes", head, process.rss.anon_bytes
    for part, size in process.resident_parts.items():
        yield "tls_census_rss_part_bytes", head | {"part": part}, size
