"""The names of tables, and what runs each needs. A table is added here and in its catalogue. Standard library only."""

BOOKS = "RSS runs with allocator statistics, which records of schema 1 lack (make mem FRESH=1)"
TOGETHER = "clients and servers in one process (make mem without ROLES=split, KEEP, CLIENT and SERVER)"
ONE_STACK = "pairs with the same stack at both ends (make mem without CLIENT and SERVER)"
SITES = "sites runs, which use the controlled environment and glibc malloc (make mem)"
NEEDS = {  # what no run has of which the table is asked, and how it is recorded
    "settings": "runs",
    "stacks": f"runs in the controlled environment (ENV=lab or both) of {ONE_STACK}",
    "in-use": "runs with full records (tools/tls-memtest measure deployed-config, or make mem DATA=full)",
    "peaks": f"RSS runs of {TOGETHER}",
    "published": f"RSS runs of {TOGETHER}, of stacks and suites of data/published (tools/tls-memtest measure 2023)",
    "account": f"RSS runs of {TOGETHER}, of OpenSSL 3.2.0 or rustls 0.22.0 (tools/tls-memtest measure 2023-account)",
    "heap": f"runs in the controlled environment (ENV=lab or both) of {ONE_STACK}",
    "rss": TOGETHER,
    "roles": "clients or servers in a process of their own, of one stack (make mem ROLES=split, or KEEP=server)",
    "c10k": ONE_STACK,
    "interop": "mixed pairs (tools/tls-memtest measure interop)",
    "deployed": "pairs of one stack in the controlled environment and with default system settings (make mem ENV=both)",
    "runtime": "RSS runs of a stack whose runtime keeps statistics of its own (make mem STACKS=go@1.27.4)",
    "waterfall": BOOKS,
    "accounts": BOOKS,
    "bends": "a nonlinear line, and all are straight",
    "sites": SITES,
    "closings": SITES,
    "buckets": SITES,
    "call-sites": SITES,
    "law": TOGETHER,
    "chains": "runs of servers with and without client certificates (tools/tls-memtest measure chains)",
    "chain-keys": "runs with client certificates of several kinds of keys (tools/tls-memtest measure chains)",
    "client-certificates": "runs in which each client has its own certificate (tools/tls-memtest measure chains-each)",
    "tickets": "heap runs of full records with and without tickets (tools/tls-memtest measure resumption)",
    "resumed": "heap runs of full records whose sessions are resumed (tools/tls-memtest measure resumption-resumed)",
    "c1m": "a large run by windows with one role kept, and two smaller ones (make c1m)",
    "post-quantum": "runs with ML-DSA certificates (tools/tls-memtest measure post-quantum)",
    "key-exchange": "runs of several groups with RSA-2048 certificates (tools/tls-memtest measure post-quantum)",
}

HANDSHAKES = "runs of the scenario handshake (make handshake)"
ANY = "timed runs (make throughput, make handshake)"
TIMED_NEEDS = {  # of timed runs
    "settings": ANY,
    "factor": f"{ANY} of two stacks",
    "transfer": "runs of the scenario throughput (make throughput)",
    "handshakes": HANDSHAKES,
    "sessions": HANDSHAKES,
    "configurations": f"{ANY} of one library that differ in one setting (make throughput ALLOCATOR=jemalloc)",
    "threads": "timed runs with several numbers of threads (make threads)",
    "latency": ANY,
    "instructions": "runs under callgrind (make throughput, make handshake)",
    "harness": ANY,
    "noise": ANY,
}
ADVISORIES = "runs of the scenario stall of memtest/advisories.toml (tools/tls-memtest measure advisories)"
SCENARIO_NEEDS = {
    "stall": "runs of the scenario stall (tools/tls-memtest measure stall)",
    "hello": "runs of the scenario stall at points of large ClientHellos (tools/tls-memtest measure stall)",
    "advisories": ADVISORIES,
    "advisory-list": ADVISORIES,
    "churn": "runs of the scenario churn (tools/tls-memtest measure churn)",
    "contexts": "runs of the scenario contexts (tools/tls-memtest measure contexts)",
    "resumption": "waves of sessions with a store (tools/tls-memtest measure resumption-stores)",
}
CERTIFICATES = (
    "runs with client certificates (tools/tls-memtest measure certificates) or of roots and names "
    "(tools/tls-memtest measure certificates-contexts)"
)
JOINT_NEEDS = {  # of all runs of memory, whatever their scenario; shown to who asks
    "certificates": CERTIFICATES,
    "certificate-sites": CERTIFICATES,
}
TABLES = tuple(dict.fromkeys([*NEEDS, *SCENARIO_NEEDS, *JOINT_NEEDS, *TIMED_NEEDS]))
