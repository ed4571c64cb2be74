"""Recordings of sessions that hold their peers' certificates: so many bytes more than those without."""

from tests.support import synthetic
from tests.support.in_use import added
from tlsmem.schema.records import RecordLine

HOLDING = ("established", "payload", "reply", "idle")  # phases


def recorded(stack: str, suite: str, more: dict[str, int], kept: int = 0) -> list[RecordLine]:
    """Return heap runs of the suite, and RSS runs with 100 handshakes at a time, with `more` bytes a session of a role
    from `established` to `idle`, and the bytes that a server keeps of one that is closed."""
    runs = synthetic.campaign([stack], [suite], (200, 2000), roles="split")
    windowed = (run.model_copy(update={"window": 100}) if run.meter == "rss" else run for run in runs)
    return [plant(run, more, kept) for run in windowed]


def plant(run: RecordLine, more: dict[str, int], kept: int) -> RecordLine:
    pairs, phases, began = run.sessions // 2, [], False
    for phase in run.phases:
        began |= phase.phase == HOLDING[0]
        held = more.get(phase.process, 0) if phase.phase in HOLDING else 0
        held += kept if (phase.process, phase.phase) == ("server", "closed") else 0
        ever = more.get(phase.process, 0) + kept if began else 0
        phases.append(enlarge(phase, held * pairs, ever * pairs, pairs))
    return synthetic.keyed(run.model_copy(update={"phases": phases}))


def enlarge(phase, size: int, ever: int, pairs: int):
    """With so many bytes more live, a block a session, and resident; and with so many more that ever were."""
    if not phase.heap:
        names = ("rss_bytes", "rss_anon_bytes", "peak_rss_bytes")
        return phase.model_copy(update={name: getattr(phase, name) + size for name in names})
    owner = getattr(phase.heap, phase.process)
    live = {"live_bytes": owner.live_bytes + size, "live_blocks": owner.live_blocks + (pairs if size else 0)}
    live |= {"peak_bytes": max(owner.peak_bytes, owner.live_bytes + size)}
    live |= {
        "cumulative_bytes": owner.cumulative_bytes + ever,
        "cumulative_blocks": owner.cumulative_blocks + 2 * pairs,
    }
    heap = phase.heap.model_copy(update={phase.process: owner.model_copy(update=live)})
    ever_bytes = heap.total.cumulative_bytes + ever
    total = added(heap).model_copy(update={"cumulative_bytes": ever_bytes})
    return phase.model_copy(update={"heap": heap.model_copy(update={"total": total})})
