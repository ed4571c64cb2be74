"""A recording that nobody measured: straight lines, with figures near those of OpenSSL and rustls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.schema.records import RecordLine, run_key

MIB = 1024 * 1024
STEPS = ("client 1", "server 1", "client 2", "server 2")
PHASES = ("contexts", "sessions", *STEPS, "established", "payload", "reply", "idle", "closed", "trimmed", "freed")
COUNTS = (100, 1000, 5000, 10000)
MADE = {"sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply", "idle"}


@dataclass(frozen=True)
class Shape:
    """Bytes per session of a role: created, at its peak (in which step), established; blocks when established."""

    fixed_bytes: int
    client: tuple[int, int, int]
    server: tuple[int, int, int]
    client_blocks: int
    server_blocks: int


SHAPES = {
    "openssl@3.5.5": Shape(9 * MIB, (9_000, 75_000, 64_000), (9_100, 82_000, 52_000), 240, 150),
    "rustls+aws-lc@0.23.46": Shape(8 * MIB, (11_200, 13_400, 9_200), (800, 11_200, 6_400), 60, 40),
    "boringssl@5.4.0": Shape(6 * MIB, (7_000, 30_000, 21_000), (7_000, 28_000, 19_000), 120, 90),
    "null@c": Shape(4 * MIB, (4_072, 4_072, 4_072), (4_072, 4_072, 4_072), 3, 3),
}
BOTH = ("client", "server")
PEAKS = {"client": "client 1", "server": "server 1"}


def live(sizes: tuple[int, int, int], role: str, phase: str) -> int:
    """Bytes per session at the end of the phase."""
    if phase not in MADE:
        return 0
    steps = [*STEPS, "established"]
    at, peak = (steps.index(name) if name in steps else 99 for name in (phase, PEAKS[role]))
    return sizes[0] if phase == "sessions" or at < peak else sizes[1] if at == peak else sizes[2]


def heap(bytes_now: int, blocks: int, peak: int) -> dict[str, int]:
    now = {"live_bytes": bytes_now, "live_blocks": blocks, "peak_bytes": peak, "peak_blocks": blocks}
    return now | {"cumulative_bytes": 3 * peak, "cumulative_blocks": 3 * blocks}


def heaps(shape: Shape, phase: str, pairs: int, extra: int = 0, held: Sequence[str] = BOTH) -> dict:
    """`extra` bytes are planted into the client's live heap."""
    roles = {role: heap(0, 0, 0) for role in BOTH}
    for role in held:
        now = pairs * live(getattr(shape, role), role, phase) + (extra if role == "client" else 0)
        blocks = pairs * getattr(shape, f"{role}_blocks") if phase in MADE else 0
        roles[role] = heap(now, blocks, now)
    for role in BOTH:
        roles[f"{role}_context"] = heap(50_000, 400, 50_000) if role in held else heap(0, 0, 0)
    roles["harness"] = heap(0, 0, 0)
    total = {name: sum(one[name] for one in roles.values()) for name in roles["client"]}
    return roles | {"total": total}


def phase(name: str, shape: Shape, sessions: int, meter: str, extra: int, held: Sequence[str] = BOTH) -> dict:
    """RSS is 10 % above the live heap of the roles held, in whole pages; a closed session's memory stays."""
    pairs = sessions // 2
    sizes = [sum(live(getattr(shape, role), role, one) for role in held) for one in PHASES]
    at = PHASES.index(name)
    rss = shape.fixed_bytes + pairs * (sizes[at] if name in MADE else max(sizes) if at else 0) * 11 // 10 // 4096 * 4096
    process = "both" if held == BOTH else held[0]
    made = {"phase": name, "process": process, "rss_bytes": rss, "rss_anon_bytes": rss - 3 * MIB}
    made |= {"rss_file_bytes": 3 * MIB, "rss_shmem_bytes": 0, "peak_rss_bytes": rss, "minor_faults": 0}
    made |= {"major_faults": 0, "wire_bytes": 0}
    made |= {"heap": heaps(shape, name, pairs, extra, held)} if meter != "rss" else {}
    return made | ({"sites": alike(pairs)} if meter == "sites" else {})


