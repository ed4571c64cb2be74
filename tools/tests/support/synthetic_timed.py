"""Timed runs that nobody made: each interval of a part takes just what its stack's figures say, times a factor."""

from collections.abc import Iterable, Sequence

from tests.support import synthetic
from tlsmem.config import timed_matrix
from tlsmem.schema import timed_record
from tlsmem.schema.records import RecordLine

MIB = 1024 * 1024
ROUNDS = {"handshake": 512, "throughput": 64}
HANDSHAKE = {  # ns of one interval
    "openssl@3.5.5": {"client_new": 50_000, "client": 400_000, "client_free": 8_000}
    | {"server_new": 40_000, "server": 500_000, "server_free": 10_000},
    "rustls+aws-lc@0.23.46": {"client_new": 25_000, "client": 200_000, "client_free": 4_000}
    | {"server_new": 2_000, "server": 400_000, "server_free": 5_000},
    "boringssl@5.4.0": {"client_new": 30_000, "client": 250_000, "client_free": 6_000}
    | {"server_new": 20_000, "server": 800_000, "server_free": 7_000},
}
TRANSFER = {  # ns of one MiB: 4,000 and 5,000 MiB/s, ...
    "openssl@3.5.5": {"send": 250_000, "receive": 200_000, "seal": 200_000},
    "rustls+aws-lc@0.23.46": {"send": 200_000, "receive": 250_000, "seal": 160_000},
    "boringssl@5.4.0": {"send": 400_000, "receive": 500_000, "seal": 320_000},
}
OWN = {"wire_write": 10_000, "wire_read": 8_000, "clock": 40}  # the harness's, of one round
FAULTS = {"client": 4, "server": 6, "send": 16, "receive": 0}  # of one interval


def part(name: str, intervals: dict[int, int], size: int | None = None) -> dict:
    """Of nanoseconds and how many intervals took them; each moves `size` bytes."""
    made = {"part": name, "count": sum(intervals.values()), "total_ns": sum(ns * n for ns, n in intervals.items())}
    made |= {"bytes": size * made["count"]} if size and name not in OWN else {}
    made |= {"faults": 64 * FAULTS[name], "faults_count": 64} if name in FAULTS else {}
    return made | (
        {"histogram": timed_record.encode_histogram(intervals.items())} if name not in OWN and name != "seal" else {}
    )


def timing(thread: int, parts: Iterable[dict], rounds: int, resumed: bool = False) -> dict:
    parts = list(parts)
    named = {"thread": thread, "cpu": thread % 2, "rounds": rounds, "resumed": rounds if resumed else 0}
    return named | {"elapsed_ns": sum(one["total_ns"] for one in parts), "preempted": thread, "parts": parts}


def moved(size: int) -> int:
    """Bytes of a round."""
    return timed_matrix.writes_per_round(size) * size


def intervals_of(stack: str, scenario: str, size: int, factor: float, tail: dict[int, int]) -> dict[str, dict]:
    """By part, one thread's; a tail (multiples of the time to how many intervals) is in addition to the rounds."""
    known = HANDSHAKE if scenario == "handshake" else TRANSFER
    each = known.get(stack) or known["openssl@3.5.5"]
    share = moved(size) / MIB if scenario == "throughput" else 1
    found = {name: round(ns * share * factor) for name, ns in each.items()}
    made = {name: {ns: ROUNDS[scenario]} | {many * ns: n for many, n in tail.items()} for name, ns in found.items()}
    return made | {name: {ns: ROUNDS[scenario]} for name, ns in OWN.items()}


def record(
    stack: str,
    suite: str,
    scenario: str = "handshake",
    repeat: int = 1,
    threads: int = 1,
    factor: float = 1.0,
    size: int = MIB,
    tail: dict[int, int] | None = None,
    without: Sequence[str] = (),
    **changes,
) -> RecordLine:
    """`factor`: of all times; `without`: parts that this driver has not."""
    parts = intervals_of(stack, scenario, size, factor, tail or {})
    sent = moved(size) if scenario == "throughput" else None
    made = [part(name, intervals, sent) for name, intervals in parts.items() if name not in without]
    resumed = suite.endswith(("-id", "-ticket"))
    count = ROUNDS[scenario]
    timings = [timing(thread, made, count, resumed) for thread in range(threads)]
    asked = [f"rounds={count}", "certs=memtest/certs/rsa-2048", f"threads={threads}"]
    asked += [f"size={size}"] if sent else []
    fields = {"schema": 3, "scenario": scenario, "meter": "time", "phases": [], "repeat": repeat, "threads": threads}
    fields |= {"rounds": count, "timings": timings, "noise": noise()}
    fields |= {"size_bytes": size} if sent else {}
    fields |= {"argv": [f"build/harness/{stack}", scenario, *asked, f"cpus={','.join(map(str, range(threads)))}"]}
    return synthetic.record(stack, suite, 2 * threads, **(fields | changes))


def noise(load: float = 0.1, steal_ns: int = 0, busy_ns: int = 0, mhz: Sequence[float] = (3000.0, 3000.0)) -> dict:
    return {"load": load, "steal_ns": steal_ns, "busy_ns": busy_ns, "mhz": tuple(mhz)}


def failed(stack: str, suite: str, reason: str, status: str = "failed", **kind) -> RecordLine:
    """Or unsupported."""
    nothing = {"timings": None, "noise": None, "negotiated": None}
    return record(stack, suite, status=status, reason=reason, **nothing, **kind)


FACTORS = (1.0, 1.002, 0.998, 1.004, 0.996)  # of the repeats: the median is the first


def campaign(
    stacks: Sequence[str],
    suites: Sequence[str],
    scenario: str = "handshake",
    factors: Sequence[float] = FACTORS,
    threads: Sequence[int] = (1,),
    **kind,
) -> list[RecordLine]:
    """A repeat for each factor, interleaved over stacks."""
    return [
        record(stack, suite, scenario, repeat, count, factor, **kind)
        for suite in suites
        for repeat, factor in enumerate(factors, start=1)
        for count in threads
        for stack in stacks
    ]


def counted(
    stack: str, suite: str, scenario: str = "handshake", parts: dict[str, float] | None = None, **kind
) -> RecordLine:
    """A run under callgrind: instructions of one round, by part."""
    made = {"tool": "valgrind 3.19.0, callgrind", "hides": "AVX-512, VAES", "rounds": (8, 16), "parts": parts or {}}
    return record(stack, suite, scenario, **({"meter": "instructions", "timings": None, "instructions": made} | kind))
