"""Recordings of connections as servers run them, whose memory model is known by hand."""

import json

from tests.support import synthetic
from tlsmem.schema.records import RecordLine

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
FIXED, AT_REST, IN_USE, RELEASED, H = 9_000_000, 40_000, 54_000, 21_000, 30_000  # bytes
LIVE, RELEASED_LIVE = 53_000, 20_500
DEFAULT, LOW = f"{SUITE}+tickets-library", f"{SUITE}+low-memory+tickets-library"
COUNTS = (200, 2000)


def used_run(
    variant: str,
    sessions: int,
    meter: str = "rss",
    window: int | str = 100,
    live: int = 0,
    sizes: dict | None = None,
    **kind,
) -> RecordLine:
    """A run with full records of a process a role. `sizes` are bytes of RSS a session: `peak` in the handshake, `rest`,
    `use` and `closed`; `live` is live heap in use."""
    sizes, stack = sizes or {}, kind.pop("stack", STACK)
    run = synthetic.record(stack, variant, sessions, meter, roles="split", window=window, **kind)
    run = run.model_dump(by_alias=True)
    pairs, phases = sessions // 2, []
    for phase in run["phases"]:
        phases.append(phase)
        if phase["phase"] == "reply":
            phases.append(json.loads(json.dumps(phase)) | {"phase": "blocked"})
    phases.sort(key=lambda one: one["process"] == "server")
    order = [*synthetic.PHASES[:9], "blocked", *synthetic.PHASES[9:]]
    phases.sort(key=lambda one: order.index(one["phase"]))
    for phase in phases:
        name = phase["phase"]
        state = "peak" if name == "server 1" else "rest" if order.index(name) < order.index("blocked") else "use"
        state = "closed" if name == "closed" and "closed" in sizes else state
        each = sizes.get(state, 0) if name not in ("contexts", "sessions") else 0
        size = FIXED + pairs * each
        phase |= {"rss_bytes": size, "peak_rss_bytes": size, "rss_anon_bytes": size, "rss_file_bytes": 0}
        if meter == "heap" and name == "blocked" and phase["process"] == "server":
            counts = {key: one for key, one in phase["heap"].items() if key != "total"}
            counts |= {"server": synthetic.heap(pairs * live, pairs * 40, pairs * live)}
            total = {key: sum(one[key] for one in counts.values()) for key in counts["server"]}
            phase["heap"] = counts | {"total": total}
    return RecordLine.model_validate(run | {"phases": phases, "argv": [*run["argv"], "data=full"]})


def used_runs(
    variant: str, use: int, rest: int, live: int, handshakes: bool = True, retained: float = 1.0, counts=COUNTS, **kind
) -> list[RecordLine]:
    """Few handshakes at a time, the heap, and all handshakes concurrent, of whose H a share is retained."""
    few = {"use": use, "rest": rest, "peak": rest}
    found = [used_run(variant, n, sizes=few, **kind) for n in counts]
    found += [used_run(variant, n, "heap", live=live, **kind) for n in counts]
    if handshakes:
        after = use + round(retained * H)
        every = {"use": after, "rest": after, "peak": use + H}
        found += [used_run(variant, n, window="all", sizes=every, **kind) for n in counts]
    return found


def default_runs(**kind) -> list[RecordLine]:
    return used_runs(DEFAULT, IN_USE, AT_REST, LIVE, **kind)


def low_memory_runs(**kind) -> list[RecordLine]:
    return used_runs(LOW, RELEASED, RELEASED, RELEASED_LIVE, **kind)