def alike(pairs: int) -> dict:
    """A sites run's phase in which nothing of the chosen pair is live."""
    found = {"pair": pairs // 2, "pairs": pairs, "alike": pairs, "identical": pairs, "live": []}
    return found | {"stack_bytes": {"client": None, "server": None}}


def phases_of(stack: str, sessions: int, meter: str, extra: int, roles: str, client: str | None) -> list[dict]:
    """Of a split run the client's before the server's; a run that keeps one role has no payload and no reply."""
    args = (sessions, meter, extra)
    if roles == "together":
        return [phase(name, SHAPES[stack], *args) for name in PHASES]
    if roles == "split":
        stacks = {"client": client or stack, "server": stack}
        return [phase(name, SHAPES[stacks[role]], *args, (role,)) for name in PHASES for role in BOTH]
    kept = (roles.removeprefix("keep-"),)
    made = [phase(name, SHAPES[stack], *args, kept) for name in PHASES if name not in ("payload", "reply")]
    return [one | {"process": "both"} for one in made]


ENVS = {
    "lab": [],
    "deployed": ["aslr=on", "thp=host", "threads=4"],
    "deployed-thp": ["aslr=on", "thp=host", "threads=4"],
}
ROLES = {"together": [], "split": ["role=server"], "keep-client": ["keep=client"], "keep-server": ["keep=server"]}


def peer(stack: str) -> dict:
    named = {"stack": stack, "reported": f"{stack.split('@')[0]} as it calls itself", "binary_sha256": "0" * 64}
    return named | {"source": None, "compiler": "gcc 12.2.0", "flags": "-O3", "licence": "Apache-2.0"}


def record(
    stack: str,
    suite: str,
    sessions: int,
    meter: str = "rss",
    extra: int = 0,
    roles: str = "together",
    client: str | None = None,
    env: str = "lab",
    **changes,
) -> RecordLine:
    """With a client of another stack: a mixed pair, whose roles are split."""
    roles = "split" if client else roles
    phases = changes["phases"] if "phases" in changes else phases_of(stack, sessions, meter, extra, roles, client)
    asked = [f"sessions={sessions}", "certs=memtest/certs/rsa-2048", *ROLES[roles], *ENVS[env]]
    made = {
        "schema": 2,
        "key": "0" * 16,
        "stack": stack,
        "reported": f"{stack.split('@')[0]} as it calls itself",
        "binary_sha256": "0" * 64,
        "source": None,
        "compiler": "gcc 12.2.0",
        "flags": "-O3",
        "licence": "Apache-2.0",
        "allocator": {"name": "system", "version": "glibc 2.36", "settings": None, "library": None},
        "suite": suite,
        "negotiated": {
            "protocol": "TLSv1.3",
            "cipher": "TLS_AES_256_GCM_SHA384",
            "group": "X25519MLKEM768" if suite.endswith("-pq") else "X25519",
            "group_from": "session",
            "resumed": False,
            "client_verified": True,
            "server_verified": False,
        },
        "scenario": "memory",
        "sessions": sessions,
        "window": "all",
        "meter": meter,
        "roles": roles,
        "peer": client and peer(client),
        "env": env,
        "repeat": 1,
        "argv": [f"build/harness/{stack}", "memory", *asked],
        "commit": "0123456789abcdef",
        "dirty": False,
        "machine": {
            "cpu": "Example CPU",
            "cpus": 2,
            "memory_bytes": 16 * 2**30,
            "kernel": "6.1.0",
            "os": "Debian GNU/Linux 12 (bookworm)",
            "libc": "glibc 2.36",
            "governor": None,
            "thp_host": "madvise",
        },
        "started_at": "2026-01-31T12:00:00Z",
        "elapsed_ns": 1_000_000_000,
        "status": "measured",
        "reason": None,
        "environment": {"aslr": "off", "thp": "off", "cpu": 0, "notes": []},
        "phases": phases,
    }
    return keyed(RecordLine.model_validate(made | changes))


def keyed(record: RecordLine) -> RecordLine:
    """With the key of its fields, which readers ask for."""
    return record.model_copy(update={"key": run_key(record.model_dump())})


def failed(
    stack: str, suite: str, sessions: int, reason: str, status: str = "failed", meter: str = "rss"
) -> RecordLine:
    return record(stack, suite, sessions, meter, status=status, reason=reason, phases=[], negotiated=None)


def campaign(stacks: Sequence[str], suites: Sequence[str], counts: Sequence[int] = COUNTS, **kind) -> list[RecordLine]:
    """RSS runs at every number of sessions, heap runs at the two smallest; roles, client and env as record has them."""
    pairs = [(stack, suite) for stack in stacks for suite in suites]
    rss = [record(stack, suite, sessions, **kind) for stack, suite in pairs for sessions in counts]
    metered = sorted(counts)[:2]
    return rss + [record(stack, suite, sessions, "heap", **kind) for stack, suite in pairs for sessions in metered]


def interop(stacks: Sequence[str], suite: str, counts: Sequence[int] = COUNTS) -> list[RecordLine]:
    """Every stack as server with every stack as client."""
    peers = {stack: [other if other != stack else None for other in stacks] for stack in stacks}
    runs = (campaign([stack], [suite], counts, roles="split", client=one) for stack in stacks for one in peers[stack])
    return [record for found in runs for record in found]


def scaled(record: RecordLine, factor: float, repeat: int) -> RecordLine:
    """A repeat whose RSS is this much more or less."""
    phases = [one.model_dump() for one in record.phases]
    for one in phases:
        one |= {name: round(factor * one[name]) for name in ("rss_bytes", "peak_rss_bytes")}
        one["rss_anon_bytes"] = one["rss_bytes"] - one["rss_file_bytes"]
    return keyed(RecordLine.model_validate(record.model_dump(by_alias=True) | {"phases": phases, "repeat": repeat}))


def environments(stacks: Sequence[str], suite: str, factors: dict[str, Sequence[float]]) -> list[RecordLine]:
    """RSS runs by environment; the factors are those of its repeats."""
    return [
        scaled(record(stack, suite, sessions, env=env), factor, repeat)
        for env, of_env in factors.items()
        for repeat, factor in enumerate(of_env, start=1)
        for stack in stacks
        for sessions in COUNTS
    ]


def write(recording: Path, records: Iterable[RecordLine]) -> Path:
    recording.mkdir(parents=True, exist_ok=True)
    for one in records:
        with (recording / f"{one.stack}.jsonl").open("ab") as file:
            file.write(keyed(one).to_json_line())
    return recording
