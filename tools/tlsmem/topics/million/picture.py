"""A picture of many sessions in one process: what a million need in each stack, and how far the prediction was off."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_variants import split_variant
from tlsmem.plots.frame import THICK, add_frame, describe_records, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour, lighten
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.store import recordings
from tlsmem.topics.million.forecast import TOLERANCE
from tlsmem.topics.million.table import GIB, MillionRow, find_largest

MILLION = 1_000_000
PALE = 0.4  # of the way to white: fewer than a million were run
ROOM = 1.75  # of the longest bar, with the text beside it


def was_whole(row: MillionRow) -> bool:
    """Return whether a million sessions were run."""
    return row.check.sessions >= MILLION


def million_gib(row: MillionRow) -> float:
    """Return what a million sessions take: measured, or else by the largest run and the line beyond it."""
    check = row.check
    more = max(0, MILLION - check.sessions)
    return (check.measured_bytes + more * check.forecast.session_bytes) / GIB


def name_kept_role(row: MillionRow) -> str:
    """Return whose sessions stayed."""
    return row.setting.roles.removeprefix("keep-")


def name_row(row: MillionRow) -> str:
    """Return the stack's title, with the library's options and the role where they are not the usual ones."""
    title, role = stack_title(row.stack), name_kept_role(row)
    options = split_variant(row.setting.suite)[1].get("options")
    title += f", {options}" if options else ""
    return title if role == "server" else f"{title}, {role}s"


def percent_off(row: MillionRow) -> str:
    """Return how far the measurement is off the prediction, signed."""
    return f"{row.check.difference:+.2%}".replace("%", " %").replace("-", "−")


def describe_finding(rows: Sequence[MillionRow]) -> str:
    """Return the title: the least and the most that a million take, and how far off the predictions were at most."""
    worst = max(abs(row.check.difference) for row in rows)
    off = f"two small runs predict each run within {max(worst, 0.0001):.2%}".replace("%", " %")
    ends = dict.fromkeys(map(describe_end, (min(rows, key=million_gib), max(rows, key=million_gib))))
    return f"A million sessions take {', '.join(ends)}; {off}"


def describe_end(row: MillionRow) -> str:
    """Return what a million take; marked where fewer were run."""
    return f"{'' if was_whole(row) else '≈ '}{million_gib(row):.1f} GiB with {name_row(row)}"


def describe_row(row: MillionRow) -> str:
    """Return what stands beside a bar."""
    if was_whole(row):
        return f"{million_gib(row):.2f} GiB ({percent_off(row)})"
    return f"≈ {million_gib(row):.1f} GiB, from {row.check.sessions:,} ({percent_off(row)})"


def style_bar(colour: str, is_whole: bool) -> dict[str, Any]:
    """Return how matplotlib fills a bar: paler and hatched where fewer than a million were run."""
    pale: dict[str, Any] = {"facecolor": lighten(colour, PALE), "hatch": "//", "edgecolor": "white", "linewidth": 0}
    return {"facecolor": colour} if is_whole else pale


def draw(made: Figure, axes: Axes, rows: Sequence[MillionRow], left_out: str = "") -> None:
    """Draw a bar for each row, the smallest first; `left_out` begins the caption. Raises ValueError without rows."""
    if not rows:
        raise ValueError("no recording has many sessions of one role beside what smaller runs predict (make c1m)")
    rows = sorted(rows, key=million_gib)
    for at, row in enumerate(rows):
        axes.barh(at, million_gib(row), height=THICK, zorder=2, **style_bar(library_colour(row.stack), was_whole(row)))
        write_beside(axes, million_gib(row), at, describe_row(row), bold=abs(row.check.difference) > TOLERANCE)
    list_rows(axes, [name_row(row) for row in rows])
    axes.set_xlim(0, ROOM * max(map(million_gib, rows)))
    legend = [Patch(label="a million were run", **style_bar("#777777", is_whole=True))]
    if not all(map(was_whole, rows)):
        legend.append(Patch(label="fewer were run; the line goes on", **style_bar("#777777", is_whole=False)))
    roles = " or ".join(sorted(set(map(name_kept_role, rows)), reverse=True))
    subtitle = f"Peak RSS of one process with a million live {roles} sessions; their peers are freed after each window."
    runs = [row.check.run for row in rows]
    caption = f"{left_out}In brackets: the largest run compared with the line through two of 10 and 20 windows. "
    caption += describe_records(runs)
    add_frame(made, describe_finding(rows), subtitle, caption, legend)


def find_rows(among: Sequence[Path]) -> list[MillionRow]:
    """Return the largest run of each stack. Raises ValueError where no recording has a million sessions."""
    rows = find_largest(map(recordings.load_runs, among))
    if not any(map(was_whole, rows)):
        raise ValueError("no recording has a million sessions (make c1m)")
    return rows


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw every stack."""
    rows = find_rows(among)
    made, (axes,) = create_slide()
    draw(made, axes, rows, describe_absent(among, (row.stack for row in rows)))
    return made
