"""RSS beside live heap: what heap.py says of the resident memory of the programs that it follows."""

from collections.abc import Iterable, Sequence

from tlsmem.run.heap_tree import RUNNING, MeteredProgram
from tlsmem.run.rss_parts import RssParts, describe_size, read_rss
from tlsmem.tables.table import Cell, Column, Table, integer_cell, missing_cell, text_cell

CAPTION = (
    "Resident anonymous memory (RssAnon) by what it is, in bytes. Live: requested bytes in the heap that are resident. "
)
PARTS = {
    "live": "live",
    "overhead": "headers, rounding",
    "cached": "cached by malloc",
    "free": "free, but kept",
    "mmapped": "mmapped chunks",
    "heap": "[heap], undivided",
    "stacks": "stacks",
    "files": "files",
    "other": "other mappings",
}
LEFT_OVER = 0.01  # of RssAnon: so much may parts be off without a word


def update(programs: Iterable[MeteredProgram]) -> None:
    """Read what the running programs have resident; of those that have ended the last reading stays."""
    running = {program.page.pid: program for program in programs if program.state == RUNNING}
    for pid, reading in read_rss(running).items():
        if isinstance(reading, RssParts) or running[pid].rss is None:
            running[pid].rss = reading


def describe(program: MeteredProgram) -> str:
    """Return it for the end of a line, with the comma before it."""
    if not isinstance(program.rss, RssParts):
        return ""
    kept = program.rss.kept_bytes
    said = f", RssAnon {describe_size(program.rss.anon_bytes)}"
    return said if kept is None else f"{said}, freed, but kept by malloc: {describe_size(kept)}"


def table(what: str, programs: Sequence[MeteredProgram]) -> Table | None:
    """Return a row for each program that was read; None where none was."""
    rows = [(program, program.rss) for program in programs if isinstance(program.rss, RssParts)]
    if not rows:
        return None
    shown = {name: heading for name, heading in PARTS.items() if any(rss.parts[name] is not None for _, rss in rows)}
    columns = [Column("program", "program", left=True), Column("pid", "pid"), Column("anon_bytes", "RssAnon")]
    columns += [Column(f"{name}_bytes", heading) for name, heading in shown.items()]
    columns.append(Column("absent_bytes", "live, not resident"))
    kept = sum(rss.kept_bytes or 0 for _, rss in rows)
    caption = f"{CAPTION}Freed, but kept by malloc: {describe_size(kept)}."
    return Table("rss", f"RSS of {what}", caption, columns, [row(program, rss, shown) for program, rss in rows])


def row(program: MeteredProgram, rss: RssParts, shown: Iterable[str]) -> list[Cell]:
    """Return the cells of a program."""
    unknown = f"not divided: {rss.undivided}"
    parts = [missing_cell(unknown) if size is None else integer_cell(size) for size in map(rss.parts.get, shown)]
    absent = missing_cell(unknown) if rss.absent_bytes is None else integer_cell(rss.absent_bytes)
    anon = integer_cell(rss.anon_bytes)
    return [text_cell(program.page.program), Cell(str(rss.pid), rss.pid), anon, *parts, absent]


def remarks(programs: Iterable[MeteredProgram]) -> Iterable[str]:
    """Yield a sentence for each program whose memory was not divided, or not wholly."""
    for program in programs:
        name, rss = f"{program.page.program}[{program.page.pid}]", program.rss
        if isinstance(rss, str):
            yield f"{name}: its RSS is not known: {rss}"
        elif rss and rss.undivided and not program.page.own_malloc:
            yield f"{name}: its heap is not divided: {rss.undivided}"
        elif rss and abs(rss.unexplained_bytes) > LEFT_OVER * rss.anon_bytes:
            yield f"{name}: the parts of its RSS are {rss.unexplained_bytes:+,} B off; it changed while it was read"
