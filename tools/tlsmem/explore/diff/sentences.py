"""A diff in words. OLD and NEW are said each time: which is which must not be guessed from a sign."""

import posixpath
import re
from collections.abc import Iterator
from fractions import Fraction

from tlsmem.explore import profile_selection, short_function_names
from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS, frames_from_driver
from tlsmem.explore.diff.profile_diff import Diff, DiffSide
from tlsmem.explore.diff.rows import SESSIONS, DiffRow, Part, SiteAmounts, sum_rows
from tlsmem.profile.frames import skip_allocators
from tlsmem.profile.heap_profile import BASE, END, PEAK, profiler_name
from tlsmem.stats.comparability import stack_label
from tlsmem.tables.table import percent

LARGEST, LINES = 3, 4  # sites of a part, lines of a site
WHERE = {
    "client context": "in the client's context",
    "server context": "in the server's context",
    "harness": "in the harness",
    "warm-up": "from before any session",
}
MOMENTS = {"established": "when established", PEAK: "at the peak", END: "at the end of the run"}
UNEXPLAINED = "what no call stack explains"
STRANGERS = "OLD and NEW share no call stack{}: they are of two programs, or name functions each in its own way{}."
BY_BUCKET = (
    "; what the bytes of two stacks are for is compared by `--buckets` of each profile, and in words by "
    "tools/explain_buckets.py"
)


def describe_diff(diff: Diff) -> list[str]:
    return [*told(diff), *compared(diff), *sums(diff), *largest(diff), *unjoined(diff), *nameless(diff)]


def describe_sides(diff: Diff) -> list[str]:
    """What OLD and NEW are, and before it whether they have anything to do with each other."""
    return [*two_programs(diff), f"OLD is {described(diff.old)}; NEW is {described(diff.new)}."]


def two_programs(diff: Diff) -> Iterator[str]:
    if strangers(diff):
        runs = diff.old.profile.run, diff.new.profile.run
        two_stacks = all(runs) and stack_label(runs[0]) != stack_label(runs[1])
        of = " of client or server sessions" if session_rows(diff) else ""
        yield STRANGERS.format(of, BY_BUCKET if two_stacks else "")


def told(diff: Diff) -> Iterator[str]:
    yield from describe_sides(diff)
    if diff.forced:
        yield f"Compared by --force: {'; '.join(diff.forced)}."
    if diff.old.moment != diff.new.moment:
        yield f"OLD is taken {describe_moment(diff.old.moment)}, NEW {describe_moment(diff.new.moment)}."


def described(side: DiffSide) -> str:
    run, profile = side.profile.run, side.profile
    if run is None:
        return f"{profile.file}, by {profiler_name(profile.tool)}"
    words = f"{stack_label(run)}, {run.suite}, N = {run.sessions:,}, by {profiler_name(profile.tool)}"
    return words if profile.of_one_pair else f"{words} ({posixpath.basename(profile.file)})"


def compared(diff: Diff) -> Iterator[str]:
    above = f" above `{BASE}`"
    sessions = f"; of client and server sessions per session{above}, else of the process" if diff.old.sessions else ""
    yield f"Bytes and blocks are those requested and live {describe_moment(diff.new.moment)}{sessions}."


def sums(diff: Diff) -> Iterator[str]:
    if not diff.rows:
        yield "Neither OLD nor NEW holds anything then."
    elif not any(diff.figures(row).differ for row in diff.rows):
        yield "No site differs."
    for row in diff.totals():
        figures = diff.figures(row)
        where = f"{place(diff, row.part)} {describe_moment(diff.new.moment)}"
        if figures.more:
            yield f"NEW holds {more(figures, share=True)} {where}: {both(figures)}."
        else:
            yield f"NEW holds as much as OLD {where}: {both(figures)}."


def largest(diff: Diff) -> Iterator[str]:
    """The sites that differ most, of each part; of two programs all that only one has goes without saying."""
    apart = strangers(diff)
    for part in dict.fromkeys(row.part for row in diff.rows):
        rows = sorted(diff.sites(part), key=lambda row: -abs(diff.figures(row).more))
        for row in rows[:LARGEST]:
            if diff.figures(row).more and not (apart and empty_side(row)):
                yield one(diff, row)


