"""Runs of the scenario churn that nobody measured: what is live and resident after each wave is chosen."""

from collections.abc import Sequence

from tests.support import synthetic
from tlsmem.schema.records import RecordLine

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
PAIRS, SESSION_BYTES, PAGE = 200, 50_000, 4096
STATIC = 1 << 20  # RSS of the process before any wave


def phase(name: str, wave: int | None, role: str, live: int, resident: int, meter: str) -> dict:
    """One line: bytes of the role beyond those at `contexts`."""
    made = {"phase": name, "process": role, "rss_bytes": STATIC + resident, "rss_anon_bytes": STATIC + resident}
    made |= {"rss_file_bytes": 0, "rss_shmem_bytes": 0, "peak_rss_bytes": STATIC + resident + PAGE}
    made |= {"minor_faults": 0, "major_faults": 0, "wire_bytes": 0} | ({"wave": wave} if wave else {})
    if meter == "rss":
        return made
    counts = {
        one: synthetic.heap(0, 0, 0) for one in ("client", "server", "client_context", "server_context", "harness")
    }
    counts[role] = counts["total"] = synthetic.heap(1000 + live, 10, 1000 + live)
    return made | {"heap": counts}


def churn(
    left: Sequence[int], rss: Sequence[int], meter: str, pattern: str = "waves", allocator: str = "system", **changes
) -> RecordLine:
    """One run: of a server's process in each wave the live bytes that are left, and RSS while all are open."""
    waves = range(1, len(left) + 1)
    opened = PAIRS * SESSION_BYTES
    phases = [phase("contexts", None, role, 0, 0, meter) for role in ("client", "server")]
    for wave, still, resident in zip(waves, left, rss, strict=True):
        before = left[wave - 2] if wave > 1 else 0
        for name, live in (("open", opened + before), ("closed", still)):
            phases.append(phase(name, wave, "client", opened if name == "open" else 0, 2 * opened, meter))
            phases.append(phase(name, wave, "server", live, resident, meter))
    for name in ("drained", "trimmed", "freed"):
        phases += [phase(name, None, role, 0, 0, meter) for role in ("client", "server")]
    keys = [f"pattern={pattern}", f"waves={len(left)}", "trim=off", "seed=1", "threads=1"]
    argv = [f"build/harness/{STACK}", "churn", f"sessions={2 * PAIRS}", *keys]
    made = {"name": allocator, "version": None, "settings": None, "library": None}
    same = {"scenario": "churn", "phases": phases, "argv": argv, "allocator": made, "roles": "split"} | changes
    if same["roles"] == "together":
        same["phases"] = [one | {"process": "both"} for one in phases if one["process"] == "server"]
    return synthetic.record(same.pop("stack", STACK), SUITE, 2 * PAIRS, meter, **same)
