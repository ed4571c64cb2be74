"""The names of tables, and what runs each needs: those of no topic here, others in their topics. Standard library only.

A table of no topic is added here and in its catalogue."""

from tlsmem.config.topic import topics

BOOKS = "RSS runs with allocator statistics, which records of schema 1 lack (make mem FRESH=1)"
TOGETHER = "clients and servers in one process (make mem without ROLES=split, KEEP, CLIENT and SERVER)"
ONE_STACK = "pairs with the same stack at both ends (make mem without CLIENT and SERVER)"
SITES = "sites runs, which use the controlled environment and glibc malloc (make mem)"
NEEDS = {  # what no run has of which the table is asked, and how it is recorded
    "settings": "runs of memory (make mem) or of time (make throughput, make handshake)",
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
}

TABLES = (*NEEDS, *(table.name for topic in topics() for table in topic.tables))


def describe_need(name: str) -> str:
    """Return what runs a table is made of, and how they are recorded."""
    return NEEDS.get(name) or next(table.needs for topic in topics() for table in topic.tables if table.name == name)
