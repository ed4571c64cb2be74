"""The flat tables of a recording: their columns, as DuckDB derives them from lines of JSON that were checked.

RUNS has a row a run, PHASES one a phase of a run, and SITES one a phase of a sites run; CALLSTACKS one a sites run.
`run` is the run's place in its file and `position` that of a phase in its run, both from 0. NULL is what a line does
not have."""

from collections.abc import Mapping

VERSION = 1  # of these tables: one higher whenever a column changes
OWNERS = ("client", "server", "client_context", "server_context", "harness", "total")
COUNTS = ("live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "cumulative_bytes", "cumulative_blocks")
INTEGER, TEXT, JSON = "BIGINT", "VARCHAR", "JSON"

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
    "dirty": "BOOLEAN",
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


def quote(text: object) -> str:
    """Return the text as DuckDB's SQL has it."""
    return "'" + str(text).replace("'", "''") + "'"


def name_list(names: Mapping[str, str]) -> str:
    """Return columns for a SELECT from phases: each name, and what it is of a phase `p`."""
    return ", ".join(f'p.{place} AS "{name}"' for name, place in names.items())


def read_lines(file: object, longest_bytes: int) -> str:
    """Return the statement that makes the table `lines` of a file of lines, the longest of which has so many bytes."""
    columns = ", ".join(f"{quote(name)}: {quote(kind)}" for name, kind in LINE.items())
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
TABLES: Mapping[str, str] = {  # each as a query on `lines`, which keeps their order
    "runs": (
        "SELECT * REPLACE (coalesce(env, 'lab') AS env, coalesce(len(phases), 0) AS phases, sites IS NOT NULL AS sites)"
        " FROM lines"
    ),
    "phases": select_phases(OF_PHASE, "len(phases) > 0"),
    "sites": select_phases(name_list({name: f"sites.{name}" for name in BLOCKS}), "sites IS NOT NULL"),
    "callstacks": "SELECT run, sites.frames AS frames, sites.stacks AS stacks FROM lines WHERE sites IS NOT NULL",
}
ALWAYS = ("runs", "phases")  # of every file; the others where it has sites runs
