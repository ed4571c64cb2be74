"""Every picture of timed runs: transfer, handshakes, latency, threads, sizes of a write; each if there are runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from tlsmem.plots.picture import STYLE, save
from tlsmem.plots.timed import handshake_kinds, stack_style
from tlsmem.plots.timed.bar_pictures import handshakes, transfer
from tlsmem.plots.timed.curve_pictures import latency, sizes, threads
from tlsmem.schema.harness_output import Scenario
from tlsmem.schema.records import Record
from tlsmem.stats.timed_selection import Timed, Work, select

NOTHING = "no timed run was measured, so there is nothing to draw; tabulate.py shows why"


def draw(records: Sequence[Record], directory: Path) -> list[Path]:
    """PNG and SVG of each picture that these runs have; the files written. ValueError and OSError with a sentence."""
    return draw_selected(select(records), directory)


def draw_selected(timed: Timed, directory: Path) -> list[Path]:
    if not any(one.status == "measured" and one.meter == "time" for one in timed.records):
        raise ValueError(NOTHING)
    directory.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE | stack_style.STYLE):
        return [file for name, made in every(timed) for file in save(made, directory / name)]


def every(timed: Timed) -> Iterator[tuple[str, Figure]]:
    """By name of a file, without its ending. Allocators, and CPUs, are never mixed in one picture."""
    conditions = list(dict.fromkeys((work.allocator, work.cpu) for work in timed.works))
    for allocator, cpu in conditions:
        alike = timed.where(lambda work, wanted=(allocator, cpu): (work.allocator, work.cpu) == wanted)
        more = [allocator] * timed.varies("allocator") + [cpu] * timed.varies("cpu")
        for name, made in of_conditions(alike):
            yield "-".join([name, *(word.split()[0] for word in more)]), made


def of_conditions(timed: Timed) -> Iterator[tuple[str, Figure]]:
    if moved := measured(timed.of("throughput")):
        yield "transfer", transfer(moved)
    if shaken := measured(timed.of("handshake")):
        yield "handshake", handshakes(shaken)
        for suite, some in by_base(shaken):
            yield f"latency-{suite}", latency(some)
    for suite, some in by_base(several(timed, "handshake", "threads")):
        yield f"threads-{suite}", threads(some)
    for suite, some in by_base(several(timed, "throughput", "threads")):
        yield f"threads-transfer-{suite}", threads(some)
    for suite, some in by_base(several(timed, "throughput", "size_bytes")):
        yield f"sizes-{suite}", sizes(some)


def measured(timed: Timed) -> Timed | None:
    """None where no run was."""
    return timed if any(series.runs() for series in timed.every()) else None


def several(timed: Timed, scenario: Scenario, field: str) -> Timed:
    """Works that were measured with several values of the field; of sizes, at the fewest threads."""
    timed = timed.of(scenario) if field == "size_bytes" else timed.where(lambda work: work.scenario == scenario)
    values: dict[Work, set[int]] = {}
    for work in timed.works:
        values.setdefault(replace(work, **{field: 1}), set()).add(getattr(work, field))
    return timed.where(lambda work: len(values[replace(work, **{field: 1})]) > 1)


def by_base(timed: Timed) -> Iterator[tuple[str, Timed]]:
    """Full handshakes and those resumed of the same suite together; without those of which nothing was measured."""
    for base in dict.fromkeys(handshake_kinds.base(work.suite) for work in timed.works):
        some = timed.where(lambda work, base=base: handshake_kinds.base(work.suite) == base)
        if measured(some):
            yield base, some
