"""Live runs whose memory is known: what one connection adds is given, by phase."""

from tests.support import synthetic
from tlsmem.schema.live_records import SCHEMA, USUAL, LiveMeter, LiveRecord, LiveVariant, Transport, live_key

PAGE = 4096
FIXED = {"rss": 5_000_000, "heap": 700_000, "kernel": 300_000}
HEAP, RSS, SERVER_KERNEL, CLIENT_KERNEL, PAGE_TABLE = 14_148, 14_600, 3_600, 3_900, 60
HEADERS, UNWRITTEN, FREE = 300, 48, 190  # of malloc; 10 B of RSS are outside its heap


def live_record(
    connections: int,
    meter: LiveMeter = "rss",
    transport: Transport = "tls",
    window: int | None = None,
    phases: tuple[str, ...] = ("started", "established", "closed"),
    status: str = "measured",
    heap_each: int = HEAP,
    malloc: bool = False,
    stack: str | None = None,
    variant: LiveVariant = USUAL,
    cipher: str = "TLS_AES_256_GCM_SHA384",
) -> LiveRecord:
    """Every connection of `established` costs the same; when all are closed the live heap is as before, RSS stays."""

    def phase(name: str) -> dict:
        open_now = connections if name not in ("started", "closed", "settled") else 0
        resident = connections if name != "started" else 0
        server = {
            "processes": 2,
            "rss_bytes": FIXED["rss"] + 1_000_000 + RSS * resident,
            "rss_anon_bytes": FIXED["rss"] + RSS * resident,
            "page_table_bytes": 40_000 + PAGE_TABLE * resident,
            "peak_rss_bytes": FIXED["rss"] + 1_500_000 + RSS * resident,
            "live_bytes": FIXED["heap"] + heap_each * open_now if meter == "heap" else None,
            "live_blocks": 900 + 41 * open_now if meter == "heap" else None,
        }
        chunks = {
            "chunks": 900 + 41 * resident,
            "chunk_bytes": 700_000 + (HEAP + HEADERS) * resident,
            "chunk_resident_bytes": 690_000 + (HEAP + HEADERS - UNWRITTEN) * resident,
            "free_resident_bytes": 30_000 + FREE * resident,
            "free_sizes": {8208: resident // 2, 64: 3} if resident else {64: 3},
        }
        kernel = FIXED["kernel"] + 40_000 + PAGE_TABLE * resident
        return {
            "phase": name,
            "ended_s": 10.0 * (1 + phases.index(name)),
            "connections": open_now,
            "server": server,
            "server_kernel": {"kernel_bytes": kernel + SERVER_KERNEL * open_now, "tcp_bytes": 0},
            "client_kernel": {"kernel_bytes": 200_000 + (CLIENT_KERNEL - 100) * open_now, "tcp_bytes": 100 * open_now},
            "malloc": chunks if malloc and meter == "rss" else None,
        }

    fields = {
        "schema": SCHEMA,
        "server": "nginx",
        "reported": "nginx version: nginx/1.22.1",
        "program_sha256": "0" * 64,
        "configuration_sha256": f"{connections:064x}",
        "tls_library": "OpenSSL 3.0.19 27 Jan 2026",
        "stack": stack,
        "transport": transport,
        "meter": meter,
        "meter_sha256": "1" * 64 if meter == "heap" else None,
        "connections": connections,
        "window": window or connections,
        "full_bytes": 16384,
        "hollow": False,
        "client_processes": 1,
        "idle_s": 30.0,
        "settle_s": 15.0,
        "negotiated": {"protocol": variant.protocol, "cipher": cipher} if transport == "tls" else None,
        "protocol": variant.protocol if variant.protocol != USUAL.protocol else None,
        "mutual": variant.mutual,
        "resumed": variant.resumed,
        "cgroup_version": 1,
        "commit": "0" * 40,
        "dirty": False,
        "machine": synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 2).machine.model_dump(),
        "started_at": "2026-11-24T08:00:00Z",
        "elapsed_ns": 1_000_000_000,
        "status": status,
        "reason": None if status == "measured" else "the server has closed a connection",
        "samples": {"elapsed_s": [], "user_bytes": [], "kernel_bytes": []},
        "phases": [phase(name) for name in phases] if status == "measured" else [],
    }
    return LiveRecord.model_validate(fields | {"key": live_key(fields)})
