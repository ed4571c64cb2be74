"""A picture of peers that stop after a few bytes: what each stack holds for one, beside a peer that sends nothing."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import library_name, stack_title
from tlsmem.config.releases import version, version_key
from tlsmem.plots.frame import add_frame, describe_records, draw_added, list_added, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.stats.missing import Missing, keep_present, map_present, replace_missing
from tlsmem.store import recordings
from tlsmem.topics.stall.stalls import Stall, find_stalls, newest_of_each_stack

ANNOUNCED = "announced-hello"  # the points in the picture: their names begin so


class Announced(NamedTuple):
    """What a server of a stack holds for a peer that announced the largest message which it accepts, in bytes."""

    stall: Stall
    silent: float
    pinned: float

    @property
    def amplification(self) -> float:
        """Bytes pinned for each byte received."""
        return float(replace_missing(self.stall.amplification, 0))


def find_worst(stalls: Iterable[Stall]) -> list[Announced]:
    """Return for each stack the announcement that pins most, the largest first."""
    found: dict[str, Announced] = {}
    for one in keep_present(measure(stall) for stall in stalls if stall.point.startswith(ANNOUNCED)):
        if one.stall.stack not in found or one.pinned > found[one.stall.stack].pinned:
            found[one.stall.stack] = one
    return sorted(found.values(), key=lambda one: (-one.pinned, one.silent))


def measure(stall: Stall) -> Announced | Missing:
    """Return what a session holds; Missing where that was not measured."""
    silent, pinned = stall.silent_bytes, stall.pinned_bytes
    return map_present(lambda silent, pinned: Announced(stall, float(silent), float(pinned)), silent, pinned)


def describe_finding(rows: Sequence[Announced]) -> str:
    """Return the title: the largest, in the newest release that has it, and the one of its series that mended it."""
    largest = [one for one in rows if one.pinned == rows[0].pinned]
    mended = [(one, later) for one in largest for later in rows if is_mended(one, later)]
    worst, later = max(mended, key=lambda pair: version_key(version(pair[0].stall.stack)), default=(rows[0], None))
    received = worst.stall.received_bytes
    much = "a few" if isinstance(received, Missing) else f"{float(received):,.0f}"
    finding = f"{much} bytes pin {worst.pinned:,.0f} B in {stack_title(worst.stall.stack)}"
    return f"{finding}, none in {version(later.stall.stack)}" if later else finding


def is_mended(one: Announced, later: Announced) -> bool:
    """Return whether `later` is a newer release of the same series (3.6.3 of 3.6.2) that pins nothing."""
    names = [each.stall.stack for each in (one, later)]
    before, after = map(version, names)
    return (
        library_name(names[0]) == library_name(names[1])
        and before.rpartition(".")[0] == after.rpartition(".")[0]
        and version_key(before) < version_key(after)
        and not later.pinned
    )


def name_row(stall: Stall) -> str:
    """Return the stack's title; a library of the system by the version that it reports."""
    reported = next(iter(stall.runs.values())).reported or ""
    if version(stall.stack) == "system" and (found := re.search(r"\d+(\.\d+)+\w?", reported)):
        return f"{library_name(stall.stack)} {found[0]} (system)"
    return stack_title(stall.stack)


def draw_bars(axes: Axes, rows: Sequence[Announced]) -> None:
    """Draw what a silent peer holds, and what is pinned beyond it in the library's colour."""
    for at, one in enumerate(rows):
        draw_added(axes, at, one.silent, one.pinned, library_colour(one.stall.stack))
        text = f"+{one.pinned:,.0f} B ({one.amplification:,.0f}×)" if one.pinned else "+0"
        text += ", by its runtime" if one.stall.runtime_run else ""
        write_beside(axes, one.silent + one.pinned, at, text, bold=one.amplification > 100)
    list_rows(axes, [name_row(one.stall) for one in rows])
    axes.set_xlim(0, 1.3 * max(one.silent + one.pinned for one in rows))


def draw(made: Figure, axes: Axes, stalls: Sequence[Stall], left_out: str = "") -> None:
    """Draw the picture into a figure with one panel; `left_out` begins its caption. Raises ValueError where no stack
    reached such a point."""
    rows = find_worst(stalls)
    if not rows:
        raise ValueError("no server was measured at a point announced-hello (tools/tls-memtest measure stall)")
    draw_bars(axes, rows)
    legend = list_added("connected, nothing sent", "pinned beyond that")
    subtitle = "Live heap of a server session whose peer sent one record that announces the largest ClientHello taken."
    runs = [run for one in rows for run in one.stall.runs.values()]
    caption = f"{left_out}In brackets: bytes pinned for each byte received. {describe_records(runs)}"
    add_frame(made, describe_finding(rows), subtitle, caption, legend)


def load_newest(among: Sequence[Path]) -> list[Stall]:
    """Return the newest stalls of each stack. Raises ValueError where there are none."""
    loaded = (recordings.load_runs(recording) for recording in among)
    stalls = find_stalls(newest_of_each_stack(loaded))
    if not stalls:
        raise ValueError("no recording has runs of the scenario stall (tools/tls-memtest measure stall)")
    return stalls


def find_newest(among: Sequence[Path]) -> list[Stall]:
    """Return them in the slides' suite; of stacks without it in others."""
    stalls = load_newest(among)
    able = {stall.stack for stall in stalls if stall.suite == SUITE and not stall.refusal}
    return [stall for stall in stalls if stall.suite == SUITE or stall.stack not in able]


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    stalls = find_newest(among)
    absent = describe_absent(among, (row.stall.stack for row in find_worst(stalls)))
    made, (axes,) = create_slide()
    draw(made, axes, stalls, absent)
    return made