def one(diff: Diff, row: DiffRow) -> str:
    figures, where = diff.figures(row), f"{place(diff, row.part)} in {callers_path(row)}"
    if empty_side(row) == "OLD":
        return f"NEW holds {format_amount(figures.new_bytes)} B {where}, where OLD holds nothing."
    if empty_side(row) == "NEW":
        return f"OLD holds {format_amount(figures.old_bytes)} B {where}, where NEW holds nothing."
    return f"NEW holds {more(figures)} {where}."


def unjoined(diff: Diff) -> Iterator[str]:
    """What stands on one side only, and how far that can be trusted."""
    if strangers(diff):
        return
    for part in dict.fromkeys(row.part for row in diff.rows):
        rows = [row for row in diff.rows if row.part == part and row.stage == "not joined"]
        if rows:
            sizes = diff.figures(sum_rows(rows))
            sides = (
                f"{format_amount(sizes.old_bytes)} B of OLD and "
                f"{format_amount(sizes.new_bytes)} B of NEW {place(diff, part)}"
            )
            yield f"{sides} could not be joined: they are in one of them only, or named otherwise."


def strangers(diff: Diff) -> bool:
    """Whether both hold something and nothing of it could be joined: of sessions, where there are any, since what
    the harness and the loader do is alike by chance."""
    rows = session_rows(diff) or diff.rows
    held = {side for row in rows for side in ("OLD", "NEW") if side != empty_side(row)}
    return len(held) > 1 and all(row.stage == "not joined" for row in rows)


def session_rows(diff: Diff) -> list[DiffRow]:
    return [row for row in diff.rows if row.part in SESSIONS]


def nameless(diff: Diff) -> Iterator[str]:
    frames = {frame for row in diff.rows for frame in frames_from_driver(skip_allocators(row.frames))}
    known = {frame.module for frame in frames if frame.file}
    if modules := {frame.module for frame in frames if frame.module} - known:
        yield f"Names are missing or guessed, since there is no debug information, in {', '.join(sorted(modules))}."
    if any(row.stage == "module only" for row in diff.rows):
        yield "Frames without a name are compared by their module only: sites of one module are then one."


def describe_moment(moment: str) -> str:
    return MOMENTS.get(moment) or profile_selection.describe_moment(moment)


def place(diff: Diff, part: Part) -> str:
    if part in ("client", "server"):
        return f"per {part} session" if diff.old.sessions else f"in all {part} sessions"
    foreign = all(row.part == "harness" for row in diff.rows) and diff.new.profile.run is None
    return "in the process" if foreign else WHERE[part]


def callers_path(row: DiffRow) -> str:
    """The innermost callers, shortened; the first with its lines."""
    first, *others = [*skip_allocators(row.frames)[:INNERMOST_CALLERS]] or [None]
    if first is None:
        return UNEXPLAINED
    text = short_function_names.describe_frame(first)
    if len(row.lines) > 1:
        lines = ", ".join(map(str, sorted(row.lines)[:LINES])) + (", ..." if len(row.lines) > LINES else "")
        text = re.sub(r":\d+\)$", f":{lines})", text)
    return " < ".join([text, *map(short_function_names.frame_name, others)])


def empty_side(row: DiffRow) -> str | None:
    """The side that has nothing here."""
    sides = {"OLD": row.old, "NEW": row.new}
    return next((side for side, held in sides.items() if not held.bytes and not held.blocks), None)


def format_amount(number: Fraction) -> str:
    """Whole where it is; a tenth of a byte says that it is not."""
    return f"{int(number):,}" if number.denominator == 1 else f"{float(number):,.1f}"


def more(figures: SiteAmounts, share: bool = False) -> str:
    """1,408 B more; with a share it is that of OLD's."""
    of_old = f" ({percent(float(abs(figures.more / figures.old_bytes)))})" if share and figures.old_bytes else ""
    return f"{format_amount(abs(figures.more))} B{of_old} {'more' if figures.more > 0 else 'less'}"


def both(figures: SiteAmounts) -> str:
    old, new = (figures.old_bytes, figures.old_blocks), (figures.new_bytes, figures.new_blocks)
    return f"OLD {size(*old)}, NEW {size(*new)}"


def size(held: Fraction, blocks: Fraction | None) -> str:
    counted = "" if blocks is None else f" in {format_amount(blocks)} block{'s'[: blocks != 1]}"
    return f"{format_amount(held)} B{counted}"
