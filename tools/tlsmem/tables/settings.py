"""What was held equal: the columns that tell settings apart, and the table that declares them."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tlsmem.schema.harness_output import Process, Window
from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.stats.missing import NOT_RECORDED
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, allocator_name
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell, Column, Table, text_cell

DECLARED = {"certs": "{}", "tickets": "{} tickets", "store": "store {}", "options": "options {}"}


SETTING_ASPECTS = (
    "allocator",
    "window",
    "roles",
    "env",
    "cpu",
    "data",
)  # not the peer: mixed pairs are in a table of their own


def setting_columns(selection: Selection) -> list[Column]:
    """The suite always, the others where there are several."""
    names = ["suite", *(name for name in SETTING_ASPECTS if selection.varies(name))]
    return [Column(name, name, left=True, value=partial(setting_aspect, name)) for name in names]


def setting_aspect(name: str, row: Any) -> str:
    """Of a row that has a setting."""
    return str(getattr(row.setting, name))


ROLES = {
    "together": "both ends in one process",
    "split": "a process for each role",
    "keep-client": "clients only, their peers freed",
    "keep-server": "servers only, their peers freed",
}


def describe_aspect(setting: Setting, name: str) -> str | None:
    """Say what a setting has of this aspect; None for what goes without saying."""
    value = getattr(setting, name)
    if name == "allocator":
        return "glibc malloc" if value == "system" else value
    if name == "window":
        return "all handshakes concurrent" if value == "all" else describe_window(value)
    if name == "roles":
        return ROLES[value]
    if (name, value) == ("data", "full"):
        return "16 KiB each way"
    text = f"{name} {value}"
    return None if text in ("env lab", "cpu all", "data short") else text


def describe_common_settings(selection: Selection) -> str:
    """What columns_of leaves out: equal in all settings. The controlled environment and its whole CPU are not named."""
    equal = [name for name in SETTING_ASPECTS if not selection.varies(name)]
    said = [describe_aspect(one, name) for one in selection.settings[:1] for name in equal]
    text = "; ".join(one for one in said if one)
    return f"Settings: {text}" if text else ""


def describe_window(window: Window) -> str:
    """How many handshakes were under way at once."""
    return "all handshakes at once" if window == "all" else f"{window:,} handshakes at a time"


def processes_by_holder(setting: Setting) -> dict[str, Process]:
    """Whose sessions stay in a process, with the process: both roles', or one's; with KEEP that process is `both`."""
    return {"both": "both"} if setting.roles == "together" else dict(setting.processes.items())


def options(record: Record) -> str:
    """Certificates and resumption, as given to the harness."""
    given = harness_arguments(record)
    said = [text.format(given[name]) for name, text in DECLARED.items()]
    return ", ".join(said)


def distinct_cell(values: Iterable[str]) -> Cell:
    """Each once."""
    return text_cell("; ".join(dict.fromkeys(values)))


def allocator_as_used(record: Record) -> str:
    """Return the allocator with its version; the C library's where it is the system's."""
    version = record.allocator.version or (record.machine.libc if record.allocator.name == "system" else "")
    return f"{allocator_name(record)} {version}".strip()


def describe_machine(record: Record) -> str:
    """Return the machine's CPU, memory and system, in one line."""
    machine = record.machine
    hardware = f"{machine.cpu}, {machine.cpus} CPUs, {machine.memory_bytes / 2**30:.1f} GiB"
    return f"{hardware}, {machine.os}, Linux {machine.kernel}, path {machine.path_name or NOT_RECORDED}"


def dates(records: Iterable[Record]) -> str:
    """Return the day of the runs, or the first and the last."""
    days = sorted({record.started_at[:10] for record in records})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


class SettingsRow(NamedTuple):
    """A stack with its runs."""

    stack: str
    runs: list[Record]


def distinct_column(key: str, heading: str, describe: Callable[[Record], str]) -> Column:
    """What the runs of a stack have, each once; runs that do not say are left out."""
    return Column(key, heading, left=True, value=lambda row: filter(None, map(describe, row.runs)), form=distinct_cell)


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    distinct_column("library", "library, as reported", lambda run: run.reported or ""),
    distinct_column("compiler", "compiler", lambda run: run.compiler),
    distinct_column("allocator", "allocator", allocator_as_used),
    distinct_column("window", "window", lambda run: str(run.window)),
    distinct_column("options", "certificates and resumption", options),
)


def settings(selection: Selection) -> Table:
    """One row a stack."""
    commits = sorted({record.commit[:12] + (" with changes" if record.dirty else "") for record in selection.records})
    caption = f"{describe_machine(selection.records[0])}; {dates(selection.records)}; commit {', '.join(commits)}."
    table = Table("settings", "What was measured, and what was held equal", caption, [*COLUMNS])
    for stack in selection.stacks:
        table.add_rows([SettingsRow(stack, [record for record in selection.records if record.stack == stack])])
    return table


def timed_settings(timed: TimedSelection) -> Table:
    """The same of timed runs, and those whose instructions were counted, which have no windows."""
    records = timed.every_record
    stacks = tuple(dict.fromkeys([*timed.stacks, *(timed.counted.stacks if timed.counted else ())]))
    made = settings(Selection(records, stacks, tuple({*map(Setting.from_record, records)})))
    kept = [at for at, column in enumerate(made.columns) if column.key != "window"]
    columns, rows = [made.columns[at] for at in kept], [[row[at] for at in kept] for row in made.rows]
    return replace(made, columns=columns, rows=rows)
