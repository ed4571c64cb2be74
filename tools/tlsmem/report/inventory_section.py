"""What was measured and on what machine: recordings, machines, stacks, suites, and what could not be measured."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from markupsafe import Markup

from tlsmem.base.printable import strip_suite
from tlsmem.config import definitions, matrix
from tlsmem.config.run import Run
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, ShownTable, mark_code
from tlsmem.schema.machine_path import FLAGS
from tlsmem.schema.run_origins import Machine
from tlsmem.stats.selection import run_from_record
from tlsmem.store.record import Record
from tlsmem.tables.settings import allocator_as_used, dates, distinct_cell, options
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

CHECKS = ("check", "check-stacks")  # campaigns of make check, of which no figures come
STATES = ("measured", "unsupported", "failed")


def section(recordings: Sequence[Recording]) -> Section:
    made = [
        recording_table(recordings),
        machines(recordings),
        stacks(recordings),
        suites(recordings),
        holes(recordings),
    ]
    command = f"tools/tls-memtest show report {recording_arguments(*recordings)} --format markdown --table"
    shown = tuple(ShownTable(table, f"{command} {table.name}") for table in made if table.rows)
    html = Markup("<p>{}.</p>\n").format(describe_runs(recordings)) + remarks(describe_left_out(recordings))
    return Section("measured", "What was measured", html, tables=shown)


def describe_runs(recordings: Sequence[Recording]) -> str:
    """Return how many runs of how many stacks and suites there are, and when they were recorded."""
    records = [record for one in recordings for record in one.records]
    distinct = {"stack": {one.stack for one in records}, "suite": {one.suite for one in records}}
    counts = [f"{len(found)} {name}{'s' * (len(found) != 1)}" for name, found in distinct.items()]
    return f"{len(records):,} runs of {' in '.join(counts)}, recorded {dates(records)}"


def describe_left_out(recordings: Sequence[Recording]) -> list[str]:
    return [f"{one.name}: {said}." for one in recordings for said in one.contents.left_out]


def remarks(said: Sequence[str]) -> Markup:
    """What is to be seen; nothing where nothing is said."""
    lines = Markup("").join(Markup("<li>{}</li>\n").format(mark_code(one)) for one in said)
    return Markup('<ul class="remarks">\n{}</ul>').format(lines) if said else Markup()


def warnings(recordings: Sequence[Recording]) -> list[str]:
    """What a reader must know before comparing anything."""
    letters = dict.fromkeys(one.machine for one in recordings)
    said = []
    if len(letters) > 1:
        said.append(
            f"Measured on {len(letters)} machines, {', '.join(letters)}: their RSS and timings are never combined; "
            "rows of another machine are marked."
        )
    for one in recordings:
        measured = [record for record in one.records if record.status == "measured"]
        counts = {record.sessions for record in measured if record.meter == "rss"}
        if not measured:
            said.append(f"{one.name}: no run was measured; the table of what could not be measured says why.")
        elif len(counts) == 1:
            said.append(
                f"{one.name}: only N = {counts.pop():,} was measured and a slope needs two; quotients, marked ≈, "
                "take its place."
            )
    return said


def table(name: str, title: str, caption: str, headings: dict[str, str], numbers: Iterable[str] = ()) -> Table:
    columns = [Heading(key, heading, left=key not in numbers) for key, heading in headings.items()]
    return Table(name, title, caption, columns)


def recording_table(recordings: Sequence[Recording]) -> Table:
    headings = {"recording": "recording", "machine": "machine", "dates": "recorded", "commits": "commit"}
    headings |= {"schemas": "schema", "campaigns": "campaigns in it", "stacks": "stacks", "suites": "suites"}
    made = table(
        "recordings",
        "Recordings",
        "Number of runs by result. Campaigns: those of memtest/campaigns.toml of which the recording has more than "
        "half the runs; `tools/tls-memtest measure CAMPAIGN` repeats one.",
        headings | {state: state for state in STATES},
        ("stacks", "suites", *STATES),
    )
    for one in recordings:
        became = Counter(record.status for record in one.records)
        texts = [one.name, one.machine, dates(one.records), commits(one.records), schemas(one.records)]
        counts = [len({of(record) for record in one.records}) for of in (stack_name, lambda record: record.suite)]
        numbers = [*counts, *(became[state] for state in STATES)]
        made.rows.append([*map(text_cell, texts), text_cell(campaigns(one)), *map(integer_cell, numbers)])
    return made


def stack_name(record: Record) -> str:
    return record.stack


def commits(records: Iterable[Record]) -> str:
    return ", ".join(dict.fromkeys(f"{one.commit[:12]}{' with changes' if one.dirty else ''}" for one in records))


def schemas(records: Iterable[Record]) -> str:
    return ", ".join(map(str, sorted({one.schema_ for one in records})))


def campaigns(recording: Recording) -> str:
    """Those of which more than half was run."""
    there = set(map(run_from_record, recording.records))
    return ", ".join(name for name, runs in runs_by_campaign().items() if 2 * len(runs & there) > len(runs))


@cache
def runs_by_campaign() -> dict[str, set[Run]]:
    """Return the runs of each campaign that records something."""
    return {name: set(matrix.campaign_runs(one)) for name, one in definitions.campaigns().items() if name not in CHECKS}


def machines(recordings: Sequence[Recording]) -> Table:
    headings = {"machine": "machine", "cpu": "CPU", "cpus": "CPUs", "memory": "memory", "kernel": "kernel", "os": "OS"}
    headings |= {"libc": "libc", "thp": "huge pages", "governor": "governor", "path": "path", "flags": "CPU flags"}
    headings |= {"context": "context"}
    caption = (
        "Machines differ if their CPU paths differ; the context does not count. Where no path is recorded, they differ "
        "by kernel, libc or CPU."
    )
    made = table("machines", "Machines", caption, headings, ("cpus", "memory"))
    for one in {recording.machine: recording for recording in reversed(recordings)}.values():
        machine = one.records[0].machine
        governor = text_cell(machine.governor) if machine.governor else missing_cell("the machine reports no governor")
        memory = Cell(f"{machine.memory_bytes / 2**30:.1f} GiB", machine.memory_bytes)
        about = [
            text_cell(machine.kernel),
            text_cell(machine.os),
            text_cell(machine.libc),
            text_cell(machine.thp_host),
            governor,
            *path_cells(machine),
        ]
        made.rows.append([text_cell(one.machine), text_cell(machine.cpu), integer_cell(machine.cpus), memory, *about])
    made.rows.sort(key=lambda row: (len(row[0].text), row[0].text))
    return made


def path_cells(machine: Machine) -> list[Cell]:
    """The name of its path, the flags in it, and its context."""
    if not machine.path or not machine.context:
        return [missing_cell("recorded from schema 6 on")] * 3
    flags = set(machine.path.flags.split())
    said = f"without {', '.join(flag for flag in FLAGS if flag not in flags) or 'none of them'}"
    about = machine.context.model_dump()
    context = "; ".join(f"{name} {value}" for name, value in about.items() if value not in (None, ""))
    return [text_cell(machine.path_name or ""), Cell(said, machine.path.flags), text_cell(context)]


def stacks(recordings: Sequence[Recording]) -> Table:
    asked: dict[str, tuple[str, Callable[[Record], str]]] = {
        "library": ("library, as reported", lambda one: one.reported or ""),
        "compiler": ("compiler", lambda one: one.compiler),
        "flags": ("flags", lambda one: one.flags),
        "allocator": ("allocator", allocator_as_used),
        "licence": ("licence", lambda one: one.licence),
    }
    headings = {"stack": "stack", "recording": "recording"} | {key: heading for key, (heading, _) in asked.items()}
    made = table("settings", "Stacks, and what was held equal", "One row a stack and recording.", headings)
    for one in recordings:
        kept = one.contents.records
        for stack in dict.fromkeys(map(stack_name, kept)):
            runs = [record for record in kept if record.stack == stack]
            cells = [distinct_cell(filter(None, map(of, runs))) for _, of in asked.values()]
            made.rows.append(
                [text_cell(stack), text_cell(one.name), *(cell if cell.text else unsaid(runs) for cell in cells)]
            )
    return made


def unsaid(runs: Iterable[Record]) -> Cell:
    return missing_cell(next((f"{one.status}: {one.reason}" for one in runs if one.reason), "not said"))


def suites(recordings: Sequence[Recording]) -> Table:
    headings = {"suite": "suite", "protocol": "protocol", "cipher": "cipher", "group": "group"}
    headings |= {"options": "certificates and resumption", "stacks": "stacks that did it"}
    made = table("suites", "Suites", "As negotiated by every session that was measured.", headings, ("stacks",))
    measured = [one for recording in recordings for one in recording.contents.records if one.status == "measured"]
    for suite in sorted({one.suite for one in measured}):
        runs = [one for one in measured if one.suite == suite]
        agreed = [
            distinct_cell(getattr(one.negotiated, name) for one in runs) for name in ("protocol", "cipher", "group")
        ]
        did = integer_cell(len({one.stack for one in runs}))
        made.rows.append([text_cell(suite), *agreed, distinct_cell(map(options, runs)), did])
    return made


def holes(recordings: Sequence[Recording]) -> Table:
    """Once for each reason, however many suites it is."""
    headings = {"stack": "stack", "recording": "recording", "status": "status", "reason": "reason"}
    headings |= {"suites": "suites", "runs": "runs"}
    caption = "Runs that were tried and gave no figures, with the message of the harness or of its runner."
    made = table("without", "What could not be measured", caption, headings, ("runs",))
    found: dict[tuple[str, ...], list[Record]] = {}
    for one in recordings:
        for record in (record for record in one.contents.records if record.status != "measured"):
            why = strip_suite(" ".join((record.reason or "").split()))
            found.setdefault((record.stack, one.name, record.status, why), []).append(record)
    for told, runs in found.items():
        suites = ", ".join(dict.fromkeys(run.suite for run in runs))
        made.rows.append([*map(text_cell, told), text_cell(suites), integer_cell(len(runs))])
    return made
