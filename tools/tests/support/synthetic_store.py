"""Runs of the scenario churn that nobody measured, of servers that keep their sessions: entries of a known size."""

from tests.support import synthetic
from tlsmem.schema.records import RecordLine

STACK, SUITE = "openssl@3.5.5", "tls13-ecdsa-aes256-store"
PAIRS, WAVES = 10, 12
OWNERS = ("client", "server", "client_context", "server_context", "harness")
BEFORE_BYTES, BEFORE_BLOCKS = 24_184, 342  # of the server at `contexts`


def phase(
    name: str, wave: int | None, entries: int, entry: tuple[int, int], table: int, tickets: int, own: int
) -> dict:
    """One line: so many entries of (bytes, blocks), a grown table of the context's, and blocks of a session's."""
    size, blocks = BEFORE_BYTES + entries * entry[0], BEFORE_BLOCKS + entries * entry[1] + own
    counts = {owner: synthetic.heap(0, 0, 0) for owner in OWNERS}
    counts["server"] = synthetic.heap(size, blocks, size)
    counts["server_context"] = synthetic.heap(38_837 + table, 400, 38_837 + table)
    total = size + 38_837 + table
    counts["total"] = synthetic.heap(total, blocks + 400, total)
    made = {"phase": name, "process": "both", "rss_bytes": 1 << 20, "rss_anon_bytes": 1 << 20, "rss_file_bytes": 0}
    made |= {"rss_shmem_bytes": 0, "peak_rss_bytes": 1 << 20, "minor_faults": 0, "major_faults": 0, "wire_bytes": 0}
    return made | {"heap": counts, "tickets": tickets} | ({"wave": wave} if wave else {})


def store(
    entry: tuple[int, int] = (952, 2),
    most: int | None = None,
    tickets: int = 2,
    protocol: str = "TLSv1.3",
    pairs: int = PAIRS,
    waves: int = WAVES,
    table_blocks: int = 0,
    **changes,
) -> RecordLine:
    """One heap run: after each wave as many entries as sessions put in, up to the most; one is of the warm-up. The
    table may have blocks that are a session's, which has enlarged it when the store is full."""
    each = tickets if protocol == "TLSv1.3" else 1
    phases = [phase("contexts", None, 0, entry, 0, 0, 0)]
    for wave in range(1, waves + 1):
        put = wave * pairs * each
        held = put if most is None else min(put, most - each)
        table = 64 * held.bit_length()  # one block, however large
        own = table_blocks if held < put else 0
        for name in ("open", "closed"):
            phases.append(phase(name, wave, held, entry, table, wave * pairs * tickets if each == tickets else 0, own))
    phases += [phase(name, None, 0, entry, 0, 0, 0) for name in ("drained", "trimmed", "freed")]
    keys = ["pattern=waves", f"waves={waves}", "trim=off", "seed=1", "threads=1"]
    suite = [f"protocol={protocol}", "tickets=library", "store=on"]
    argv = [f"build/harness/{STACK}", "churn", f"sessions={2 * pairs}", *suite, *keys]
    same = {"scenario": "churn", "phases": phases, "argv": argv, "roles": "together"} | changes
    return synthetic.record(same.pop("stack", STACK), same.pop("suite", SUITE), 2 * pairs, "heap", **same)
