"""RSS beside live heap: what tls-memtest heap says of the resident memory of the programs that it follows."""

from collections.abc import Iterable, Iterator, Sequence

from tlsmem.monitor.rss_parts import RssParts, describe_size, read_rss
from tlsmem.monitor.tree import RUNNING, MeteredProgram
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

CAPTION = "Resident anonymous memory (RssAnon) by what it is, in bytes."
CAPTION_LIVE = " Live: requested, in the heap, and resident. Freed, but kept by malloc: {}."
PARTS = {
    "live": "live",
    "overhead": "headers, rounding",
    "cached": "cached by malloc",
    "free": "free, but kept",
    "mmapped": "mmapped chunks",
    "heap": "[heap], not divided",
    "stacks": "stacks",
    "files": "files",
    "other": "other mappings",
}
LEFT_OVER, LEAST_LEFT_OVER = 0.01, 2**18  # of RssAnon, and bytes: so much may the parts be off without a word
ELSEWHERE = 0.05  # of live heap: more than it may change between two readings
BOOTSTRAP = 2**13  # bytes that the heap meter has for blocks from before it knows the next allocator
ENDED = "as it was last read before the program ended"


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


def table(what: str, programs: Iterable[MeteredProgram]) -> Table | None:
    """Return a row for each program that was read; None where none was."""
    rows = [(program, program.rss) for program in programs if isinstance(program.rss, RssParts)]
    if not rows:
        return None
    shown = [name for name in PARTS if any(rss.parts[name] is not None for _, rss in rows)]
    columns = [Heading("program", "program", left=True), Heading("pid", "pid"), Heading("anon_bytes", "RssAnon")]
    columns += [Heading(f"{name}_bytes", PARTS[name]) for name in shown]
    has_divided = "live" in shown
    columns += [Heading("absent_bytes", "live, not resident")] * has_divided
    caption = f"{CAPTION}{CAPTION_LIVE.format(describe_kept(rows))}" if has_divided else CAPTION
    cells = [row(program, rss, shown)[: len(columns)] for program, rss in rows]
    return Table("rss", f"RSS of {what}", caption, columns, cells)


def describe_kept(rows: Sequence[tuple[MeteredProgram, RssParts]]) -> str:
    """Return how much malloc keeps, in the process in which it keeps most."""
    kept = [(rss.kept_bytes, program) for program, rss in rows if rss.kept_bytes is not None]
    most, program = max(kept, key=lambda one: one[0])
    where = f" in {program.page.program}[{program.page.pid}], more than in any other" if len(kept) > 1 else ""
    return f"{describe_size(most)}{where}"


def row(program: MeteredProgram, rss: RssParts, shown: Iterable[str]) -> list[Cell]:
    """Return the cells of a program."""
    unknown = f"not divided: {rss.undivided}" if rss.undivided else "it is divided"
    sizes = [*(rss.parts[name] for name in shown), rss.absent_bytes]
    cells = [missing_cell(unknown) if size is None else integer_cell(size) for size in sizes]
    note = None if program.state == RUNNING else ENDED
    anon = Cell(f"{rss.anon_bytes:,}", rss.anon_bytes, note)
    return [text_cell(program.page.program), Cell(str(rss.pid), rss.pid), anon, *cells]


def remarks(programs: Iterable[MeteredProgram]) -> Iterator[str]:
    """Yield a sentence for each program whose memory was not divided, or not wholly."""
    for program in programs:
        name, rss = f"{program.page.program}[{program.page.pid}]", program.rss
        if isinstance(rss, str):
            yield f"{name}: its resident memory is not known: {rss}"
        elif rss and rss.undivided and not program.page.own_malloc:
            yield f"{name}: its heap is not divided: {rss.undivided}"
        elif rss:
            yield from (f"{name}: {what}" for what in describe_doubts(program, rss))


def describe_doubts(program: MeteredProgram, rss: RssParts) -> Iterator[str]:
    """Yield what is not as it should be in a heap that was divided."""
    off = -rss.unexplained_bytes
    if abs(off) > max(LEFT_OVER * rss.anon_bytes, LEAST_LEFT_OVER):
        yield f"the parts of its RSS add up to {abs(off):,} B {'more' if off > 0 else 'less'} than RssAnon"
    if not rss.is_exact:
        yield "it changed while it was read: the parts of its RSS are off by what it allocated or freed meanwhile"
    live = program.page.total.live_bytes
    elsewhere = 0 if rss.found_bytes is None else live - rss.found_bytes
    if program.state == RUNNING and elsewhere > max(ELSEWHERE * live, BOOTSTRAP):
        yield f"{describe_size(elsewhere)} of its live heap are in no chunk of the C library's malloc that was found"
