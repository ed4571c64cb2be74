"""What the heap meter says of a tree of processes: lines over time, a table, or NDJSON."""

import itertools
import json
import os
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from tlsmem.monitor import rss_tables as heap_rss
from tlsmem.monitor import tree as heap_tree
from tlsmem.monitor.connections import describe_connections
from tlsmem.monitor.rss_parts import RssParts
from tlsmem.monitor.sums import LiveSum, sum_live
from tlsmem.monitor.tree import MeteredProgram
from tlsmem.tables.table import Cell, Heading, Table, text_cell

ROWS = 40  # the largest by peak; the others share a row
QUANTITIES = ("live", "peak", "cumulative")
UNITS = ("bytes", "blocks")
THREADS_AT, PEAK_AT = 3, 6  # of the cells of a row, before those of what is inherited
BLANK = Cell("", None)
CAPTION = "Requested bytes and blocks: live now or at the end, at the peak, and in all since the program began."
CAPTION_INHERITED = (
    " Inherited: of what is live, the parent's blocks at the fork, of which there is one copy until somebody writes; "
    "peaks begin with them, what was requested in all is without them."
)
STONES = "{:,} between fork and exec"
ALL_RUNNING, ALL_ENDED = "all that run", "all at their ends"
SEEN = "the largest sum read at one moment; programs are read every {seconds} s, so the true peak may be higher"


def lines(seconds: float, programs: Iterable[MeteredProgram], connections: dict[int, int]) -> str:
    """One line for each program, with its state if it no longer runs, and one for the connections that are counted."""
    said = [f"{label_with_state(one)}: {describe_counts(one)}{heap_rss.describe(one)}" for one in programs]
    said += [sentence.strip() for sentence in [describe_connections(connections)] if sentence]
    return "".join(f"heap: {seconds:.1f} s  {line}\n" for line in said)


def label_with_state(program: MeteredProgram) -> str:
    return program_label(program) + ("" if program.state == heap_tree.RUNNING else f" {program.state}")


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
    running, ended = (with_state(programs, state) for state in (heap_tree.RUNNING, heap_tree.ENDED))
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
    running, ended = (with_state(programs, state) for state in (heap_tree.RUNNING, heap_tree.ENDED))
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
    threads = number(program.threads) if program.state == heap_tree.RUNNING else Cell("", None)
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


class Listener:
    """A stream whose first error is kept in `gone` and ends what is written to it: the rest is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.gone: OSError | None = None
        self.encoding, self.isatty, self.fileno = stream.encoding, stream.isatty, stream.fileno

    def write(self, text: str) -> int:
        self.attempt(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self.attempt(self.stream.flush)

    def attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            self.gone = error
            nowhere = os.open(os.devnull, os.O_WRONLY)  # else Python tries again when it closes the stream
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
