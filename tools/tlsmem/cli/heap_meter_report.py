"""What the heap meter says of a tree of processes: lines over time, a table, or NDJSON."""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from tlsmem.cli import heap_rss
from tlsmem.run import heap_tree
from tlsmem.run.heap_page import PageCounts
from tlsmem.run.heap_tree import MeteredProgram
from tlsmem.run.rss_parts import RssParts
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

ROWS = 40  # the largest by peak; the others share a row
QUANTITIES = ("live", "peak", "cumulative")
CAPTION = "Requested bytes and blocks: live now or at the end, at the peak, and in all since the program began."
STONES = "{:,} between fork and exec"
INHERITED = (
    "of these {bytes:,} B in {blocks:,} blocks were the parent's at the fork; they are not in its cumulative ones"
)


def lines(seconds: float, programs: Iterable[MeteredProgram]) -> str:
    """One line for each that runs."""
    running = [program for program in programs if program.state == heap_tree.RUNNING]
    return "".join(
        f"heap: {seconds:.1f} s  {program_label(program)}: {describe_counts(program.page.total)}"
        f"{heap_rss.describe(program)}\n"
        for program in running
    )


def program_label(program: MeteredProgram) -> str:
    return f"{program.page.program}[{program.page.pid}]"


def describe_counts(counts: PageCounts) -> str:
    sizes = ((kind, getattr(counts, f"{kind}_bytes"), getattr(counts, f"{kind}_blocks")) for kind in QUANTITIES)
    return ", ".join(f"{kind} {size:,} B in {blocks:,}" for kind, size, blocks in sizes) + " blocks"


def ndjson(seconds: float, programs: Iterable[MeteredProgram]) -> str:
    """An object for each program, and one for all, whose peak nobody knows: peaks have their own moments."""
    programs = list(programs)
    objects = [{"record": "program", "seconds": round(seconds, 3), **fields(program)} for program in programs]
    objects.append({"record": "all", "seconds": round(seconds, 3), "programs": len(programs), **sums(programs)})
    return "".join(json.dumps(one) + "\n" for one in objects)


def fields(program: MeteredProgram) -> dict[str, Any]:
    page = program.page
    named = {"pid": page.pid, "parent": page.parent, "program": page.program, "state": program.state}
    inherited = {f"inherited_{kind}": getattr(page.inherited, f"live_{kind}") for kind in ("bytes", "blocks")}
    rss = {"rss": program.rss.fields()} if isinstance(program.rss, RssParts) else {}
    return named | {"threads": program.threads} | vars(page.total) | inherited | rss


def sums(programs: Iterable[MeteredProgram]) -> dict[str, int]:
    """What is live between a fork and an exec is the parent's, and counts there."""
    programs = list(programs)
    parts = {"live": [one for one in programs if not one.was_stepping_stone], "cumulative": programs}
    return {
        f"{kind}_{unit}": sum(getattr(one.page.total, f"{kind}_{unit}") for one in parts[kind])
        for kind in parts
        for unit in ("bytes", "blocks")
    }


def table(title: str, programs: list[MeteredProgram]) -> Table:
    columns = [Column("program", "program", left=True), Column("pid", "pid"), Column("state", "state", left=True)]
    columns.append(Column("threads", "threads"))
    for kind in QUANTITIES:
        columns += [Column(f"{kind}_bytes", f"{kind} B"), Column(f"{kind}_blocks", "blocks")]
    proper = [program for program in programs if not program.was_stepping_stone]
    largest = sorted(proper, key=lambda program: -program.page.total.peak_bytes)[:ROWS]
    shown = [program for program in proper if program in largest]  # in the order of being seen
    rows = [row(program) for program in shown]
    if len(shown) < len(proper):
        rest = [program for program in proper if program not in largest]
        rows.append(row_of_sums(f"{len(rest):,} smaller ones", rest))
    if len(proper) < len(programs):
        stones = [program for program in programs if program.was_stepping_stone]
        rows.append(row_of_sums(STONES.format(len(stones)), stones))
    if len(programs) > 1:
        rows.append(row_of_sums("all", programs))
    return Table("heap", title, CAPTION, columns, rows)


def row(program: MeteredProgram) -> list[Cell]:
    page, total = program.page, program.page.total
    note = INHERITED.format(bytes=page.inherited.live_bytes, blocks=page.inherited.live_blocks)
    threads = number(program.threads) if program.state == heap_tree.RUNNING else Cell("", None)
    cells = [text_cell(page.program), Cell(str(page.pid), page.pid), text_cell(program.state), threads]
    cells += [number(getattr(total, f"{kind}_{unit}")) for kind in QUANTITIES for unit in ("bytes", "blocks")]
    if program.forked:
        cells[4] = Cell(cells[4].text, cells[4].value, note)
    return cells


def row_of_sums(title: str, programs: list[MeteredProgram]) -> list[Cell]:
    total, why = sums(programs), "the peaks of several programs are not of one moment"
    blank = [Cell("", None)] * 3
    peak = [missing_cell(why), missing_cell(why)]
    live, cumulative = ([number(total[f"{kind}_{unit}"]) for unit in ("bytes", "blocks")] for kind in QUANTITIES[::2])
    return [text_cell(title), *blank, *live, *peak, *cumulative]


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
