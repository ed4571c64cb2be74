"""Which declared settings differ between the rows of a table: the most frequent of each is said once, others are marked
at their rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.stats.series import allocator_name, cpu_name, peer_name
from tlsmem.store.record import Record
from tlsmem.tables.settings import allocator_as_used
from tlsmem.tables.table import Cell, Heading, Table

MARK_COLUMN = Heading("otherwise", "declared otherwise", left=True, usual="")
KINDS: dict[str, Callable[[Record], str]] = {  # columns that tell a row's runs, by key
    "stack": lambda one: one.stack,
    "suite": lambda one: one.suite,
    "allocator": allocator_name,
    "window": lambda one: str(one.window),
    "roles": lambda one: one.roles,
    "env": lambda one: one.env,
    "cpu": cpu_name,
    "threads": lambda one: str(one.threads),
    "server": lambda one: one.stack,
    "client": lambda one: peer_name(one) or one.stack,
}


def option(name: str) -> Callable[[Record], str]:
    """As given to the harness; `certs` by the name of their directory."""

    def given(record: Record) -> str:
        return f"{name} {harness_arguments(record)[name]}"

    return given


ASPECTS: dict[str, Callable[[Record], str]] = {
    "compiler": lambda one: one.compiler,
    "flags": lambda one: one.flags,
    "allocator version": allocator_as_used,
    "cpu": lambda one: f"CPU {cpu_name(one)}",
    "certs": option("certs"),
    "tickets": option("tickets"),
    "store": option("store"),
    "options": option("options"),
    "roles": lambda one: f"roles {one.roles}",
    "window": lambda one: f"window {one.window}",
    "env": lambda one: f"env {one.env}",
    "schema": lambda one: f"schema {one.schema_}",
    "meter": lambda one: f"heap meter {one.meter_sha256[:8]}" if one.meter_sha256 else "",
    "commit": lambda one: f"commit {one.commit[:12]}{' with changes' if one.dirty else ''}",
}


def mark_differences(table: Table, runs: Sequence[Sequence[Record]], machines: Sequence[str] = ()) -> Table:
    """With a column of what each row's runs have otherwise than most rows, and a caption that says what those have.

    `runs` are those behind each row; `machines` the letters of each row's, where there are several."""
    said = [aspects(some) for some in runs]
    columns = {column.key for column in table.columns}
    usual = {name: most([one[name] for one in said]) for name in ASPECTS if name not in columns}
    if machines and len({*machines}) > 1:
        usual["machine"] = most([f"machine {letter}" for letter in machines])
        said = [one | {"machine": f"machine {letter}"} for one, letter in zip(said, machines, strict=True)]
    marks = [[one[name] for name in usual if one[name] not in ("", usual[name])] for one in without_flags(said, usual)]
    rows = [[*row, Cell("; ".join(of_row), "; ".join(of_row))] for row, of_row in zip(table.rows, marks, strict=True)]
    if not any(marks):
        return table
    differ = {name for name in usual if len({one[name] for one in said if one[name]}) > 1}
    alike = [usual[name] for name in usual if name in differ and name != "flags" and usual[name]]
    caption = f"{table.caption} Settings of rows without a mark: {', '.join(alike)}."
    return replace(table, caption=caption, columns=[*table.columns, MARK_COLUMN], rows=rows)


def aspects(runs: Iterable[Record]) -> dict[str, str]:
    """Of the runs of a row; several values of one aspect stand beside each other."""
    runs = list(runs)
    return {name: " and ".join(dict.fromkeys(filter(None, map(of, runs)))) for name, of in ASPECTS.items()}


def without_flags(said: Sequence[dict[str, str]], usual: dict[str, str]) -> list[dict[str, str]]:
    """Another compiler has other flags: that is no difference of its own. Else they are named, not quoted."""

    def flags(one: dict[str, str]) -> str:
        return "other flags" if one["flags"] != usual["flags"] and one["compiler"] == usual["compiler"] else ""

    return [one | {"flags": flags(one)} for one in said]


def most(values: Sequence[str]) -> str:
    """The most frequent, the first of equals; of rows without runs nothing is said."""
    counted = Counter(filter(None, values))
    return counted.most_common(1)[0][0] if counted else ""


def runs_by_row(table: Table, records: Iterable[Record]) -> list[list[Record]]:
    """Behind each row: those that the row's own columns name."""
    keys = [(at, KINDS[column.key]) for at, column in enumerate(table.columns) if column.key in KINDS]
    known: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        known.setdefault(tuple(of(record) for _, of in keys), []).append(record)
    return [known.get(tuple(str(row[at].value) for at, _ in keys), []) for row in table.rows]
