"""Recordings of stacks in use: runs with full records, by default and with low memory."""

from tests.support import planted, synthetic
from tlsmem.schema.records import RecordLine

OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
SUITE = "tls13-rsa-aes256"
ALLOCATIONS = 3  # of a server session, when it sends a full record


def with_full_records(run: RecordLine, more_bytes: int) -> RecordLine:
    """As a run with data=full, whose server sessions hold so much more once they were used."""
    phases = []
    for phase in run.phases:
        phases.append(phase)
        if phase.phase == "reply":
            phases += [used(phase, name, more_bytes, run) for name in ("full payload", "full reply", "blocked")]
    return run.model_copy(update={"phases": phases, "argv": [*run.argv, "data=full"]})


def used(phase, name: str, more_bytes: int, run: RecordLine):
    if not phase.heap:
        return phase.model_copy(update={"phase": name})
    server = phase.heap.server
    live = server.live_bytes + (more_bytes * run.sessions // 2 if server.live_bytes else 0)
    allocated = server.cumulative_blocks + ALLOCATIONS * run.sessions // 2 * (name != "full payload")
    changed = server.model_copy(
        update={"live_bytes": live, "peak_bytes": max(live, server.peak_bytes), "cumulative_blocks": allocated}
    )
    heap = phase.heap.model_copy(update={"server": changed})
    return phase.model_copy(update={"phase": name, "heap": heap.model_copy(update={"total": added(heap)})})


def recorded(stack: str, variant: str = "", more_bytes: int = 0) -> list[RecordLine]:
    runs = synthetic.campaign([stack], [SUITE + variant], roles="split")
    return [with_full_records(run, more_bytes) for run in runs]


def added(heap):
    """The total of a heap whose roles were changed: what the roles have more, the process has more."""
    roles = [getattr(heap, name) for name in heap.model_fields_set if name != "total"]
    summed = {
        key: sum(getattr(one, key) for one in roles) for key in ("live_bytes", "live_blocks", "cumulative_blocks")
    }
    return heap.total.model_copy(update=summed | {"peak_bytes": max(heap.total.peak_bytes, summed["live_bytes"])})


def record_peaks(momentary) -> RecordLine:
    """A sites run of sessions in use, with these bytes at their peaks in `client 1` alone; None: peaks without call
    stacks."""
    kind = {"suite": f"{SUITE}+tickets-library", "argv": ["memtest", "data=full"]}
    run = planted.run("sites", 200, momentary=momentary, **kind)
    phases = [one.model_copy(update={"phase": "blocked"}) if one.phase == "idle" else one for one in run.phases]
    return run.model_copy(update={"phases": phases})
