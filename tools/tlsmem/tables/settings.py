"""What was held equal: the columns that tell settings apart, and the table that declares them."""

from collections.abc import Iterable

from tlsmem.schema.harness_output import Process
from tlsmem.schema.records import Record
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, allocator_name
from tlsmem.tables.table import Cell, Column, Table, word

DECLARED = {"certs": "{}", "tickets": "{} tickets", "store": "store {}", "knobs": "knobs {}"}
DEFAULTS = {"tickets": "0", "store": "off", "knobs": "default"}  # as in docs/records.md


VARYING = ("allocator", "window", "roles", "env", "cpu")  # not the peer: mixed pairs are in a table of their own


def columns_of(selection: Selection) -> list[Column]:
    """The suite always, the others where there are several."""
    extra = [Column(name, name, left=True) for name in VARYING if selection.varies(name)]
    return [Column("suite", "suite", left=True), *extra]


def cells_of(selection: Selection, setting: Setting) -> list[Cell]:
    return [word(str(getattr(setting, column.key))) for column in columns_of(selection)]


def constant(selection: Selection) -> str:
    """What columns_of leaves out: equal in all settings. The laboratory and its whole CPU go without saying."""
    equal = [name for name in VARYING if not selection.varies(name)]
    said = [f"{name} {getattr(one, name)}" for one in selection.settings[:1] for name in equal]
    return ", ".join(text for text in said if text not in ("env lab", "cpu all")).capitalize()


def held(setting: Setting) -> dict[str, Process]:
    """Whose sessions stay in a process, with the process: both roles', or one's; with KEEP that process is `both`."""
    return {"both": "both"} if setting.roles == "together" else {**setting.processes}


def options(record: Record) -> str:
    """Certificates and resumption, as given to the harness."""
    given = DEFAULTS | dict(word.split("=", 1) for word in record.argv if "=" in word)
    said = [text.format(given[name].rsplit("/", 1)[-1]) for name, text in DECLARED.items() if name in given]
    return ", ".join(said)


def distinct(values: Iterable[str]) -> Cell:
    return word("; ".join(dict.fromkeys(values)))


def allocator_as_used(record: Record) -> str:
    version = record.allocator.version or (record.machine.libc if record.allocator.name == "system" else "")
    return f"{allocator_name(record)} {version}".strip()


def machine_of(record: Record) -> str:
    machine = record.machine
    hardware = f"{machine.cpu}, {machine.cpus} CPUs, {machine.memory_bytes / 2**30:.1f} GiB"
    return f"{hardware}, {machine.os}, Linux {machine.kernel}"


def dates(records: Iterable[Record]) -> str:
    days = sorted({record.started_at[:10] for record in records})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def settings(selection: Selection) -> Table:
    """One row a stack."""
    keys = {"stack": "stack", "library": "library, as reported", "compiler": "compiler", "allocator": "allocator"}
    keys |= {"window": "window", "options": "certificates and resumption"}
    columns = [Column(key, heading, left=True) for key, heading in keys.items()]
    commits = sorted({record.commit[:12] + (" with changes" if record.dirty else "") for record in selection.records})
    caption = f"{machine_of(selection.records[0])}; {dates(selection.records)}; commit {', '.join(commits)}."
    table = Table("settings", "What was measured, and what was held equal", caption, columns)
    for stack in selection.stacks:
        runs = [record for record in selection.records if record.stack == stack]
        cells = [distinct(run.reported for run in runs if run.reported), distinct(run.compiler for run in runs)]
        cells += [distinct(map(allocator_as_used, runs)), distinct(str(run.window) for run in runs)]
        table.rows.append([word(stack), *cells, distinct(map(options, runs))])
    return table
