"""A picture of many sessions in one process: what a million need in each stack, and how far the prediction was off."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config.libraries import prefer_headline_builds, stack_title
from tlsmem.config.suite_variants import split_variant
from tlsmem.plots.frame import add_frame, describe_records
from tlsmem.plots.rows import THICK, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour, lighten
from tlsmem.stats.session_forecast import TOLERANCE
from tlsmem.tables.million import GIB, MillionRow

MILLION = 1_000_000
PALE = 0.55  # of the way to white: fewer than a million were run


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
    """Return the title: who held a million sessions, and how far off the predictions were at most."""
    whole = [row for row in rows if was_whole(row)]
    worst = max(abs(row.check.difference) for row in whole or rows)
    off = f"Two small runs predict within {max(worst, 0.0001):.2%}".replace("%", " %")
    if not whole:
        return f"{off} what many sessions take in one process"
    shown = prefer_headline_builds(whole, lambda row: row.stack)
    ends = dict.fromkeys(map(describe_end, (min(shown, key=million_gib), max(shown, key=million_gib))))
    return f"{off} what a million sessions take: {', '.join(ends)}"


def describe_end(row: MillionRow) -> str:
    """Return what a million took, of the smallest or the largest that were run."""
    return f"{million_gib(row):.1f} GiB with {name_row(row)}"


def describe_row(row: MillionRow) -> str:
    """Return what stands beside a bar."""
    if was_whole(row):
        return f"{million_gib(row):.2f} GiB ({percent_off(row)})"
    return f"≈ {million_gib(row):.1f} GiB, from {row.check.sessions:,} ({percent_off(row)})"


def draw(made: Figure, axes: Axes, rows: Sequence[MillionRow]) -> None:
    """Draw a bar for each row, the smallest first. Raises ValueError without rows."""
    if not rows:
        raise ValueError("no recording has many sessions of one role beside what smaller runs predict (make c1m)")
    rows = sorted(rows, key=million_gib)
    for at, row in enumerate(rows):
        colour = library_colour(row.stack)
        axes.barh(
            at, million_gib(row), height=THICK, color=colour if was_whole(row) else lighten(colour, PALE), zorder=2
        )
        write_beside(axes, million_gib(row), at, describe_row(row), bold=abs(row.check.difference) > TOLERANCE)
    list_rows(axes, [name_row(row) for row in rows])
    axes.set_xlim(0, 1.6 * max(map(million_gib, rows)))
    legend = [Patch(color="#777777", label="a million were run")]
    if not all(map(was_whole, rows)):
        legend.append(Patch(color=lighten("#777777", PALE), label="fewer were run; the line goes on"))
    roles = " or ".join(sorted(set(map(name_kept_role, rows)), reverse=True))
    subtitle = f"Peak RSS of one process with a million live {roles} sessions; their peers are freed after each window."
    runs = [row.check.run for row in rows]
    caption = f"In brackets: the largest run beside the line through two of 10 and 20 windows. {describe_records(runs)}"
    add_frame(made, describe_finding(rows), subtitle, caption, legend)
