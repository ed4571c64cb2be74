"""The flat tables of a recording: their columns, and where in a line each stands. columns.py takes the first two tables
from records that were checked; DuckDB derives all of them from their lines, by the queries here.

RUNS has a row a run, PHASES one a phase of a run, and SITES one a phase of a sites run; CALLSTACKS one a sites run.
Files of live runs have LIVE, a row a phase of a run, and SAMPLES, one a reading between phases. `run` is the run's
place in its file and `position` that of a phase or reading in its run, both from 0. NULL is what a line does not
have."""

from collections.abc import Mapping

VERSION = 9  # of these tables: one higher whenever a column changes
OWNERS = ("client", "server", "client_context", "server_context", "harness", "total")
COUNTS = ("live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "cumulative_bytes", "cumulative_blocks")
INTEGER, REAL, TEXT, JSON, BOOLEAN = "BIGINT", "DOUBLE", "VARCHAR", "JSON", "BOOLEAN"

RUN_COLUMNS: Mapping[str, str] = {
    "digest": TEXT,  # of the line
    "schema": INTEGER,
    "key": TEXT,
    "stack": TEXT,
    "reported": TEXT,
    "binary_sha256": TEXT,
    "source": JSON,
    "meter_sha256": TEXT,
    "compiler": TEXT,
    "flags": TEXT,
    "licence": TEXT,
    "allocator": JSON,
    "suite": TEXT,
    "negotiated": JSON,
    "scenario": TEXT,
    "sessions": INTEGER,
    "window": TEXT,
    "meter": TEXT,
    "roles": TEXT,
    "peer": JSON,
    "env": TEXT,
    "cpu_features": JSON,
    "repeat": INTEGER,
    "argv": f"{TEXT}[]",
    "commit": TEXT,
    "dirty": BOOLEAN,
    "machine": JSON,
    "path": TEXT,
    "started_at": TEXT,
    "elapsed_ns": INTEGER,
    "status": TEXT,
    "reason": TEXT,
    "environment": JSON,
    "threads": INTEGER,
    "rounds": INTEGER,
    "size_bytes": INTEGER,
    "sealed": TEXT,
    "timings": JSON,
    "noise": JSON,
    "instructions": JSON,
}
PHASE_COLUMNS: Mapping[str, str] = {
    "phase": TEXT,
    "process": TEXT,
    "rss_bytes": INTEGER,
    "rss_anon_bytes": INTEGER,
    "rss_file_bytes": INTEGER,
    "rss_shmem_bytes": INTEGER,
    "peak_rss_bytes": INTEGER,
    "minor_faults": INTEGER,
    "major_faults": INTEGER,
    "wire_bytes": INTEGER,
    "phase_minor_faults": INTEGER,
    "phase_major_faults": INTEGER,
    "vm_data_bytes": INTEGER,
    "rollup_rss_bytes": INTEGER,
    "rollup_anon_bytes": INTEGER,
    "huge_bytes": INTEGER,
    "allocator": JSON,
    "client_sent_bytes": INTEGER,
    "server_sent_bytes": INTEGER,
    "tickets": INTEGER,
    "received_bytes": INTEGER,
    "wave": INTEGER,
}
HEAP_COLUMNS = {f"{owner}_{count}": f"heap.{owner}.{count}" for owner in OWNERS for count in COUNTS}
PAIR_COLUMNS = {  # of the chosen pair of a sites run
    "pair": "sites.pair",
    "pairs": "sites.pairs",
    "alike_pairs": "sites.alike",
    "identical_pairs": "sites.identical",
    "client_stack_bytes": "sites.stack_bytes.client",
    "server_stack_bytes": "sites.stack_bytes.server",
    "client_pair_peak_bytes": "sites.peak_bytes.client",
    "server_pair_peak_bytes": "sites.peak_bytes.server",
}
LIVE_BLOCKS = f"STRUCT(role {TEXT}, since {TEXT}, stack {INTEGER}, blocks {INTEGER}, bytes {INTEGER})[]"
TEMPORARY_BLOCKS = f"STRUCT(role {TEXT}, stack {INTEGER}, blocks {INTEGER}, bytes {INTEGER})[]"
FRAMES = f'STRUCT("function" {TEXT}, file {TEXT}, line {INTEGER}, module {TEXT}, "offset" {INTEGER})[]'


def struct(fields: Mapping[str, str]) -> str:
    """Return DuckDB's type of an object with these fields, by their types."""
    return "STRUCT(" + ", ".join(f'"{name}" {kind}' for name, kind in fields.items()) + ")"


ROLES = struct(dict.fromkeys(("client", "server"), INTEGER))
PAIR = dict.fromkeys(("pair", "pairs", "alike", "identical"), INTEGER) | {"stack_bytes": ROLES, "peak_bytes": ROLES}
BLOCKS = {"live": LIVE_BLOCKS, "temporary": TEMPORARY_BLOCKS, "peak": LIVE_BLOCKS}
HEAPS = struct(dict.fromkeys(OWNERS, struct(dict.fromkeys(COUNTS, INTEGER))))
PHASES = struct({**PHASE_COLUMNS, "heap": HEAPS, "sites": struct(PAIR | BLOCKS)})
LINE: Mapping[str, str] = {
    **RUN_COLUMNS,
    "phases": f"{PHASES}[]",
    "sites": struct({"frames": FRAMES, "stacks": f"{INTEGER}[][]"}),
}
LIVE_RUN_COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("digest", "key", "server", "reported", "program_sha256", "configuration_sha256"), TEXT),
    **dict.fromkeys(("tls_library", "stack", "role", "transport", "protocol", "meter", "meter_sha256"), TEXT),
    **dict.fromkeys(("schema", "connections", "window", "full_bytes", "client_processes", "cgroup_version"), INTEGER),
    **dict.fromkeys(("hollow", "ktls", "mutual", "resumed", "dirty"), BOOLEAN),
    **dict.fromkeys(("idle_s", "settle_s"), REAL),
    **dict.fromkeys(("negotiated", "machine", "sites"), JSON),
    **dict.fromkeys(("commit", "started_at", "status", "reason"), TEXT),
    "elapsed_ns": INTEGER,
}
LIVE_PHASE_COLUMNS = {  # what each is of a phase
    "phase": "phase",
    "ended_s": "ended_s",
    "open_connections": "connections",
    "processes": "server.processes",
    "rss_bytes": "server.rss_bytes",
    "rss_anon_bytes": "server.rss_anon_bytes",
    "page_table_bytes": "server.page_table_bytes",
    "peak_rss_bytes": "server.peak_rss_bytes",
    "live_bytes": "server.live_bytes",
    "live_blocks": "server.live_blocks",
    "server_kernel_bytes": "server_kernel.kernel_bytes",
    "server_tcp_bytes": "server_kernel.tcp_bytes",
    "client_kernel_bytes": "client_kernel.kernel_bytes",
    "client_tcp_bytes": "client_kernel.tcp_bytes",
    "malloc_chunks": "malloc.chunks",
    "malloc_chunk_bytes": "malloc.chunk_bytes",
    "malloc_chunk_resident_bytes": "malloc.chunk_resident_bytes",
    "malloc_free_resident_bytes": "malloc.free_resident_bytes",
    "malloc_free_sizes": "malloc.free_sizes",
}
SAMPLES: Mapping[str, str] = {"elapsed_s": REAL, "user_bytes": INTEGER, "kernel_bytes": INTEGER}
LIVE_LINE: Mapping[str, str] = {
    **LIVE_RUN_COLUMNS,
    "phases": struct(
        {
            "phase": TEXT,
            "ended_s": REAL,
            "connections": INTEGER,
            "server": struct(
                {
                    place.removeprefix("server."): INTEGER
                    for place in LIVE_PHASE_COLUMNS.values()
                    if place.startswith("server.")
                }
            ),
            **dict.fromkeys(
                ("server_kernel", "client_kernel"), struct({"kernel_bytes": INTEGER, "tcp_bytes": INTEGER})
            ),
            "malloc": struct(
                {
                    **dict.fromkeys(("chunks", "chunk_bytes", "chunk_resident_bytes", "free_resident_bytes"), INTEGER),
                    "free_sizes": JSON,
                }
            ),
        }
    )
    + "[]",
    "samples": struct({name: f"{kind}[]" for name, kind in SAMPLES.items()}),
}


