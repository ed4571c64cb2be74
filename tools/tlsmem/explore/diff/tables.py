"""A diff as tables: what is held in all, the sites that grew and shrank, and how they were joined."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS, STAGES
from tlsmem.explore.diff.profile_diff import Diff
from tlsmem.explore.diff.rows import DiffRow, sum_rows
from tlsmem.explore.diff.sentences import callers_path, describe_moment, empty_side, format_amount
from tlsmem.profile.frames import format_frame, skip_allocators
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

ROWS = 10  # that grew, and as many that shrank, of a part
FIGURES = [
    Column("more_bytes", "NEW holds"),
    Column("old_bytes", "OLD"),
    Column("new_bytes", "NEW"),
    Column("old_blocks", "OLD blocks"),
    Column("new_blocks", "NEW blocks"),
]
JOINED_BY = Column("joined", "joined by", left=True)
OF = Column("part", "of", left=True, usual="harness")  # all of a program that has no roles
NO_BLOCKS = "the tool does not count blocks"
CAPTION = "OLD is {}, NEW is {}. Bytes live {}{}."
PER_SESSION = ": of client and server per session, above what was live before any; of others in the process"
BEFORE = " Warm-up: what calls for clients and servers left before any session was made."
SITES = (
    "By who called the allocator, innermost first: the {} of each that grew most, then those that shrank most; "
    "all rows of a kind add up to all that it holds."
)
JOINED = (
    "Call stacks are compared by the function, file and line of every frame, without versions of packages; what is "
    "left by less. Not joined: in one of them only, or named otherwise."
)


def tables(diff: Diff, rows: int = ROWS) -> list[Table]:
    return [totals(diff), sites(diff, rows), matching_table(diff)]


def caption(diff: Diff) -> str:
    moments = dict.fromkeys((diff.old.moment, diff.new.moment))
    per_session = PER_SESSION if diff.old.sessions else ""
    before = BEFORE if any(row.part == "warm-up" for row in diff.rows) else ""
    return (
        CAPTION.format(diff.old.label, diff.new.label, " and ".join(map(describe_moment, moments)), per_session)
        + before
    )


def totals(diff: Diff) -> Table:
    table = Table("diff", "What NEW holds more or less than OLD", caption(diff), [OF, *FIGURES])
    table.rows += [[text_cell(row.part), *figures(diff, row)] for row in diff.totals()]
    return table


def sites(diff: Diff, rows: int = ROWS) -> Table:
    columns = [OF, JOINED_BY, *FIGURES, Column("callers", "by", left=True)]
    table = Table("diff-sites", "Where NEW holds more or less", SITES.format(rows), columns)
    for total in diff.totals():
        table.rows += [[text_cell(total.part), *cells] for cells in part_rows(diff, diff.sites(total.part), rows)]
    return table


def part_rows(diff: Diff, found: list[DiffRow], rows: int) -> Iterator[list[Cell]]:
    grew = [row for row in found if diff.figures(row).more > 0]
    shrank = [row for row in reversed(found) if diff.figures(row).more < 0]
    for row in (*grew[:rows], *shrank[:rows]):
        callers_named = Cell(
            callers_path(row),
            " < ".join(format_frame(one, whole=True) for one in skip_allocators(row.frames)[:INNERMOST_CALLERS]),
        )
        yield [text_cell(describe_match(row)), *figures(diff, row), callers_named]
    yield from other_rows(diff, grew[rows:], "other{s} that grew")
    yield from other_rows(diff, shrank[rows:], "other{s} that shrank")
    yield from other_rows(diff, [row for row in found if not diff.figures(row).more], "site{s} of the same bytes")


def describe_match(row: DiffRow) -> str:
    if side := empty_side(row):
        return "only in NEW" if side == "OLD" else "only in OLD"
    return "in part not joined" if row.stage == "not joined" else row.stage


def other_rows(diff: Diff, rows: list[DiffRow], words: str) -> Iterator[list[Cell]]:
    if rows:
        counted = f"{len(rows):,} {words.format(s='s'[: len(rows) > 1])}"
        yield [text_cell("any"), *summed_cells(diff, rows), text_cell(counted)]


def matching_table(diff: Diff) -> Table:
    columns = [OF, JOINED_BY, Column("sites", "sites"), *FIGURES]
    table = Table("diff-joined", "How OLD's call stacks were joined with NEW's", JOINED, columns)
    for total in diff.totals():
        for stage in STAGES:
            rows = [row for row in diff.rows if (row.part, row.stage) == (total.part, stage)]
            if rows:
                count = Cell(f"{len(rows):,}", len(rows))
                table.rows.append([text_cell(total.part), text_cell(stage), count, *summed_cells(diff, rows)])
    return table


def summed_cells(diff: Diff, rows: Iterable[DiffRow]) -> list[Cell]:
    return figures(diff, sum_rows(rows))


def figures(diff: Diff, row: DiffRow) -> list[Cell]:
    """The direction is in words for people, in the sign for programs."""
    found = diff.figures(row)
    words = "as much" if not found.more else f"{format_amount(abs(found.more))} {'more' if found.more > 0 else 'less'}"
    return [Cell(words, plain(found.more)), *map(number, found)]


def number(value: Fraction | None) -> Cell:
    return missing_cell(NO_BLOCKS) if value is None else Cell(format_amount(value), plain(value))


def plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
