"""What every table of timed runs has: the columns that tell works apart, and what was equal for all rows."""

from collections.abc import Sequence

from tlsmem.schema.records import Record
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.stats.timed_selection import TimedSelection, Work
from tlsmem.tables.table import Cell, Column, text_cell
from tlsmem.tables.timed import warnings

VARYING = {"size_bytes": "writes of", "threads": "threads", "allocator": "allocator", "cpu": "CPU"}
OVER = "Medians of {}; ±: the wider half of the median's 95 % interval, by bootstrap."


def size_text(size: int) -> str:
    for unit, name in ((MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} B"


def threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def varying(timed: TimedSelection, without: Sequence[str] = ()) -> list[str]:
    """Handshakes have no size, and need none to be told apart."""
    values = {name: {value for work in timed.works if (value := getattr(work, name))} for name in VARYING}
    return [name for name, found in values.items() if len(found) > 1 and name not in without]


def work_columns(timed: TimedSelection, without: Sequence[str] = ()) -> list[Column]:
    """The suite always, the others where there are several."""
    extra = [Column(name, VARYING[name], left=True) for name in varying(timed, without)]
    return [Column("suite", "suite", left=True), *extra]


def cell(work: Work, name: str) -> Cell:
    value = getattr(work, name)
    if name == "size_bytes":
        return Cell(size_text(value) if value else "", value)
    return Cell(str(value), value)


def work_cells(timed: TimedSelection, work: Work, without: Sequence[str] = ()) -> list[Cell]:
    return [text_cell(work.suite), *(cell(work, name) for name in varying(timed, without))]


def describe_common_work(timed: TimedSelection) -> str:
    """What the columns leave out. The system's allocator and the whole CPU go without saying."""
    said, equal = [], set(VARYING) - set(varying(timed))
    sizes = {work.size_bytes for work in timed.works if work.size_bytes}
    for work in timed.works[:1]:
        said += [threads_text(work.threads)] * ("threads" in equal)
        said += [f"writes of {size_text(size)}" for size in sizes if "size_bytes" in equal]
        said += [f"allocator {work.allocator}"] * ("allocator" in equal and work.allocator != "system")
        said += [f"CPU {work.cpu}"] * ("cpu" in equal and work.cpu != "all")
    text = ", ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def describe_conditions(timed: TimedSelection) -> str:
    """What the columns leave out, and how the runs were made."""
    return " ".join(filter(None, [describe_common_work(timed), describe_runs(timed)]))


def describe_runs(timed: TimedSelection) -> str:
    """How long the runs were, and what noise there was."""
    measured = [one for one in timed.records if one.status == "measured" and one.meter == "time"]
    counts = sorted({one.rounds for one in measured if one.rounds})
    if not counts:
        return ""
    lengths = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    return " ".join(
        filter(None, [f"{lengths} round{'s' * (counts != [1])} a run.", warnings.summarize_noise(measured)])
    )


def repeats_text(timed: TimedSelection) -> str:
    """How many repeats a row has."""
    counts = sorted({len(runs) for series in timed.every() if (runs := series.runs())})
    if not counts:
        return "no runs"
    few = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{few} run" if counts == [1] else f"{few} runs"


def describe_medians(timed: TimedSelection) -> str:
    return OVER.format(repeats_text(timed))


def why_threads_wait(work: Work, runs: list[Record]) -> str | None:
    """Where threads had to share a CPU."""
    if not runs or work.threads <= runs[0].machine.cpus:
        return None
    return f"more threads than CPUs, of which there are {runs[0].machine.cpus}: threads wait for one another"