def quote(text: object) -> str:
    """Return the text as DuckDB's SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"


def name_list(names: Mapping[str, str]) -> str:
    """Return columns for a SELECT from phases: each name, and what it is of a phase `p`."""
    return ", ".join(f'p.{place} AS "{name}"' for name, place in names.items())


def read_lines(file: object, longest_bytes: int, line: Mapping[str, str] = LINE) -> str:
    """Return the statement that makes the table `lines` of a file of lines, the longest of which has so many bytes."""
    columns = ", ".join(f"{quote(name)}: {quote(kind)}" for name, kind in line.items())
    return (
        "CREATE OR REPLACE TEMP TABLE lines AS SELECT row_number() OVER () - 1 AS run, * "
        f"FROM read_json({quote(file)}, format = 'newline_delimited', columns = {{{columns}}},"
        f" maximum_object_size = {longest_bytes})"
    )


def select_phases(columns: str, wanted: str) -> str:
    """Return the query of columns of each phase `p` of the wanted runs, in their order."""
    each = "SELECT run, generate_subscripts(phases, 1) - 1 AS position, unnest(phases) AS p"
    return f"SELECT run, position, {columns} FROM ({each} FROM lines WHERE {wanted})"


OF_PHASE = ", ".join(
    [name_list({name: name for name in PHASE_COLUMNS}), name_list(HEAP_COLUMNS), name_list(PAIR_COLUMNS)]
)
OF_SITES = ("phase", "process")  # of a phase, beside its blocks
TABLES: Mapping[str, str] = {  # each as a query on `lines`, which keeps their order
    "runs": (
        "SELECT * REPLACE (coalesce(env, 'lab') AS env, coalesce(len(phases), 0) AS phases, sites IS NOT NULL AS sites)"
        " FROM lines"
    ),
    "phases": select_phases(OF_PHASE, "len(phases) > 0"),
    "sites": select_phases(
        name_list({name: name for name in OF_SITES} | {name: f"sites.{name}" for name in BLOCKS}), "sites IS NOT NULL"
    ),
    "callstacks": "SELECT run, sites.frames AS frames, sites.stacks AS stacks FROM lines WHERE sites IS NOT NULL",
}
OF_SITES_RUNS = ("sites", "callstacks")  # tables of files that have sites runs; the others are of every file
LIVE_TABLES: Mapping[str, str] = {  # of a file of live runs; a run without a phase has a row all the same
    "live": (
        f"SELECT * EXCLUDE p, {name_list(LIVE_PHASE_COLUMNS)} FROM (SELECT * EXCLUDE (phases, samples),"
        " generate_subscripts(phases, 1) - 1 AS position, unnest(CASE len(phases) WHEN 0 THEN [NULL] ELSE phases END)"
        " AS p FROM lines)"
    ),
    "samples": (
        "SELECT run, generate_subscripts(samples.elapsed_s, 1) - 1 AS position, "
        + ", ".join(f'unnest(samples.{name}) AS "{name}"' for name in SAMPLES)
        + " FROM lines"
    ),
}
