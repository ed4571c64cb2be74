"""Runs of configurations whose memory is known: what one more of a setting costs is given, by process."""

from tests.support import synthetic
from tlsmem.schema.configuration_records import SCHEMA, ConfigurationMeter, ConfigurationRecord, configuration_key

LIVE, BLINDING, RSS, LEFT = 30_000, 2_000, 40_000, 25_000  # of one certificate; LEFT: by each reload
WORKER = 500_000  # pages of a worker that it does not share with the master
SITE = 9_000
PHASES = ("started", "each name asked for", "reload 1", "reload 2")


def configuration_record(
    size: int,
    meter: ConfigurationMeter = "rss",
    setting: str = "certificates",
    kind: str | None = "rsa-2048",
    status: str = "measured",
    bend: int = 0,
    stack: str | None = "openssl@3.5.5",
) -> ConfigurationRecord:
    """One of so many. `bend`: more bytes in the largest than the others say."""

    def process(name: str, phase: str) -> dict:
        is_worker = name == "worker"
        asked = BLINDING * size * (phase == PHASES[1] and is_worker)
        free = LEFT * size * max(0, PHASES.index(phase) - 1)
        chunks = {"chunks": 10, "chunk_bytes": 10, "chunk_resident_bytes": 10, "free_resident_bytes": free}
        found = {
            "process": name,
            "rss_anon_bytes": 2_000_000 + is_worker * WORKER + RSS * size + free + asked,
            "rss_shmem_bytes": 4096,
            "pss_anon_bytes": 1_000_000 + is_worker * WORKER + (RSS * size + free) // 2 + asked,
            "page_table_bytes": 40_000,
        }
        if meter == "heap":
            live = 700_000 + LIVE * size + bend
            more = {"live_blocks": 9, "own_live_bytes": live, "mapped_bytes": 0, "mapped_shared_bytes": 4096 * size}
            return found | more | {"live_bytes": live + asked}
        return found | {"malloc": chunks | {"free_sizes": {64: 3}}}

    def phase(name: str) -> dict:
        here = [process("master", name), process("worker", name)]
        return {"phase": name, "ended_s": 1.0 + PHASES.index(name), "processes": here}

    is_measured = status == "measured"
    sites = [
        {"callers": ["ngx_palloc", "ngx_conf"], "bytes": 50_000 + SITE * size, "blocks": size},
        {"callers": ["SSL_CTX_new"], "bytes": 1_000 * size, "blocks": size},
        {"callers": ["main"], "bytes": 72_000, "blocks": 1},
    ]
    fields = {
        "schema": SCHEMA,
        "server": "nginx",
        "reported": "nginx version: nginx/1.26.3",
        "program_sha256": "0" * 64,
        "configuration_sha256": f"{size:064x}",
        "tls_library": "OpenSSL 3.5.5 27 Jan 2026",
        "stack": stack,
        "setting": setting,
        "kind": kind,
        "size": size,
        "meter": meter,
        "meter_version": {"rss": None, "heap": "1" * 64, "sites": "1.4.0"}[meter],
        "commit": "0" * 40,
        "dirty": False,
        "machine": synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 2).machine.model_dump(),
        "started_at": "2026-11-28T08:00:00Z",
        "elapsed_ns": 1_000_000_000,
        "status": status,
        "reason": None if is_measured else "nginx was not reloaded within 20 s",
        "certificates_seen": size,
        "phases": [phase(name) for name in PHASES] if is_measured and meter != "sites" else [],
        "sites": sites if is_measured and meter == "sites" else [],
    }
    return ConfigurationRecord.model_validate(fields | {"key": configuration_key(fields)})


def configuration_records(**more) -> list[ConfigurationRecord]:
    """Three sizes under both meters, and profiles of the smallest and the largest."""
    found = [configuration_record(size, meter, **more) for size in (20, 100, 200) for meter in ("rss", "heap")]
    return found + [configuration_record(size, "sites", **more) for size in (20, 200)]
