"""What tls-memtest heap says of programs: lines over time, tables of live heap and of RSS, NDJSON."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tlsmem.monitor.growth import describe_connections
from tlsmem.monitor.rss_parts import RssParts, describe_size, read_rss
from tlsmem.monitor.tree import ENDED, RUNNING, LiveSum, MeteredProgram, sum_live
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

ROWS = 40  # the largest by peak; the others share a row
QUANTITIES = ("live", "peak", "cumulative")
UNITS = ("bytes", "blocks")
THREADS_AT, PEAK_AT = 3, 6  # of the cells of a row, before those of what is inherited
BLANK = Cell("", None)
CAPTION = (
    "Bytes and blocks that the program requested: live (now, or when it ended), at the peak, and cumulative since its "
    "start."
)
CAPTION_INHERITED = (
    " Inherited: live blocks of the parent at the fork. Parent and child share one copy of them until either writes to "
    "it. Peaks include these blocks, cumulative figures do not."
)
STONES = "{:,} between fork and exec"
ALL_RUNNING, ALL_ENDED = "all that run", "all at their ends"
SEEN = "the largest sum read at one moment; programs are read every {seconds} s, so the true peak may be higher"
CAPTION_RSS = "Resident anonymous memory (RssAnon) by what it is, in bytes."
CAPTION_RSS_LIVE = (
    " Live: the resident part of what the program has requested from malloc's heap. Freed memory that malloc keeps, in "
    'columns "cached by malloc" and "free, but kept": {}.'
)
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
LAST_READING = "as it was last read before the program ended"


def lines(seconds: float, programs: Iterable[MeteredProgram], connections: dict[int, int]) -> str:
    """One line for each program, with its state if it no longer runs, and one for the connections that are counted."""
    said = [f"{label_with_state(one)}: {describe_counts(one)}{describe_rss(one)}" for one in programs]
    said += [sentence.strip() for sentence in [describe_connections(connections)] if sentence]
    return "".join(f"heap: {seconds:.1f} s  {line}\n" for line in said)


def label_with_state(program: MeteredProgram) -> str:
    return program_label(program) + ("" if program.state == RUNNING else f" {program.state}")


def program_label(program: MeteredProgram) -> str:
    return f"{program.page.program}[{program.page.pid}]"


def describe_counts(program: MeteredProgram) -> str:
    counts, (inherited_bytes, inherited_blocks) = program.page.total, program.page.inherited_live
    sizes = {kind: (getattr(counts, f"{kind}_bytes"), getattr(counts, f"{kind}_blocks")) for kind in QUANTITIES}
    said = [f"{kind} {size:,} B in {blocks:,} blocks" for kind, (size, blocks) in sizes.items()]
    if program.forked:
        said[0] += f" ({inherited_bytes:,} B in {inherited_blocks:,} inherited)"
    return ", ".join(said)


def ndjson(seconds: float, programs: Iterable[MeteredProgram]) -> str:
    """An object for each program, a line each."""
    objects = [{"record": "program", "seconds": round(seconds, 3), **fields(program)} for program in programs]
    return "".join(json.dumps(one) + "\n" for one in objects)


def all_ndjson(seconds: float, programs: list[MeteredProgram], peak: LiveSum, connections: dict[int, int]) -> str:
    """An object for all programs; `peak` is the largest sum that was seen."""
    counted = {"connections": connections} if connections else {}
    return json.dumps({"record": "all", "seconds": round(seconds, 3), **sums(programs, peak), **counted}) + "\n"


def fields(program: MeteredProgram) -> dict[str, Any]:
    page = program.page
    named = {"pid": page.pid, "parent": page.parent, "program": page.program, "state": program.state}
    parts = {"private": page.private_live, "inherited": page.inherited_live}
    split = {f"{name}_{unit}": size for name, sizes in parts.items() for unit, size in zip(UNITS, sizes, strict=True)}
    rss = {"rss": program.rss.fields()} if isinstance(program.rss, RssParts) else {}
    mapped = {f"mapped_{name}": getattr(page.mapped, name) for name in ("private", "peak", "shared", "unknown")}
    return named | {"threads": program.threads} | vars(page.total) | split | mapped | rss


def sums(programs: list[MeteredProgram], peak: LiveSum) -> dict[str, int]:
    """Return what runs and holds now, what each held at its end, and what all have requested."""
    running, ended = (with_state(programs, state) for state in (RUNNING, ENDED))
    live = {"live": sum_live(running), "at_end": sum_live(ended), "peak_seen": peak, "cumulative": requested(programs)}
    sizes = {f"{kind}_{unit}": size for kind, sizes in live.items() for unit, size in zip(UNITS, sizes, strict=True)}
    return {"programs": len(programs), "running": len(running)} | sizes


def with_state(programs: Iterable[MeteredProgram], state: str) -> list[MeteredProgram]:
    return [program for program in programs if program.state == state]


def requested(programs: Iterable[MeteredProgram]) -> LiveSum:
    totals = [program.page.total for program in programs]
    return LiveSum(sum(one.cumulative_bytes for one in totals), sum(one.cumulative_blocks for one in totals))


def table(title: str, programs: list[MeteredProgram], peak: LiveSum, interval: float, counted: str = "") -> Table:
    """Return a row for each program, the smallest together, and one for all; `peak` is the largest sum that was seen,
    by readings every `interval` seconds; `counted` says how many connections there are."""
    running, ended = (with_state(programs, state) for state in (RUNNING, ENDED))
    columns = [Heading("program", "program", left=True), Heading("pid", "pid"), Heading("state", "state", left=True)]
    columns += [Heading("threads", "threads")] * bool(running)
    for kind in QUANTITIES:
        columns += [Heading(f"{kind}_bytes", f"{kind} B"), Heading(f"{kind}_blocks", "blocks")]
    has_forked = any(program.forked for program in programs)
    live_at = [column.key for column in columns].index("live_bytes")
    inherited = [Heading("inherited_bytes", "inherited B"), Heading("inherited_blocks", "blocks")]
    columns[live_at + 2 : live_at + 2] = inherited * has_forked
    proper = [program for program in programs if not program.was_stepping_stone]
    largest = sorted(proper, key=lambda program: -program.page.total.peak_bytes)[:ROWS]
    shown = [program for program in proper if program in largest]  # in the order of being seen
    rows = [row(program) for program in shown]
    if len(shown) < len(proper):
        rest = [program for program in proper if program not in largest]
        rows.append(row_of_sums(f"{len(rest):,} smaller ones", rest, None))
    if len(proper) < len(programs):
        stones = [program for program in programs if program.was_stepping_stone]
        rows.append(row_of_sums(STONES.format(len(stones)), stones, None))
    if len(programs) > 1:
        everything = row_of_sums(ALL_RUNNING if running else ALL_ENDED, programs, sum_live(running or ended))
        note = SEEN.format(seconds=interval)
        everything[PEAK_AT : PEAK_AT + 2] = [Cell(f"{size:,}", size, note) for size in peak]
        rows.append(everything)
    if has_forked:
        for cells, program in itertools.zip_longest(rows, shown):
            cells[PEAK_AT:PEAK_AT] = inherited_cells(program)
    if not running:
        for cells in rows:
            del cells[THREADS_AT]
    return Table("heap", title, CAPTION + CAPTION_INHERITED * has_forked + counted, columns, rows)


def row(program: MeteredProgram) -> list[Cell]:
    page, total = program.page, program.page.total
    threads = number(program.threads) if program.state == RUNNING else Cell("", None)
    cells = [text_cell(page.program), Cell(str(page.pid), page.pid), text_cell(program.state), threads]
    cells += [number(getattr(total, f"{kind}_{unit}")) for kind in QUANTITIES for unit in ("bytes", "blocks")]
    return cells


def inherited_cells(program: MeteredProgram | None) -> list[Cell]:
    """Return bytes and blocks of a program; blank of one that was not forked, and of rows of several."""
    return [number(size) for size in program.page.inherited_live] if program and program.forked else [BLANK] * 2


def row_of_sums(title: str, programs: list[MeteredProgram], live: LiveSum | None) -> list[Cell]:
    """Return a row of several programs; without `live`, that of each is in no sum that was live at one moment."""
    held = [BLANK] * 2 if live is None else list(map(number, live))
    return [text_cell(title), *[BLANK] * 3, *held, *[BLANK] * 2, *map(number, requested(programs))]


def number(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def update_rss(programs: Iterable[MeteredProgram]) -> None:
    """Read what the running programs have resident; of those that have ended the last reading stays."""
    running = {program.page.pid: program for program in programs if program.state == RUNNING}
    for pid, reading in read_rss(running).items():
        if isinstance(reading, RssParts) or running[pid].rss is None:
            running[pid].rss = reading


def describe_rss(program: MeteredProgram) -> str:
    """Return it for the end of a line, with the comma before it."""
    if not isinstance(program.rss, RssParts):
        return ""
    kept = program.rss.kept_bytes
    said = f", RssAnon {describe_size(program.rss.anon_bytes)}"
    return said if kept is None else f"{said}, freed memory that malloc keeps {describe_size(kept)}"


def rss_table(what: str, programs: Iterable[MeteredProgram]) -> Table | None:
    """Return a row for each program that was read; None where none was."""
    rows = [(program, program.rss) for program in programs if isinstance(program.rss, RssParts)]
    if not rows:
        return None
    shown = [name for name in PARTS if any(rss.parts[name] is not None for _, rss in rows)]
    columns = [Heading("program", "program", left=True), Heading("pid", "pid"), Heading("anon_bytes", "RssAnon")]
    columns += [Heading(f"{name}_bytes", PARTS[name]) for name in shown]
    has_divided = "live" in shown
    columns += [Heading("absent_bytes", "live, not resident")] * has_divided
    caption = f"{CAPTION_RSS}{CAPTION_RSS_LIVE.format(describe_kept(rows))}" if has_divided else CAPTION_RSS
    cells = [rss_row(program, rss, shown)[: len(columns)] for program, rss in rows]
    return Table("rss", f"RSS of {what}", caption, columns, cells)


def describe_kept(rows: Sequence[tuple[MeteredProgram, RssParts]]) -> str:
    """Return how much malloc keeps, in the process in which it keeps most."""
    kept = [(rss.kept_bytes, program) for program, rss in rows if rss.kept_bytes is not None]
    most, program = max(kept, key=lambda one: one[0])
    where = f" in {program.page.program}[{program.page.pid}], more than in any other" if len(kept) > 1 else ""
    return f"{describe_size(most)}{where}"


def rss_row(program: MeteredProgram, rss: RssParts, shown: Iterable[str]) -> list[Cell]:
    """Return the cells of a program."""
    unknown = f"not divided: {rss.undivided}" if rss.undivided else "it is divided"
    sizes = [*(rss.parts[name] for name in shown), rss.absent_bytes]
    cells = [missing_cell(unknown) if size is None else integer_cell(size) for size in sizes]
    note = None if program.state == RUNNING else LAST_READING
    anon = Cell(f"{rss.anon_bytes:,}", rss.anon_bytes, note)
    return [text_cell(program.page.program), Cell(str(rss.pid), rss.pid), anon, *cells]


def rss_remarks(programs: Iterable[MeteredProgram]) -> Iterator[str]:
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
