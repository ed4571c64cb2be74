"""Slide 5: memory of a server to which a hundred thousand clients come back within ten seconds."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.releases import group_by_library, is_stable
from tlsmem.plan import storm_answer
from tlsmem.plan.request import ImpossibleRequest, requested_case
from tlsmem.plan.storm_answer import StormResult
from tlsmem.plan.storm_simulation import Values
from tlsmem.plots.frame import INK, Style, add_frame, points
from tlsmem.plots.line_labels import HALO
from tlsmem.plots.memory_panels import marker_styles
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.stats.comparability import machine_identity
from tlsmem.store import recordings

CLIENTS, WITHIN_S = 100_000, 10
STORM: dict[str, object] = {  # `plan storm --clients 100000`, with its defaults
    **dict.fromkeys(
        ("kernel_bytes", "record_bytes", "server", "cores", "handshake_rate", "limit", "timeout", "tickets")
    ),
    "low_memory": False,
    "clients": CLIENTS,
    "within": float(WITHIN_S),
    "arrivals": "uniform",
    "seed": 1,
    "rtt": 0.05,
    "client_time": 0.005,
    "retry": 1.0,
    "attempts": 10,
    "suite": SUITE,
    "allocator": "system",
    "role": "server",
    "state": "in-use",
}
LIBRARIES = ("openssl", "rustls+aws-lc", "boringssl")
NOT_TIMED = "handshakes not timed in the same recording"
GIB, POINTS = 2**30, 400
AFTER = 1.12  # of the time until all are back: what is seen


def simulate_storm(stack: str, among: Sequence[Path]) -> StormResult:
    """Return the storm of tls-memtest plan, with its defaults."""
    given = argparse.Namespace(**STORM, stack=[stack], recording=list(among))
    return storm_answer.run_storm(given, requested_case(given, stack), given.clients)


def simulate_newest(library: str, among: Sequence[Path]) -> StormResult:
    """Return the storm of the library's newest stable release whose memory and handshakes are recorded.

    Raises ValueError with a sentence about the newest one where there is none."""
    stacks = group_by_library(stack for path in among for stack in filter(is_stable, recordings.stacks(path)))
    newest_first = list(dict.fromkeys(reversed(stacks.get(library, [library]))))
    for stack in newest_first:
        with suppress(ValueError, ImpossibleRequest):
            return simulate_storm(stack, among)
    return simulate_storm(newest_first[0], among)


def describe_storm(storm: StormResult) -> str:
    """Return what a stack needs: `5.7 GiB and 19 s with OpenSSL 3.5.5`."""
    return f"{storm.memory.peak[1] / GIB:.1f} GiB and {storm.end_s:.0f} s with {stack_title(storm.case.model.stack)}"


def draw_storm(axes: Axes, storm: StormResult, stacks: Sequence[str], times: Values, below: bool) -> None:
    """Draw memory over time, and mark when all clients are back; the text is above or below the line."""
    stack = storm.case.model.stack
    style = marker_styles(stacks)[stack]
    axes.plot(times, storm.memory.bytes_at(times) / GIB, color=style.colour, zorder=3)
    end = storm.end_s
    level = float(storm.memory.bytes_at(numpy.array([end]))[0]) / GIB
    axes.plot([end], [level], style.marker, color=style.colour, markersize=11, zorder=4)
    text = f"{stack_title(stack)}: {storm.memory.peak[1] / GIB:.1f} GiB, all back after {end:.0f} s"
    words: Style = {"va": "top" if below else "bottom", "color": INK, "weight": "bold", "path_effects": HALO}
    axes.annotate(
        text, (WITHIN_S, level), (points(0.6), points(-1 if below else 0.7)), textcoords="offset points", **words
    )


def describe_origins(storms: Sequence[StormResult]) -> str:
    """Return the caption: where memory and rates were recorded, and whether that was on one machine."""
    memory, rates = (
        dict.fromkeys(path for path in paths if path)
        for paths in ([one.case.model.origin for one in storms], [one.rate.origin for one in storms])
    )
    machines = {
        machine_identity(recordings.load_stack(path, storms[0].case.model.stack)[0].machine)
        for path in (*memory, *rates)
    }
    other = ", on another machine" if len(machines) > 1 else ""
    names = [" and ".join(path.name for path in paths) for paths in (memory, rates)]
    return f"Memory was recorded in {names[0]}; handshake rates in {names[1]}{other}."


def draw(among: Sequence[Path]) -> Figure:
    """Draw a line for each stack."""
    storms = [simulate_newest(library, among) for library in LIBRARIES]
    stacks = [storm.case.model.stack for storm in storms]
    times = numpy.linspace(0, AFTER * max(storm.end_s for storm in storms), POINTS)
    made, (axes,) = create_slide()
    peaks = [storm.memory.peak[1] for storm in storms]
    for storm, peak in zip(storms, peaks, strict=True):
        draw_storm(axes, storm, stacks, times, below=peak == min(peaks))
    highest = max(peaks) / GIB
    axes.set(xlim=(0, times[-1]), ylim=(0, 1.2 * highest), xlabel="seconds", ylabel="process and kernel, GiB")
    axes.axvspan(0, WITHIN_S, color="#eeeeee", zorder=0, linewidth=0)
    axes.text(0.2, 1.19 * highest, "clients arrive", va="top", color="#555555", fontsize=points(0.9))
    cores = storms[0].rate.cores
    title = f"Reconnect storm: {', '.join(map(describe_storm, storms))}"
    subtitle = (
        f"{CLIENTS:,} clients reconnect within {WITHIN_S} s; {cores} cores. Simulated from recorded memory and rates."
    )
    absent = describe_absent(among, stacks, otherwise=NOT_TIMED)
    add_frame(made, title, subtitle, absent + describe_origins(storms))
    return made
