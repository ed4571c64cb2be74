"""A diff as tables: what each side holds in all, the sites that grew and shrank, and how call stacks were joined."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tlsmem.explore.diff.match_callstacks import INNERMOST_CALLERS, STAGES
from tlsmem.explore.diff.profile_diff import Diff
from tlsmem.explore.diff.rows import WARM_UP, DiffRow, sum_rows
from tlsmem.explore.diff.site_text import describe_moment, format_amount, format_callers, format_change
from tlsmem.profile.frames import format_frame, skip_containers
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, text_cell

ROWS = 10  # that grew, and as many that shrank, of a part
FIGURES = [
    Heading("more_bytes", "NEW holds"),
    Heading("old_bytes", "OLD"),
    Heading("new_bytes", "NEW"),
    Heading("old_blocks", "OLD blocks"),
    Heading("new_blocks", "NEW blocks"),
]
JOINED_BY = Heading("joined", "joined by", left=True)
CALLERS = Heading("callers", "call stack", left=True)
OF = Heading("part", "owner", left=True, usual="harness")  # all of a program that has no roles
NO_BLOCKS = "the tool does not count blocks"
CAPTION = "OLD is {}, NEW is {}. The bytes are those live {}."
PER_SESSION = (
    " Client and server: per session, above what was live before the first session. All others: of the whole process."
)
WARM_UP_NOTE = " Warm-up: what client and server calls allocated before the first session, and still hold."
SITES = (
    "Callers of the allocator, innermost first. Per owner, the {0} sites that grew most, then the {0} that "
    "shrank most; the rows of an owner add up to its total."
)
BY_CALL = " Sites that one call led to and that changed alike are one row, which names who made the call."
BELOW = "The call sites that one row of the table above sums up; all are below the call that it names."
JOINED = (
    "Call stacks are joined by the function, file and line of every frame, without versions of packages. Call "
    "stacks left over are matched by fewer attributes. Not joined: call stacks that only one profile has, or that "
    "have different names in the two. A row of the tables above may sum several call stacks."
)


def tables(diff: Diff, rows: int = ROWS) -> list[Table]:
    """All tables; `rows` sites that grew and as many that shrank, of each part."""
    below, joins = below_table(diff, rows), [] if diff.is_of_one_profile else [joins_table(diff)]
    return [totals_table(diff), sites_table(diff, rows), *([below] if below.rows else []), *joins]


def totals_table(diff: Diff) -> Table:
    table = Table("diff", "How much more or less NEW holds than OLD", write_caption(diff), [OF, *FIGURES])
    table.rows += [[text_cell(row.part), *figure_cells(diff, row)] for row in diff.totals()]
    return table


def write_caption(diff: Diff) -> str:
    per_session = PER_SESSION if diff.old.sessions else ""
    warm_up = WARM_UP_NOTE if any(row.part == WARM_UP for row in diff.rows) else ""
    return f"{describe_captioned_sides(diff)}{per_session}{warm_up}"


def describe_captioned_sides(diff: Diff) -> str:
    """Say what OLD and NEW are."""
    old, new = (describe_moment(side.moment) for side in (diff.old, diff.new))
    if diff.is_of_one_profile:
        return f"OLD is what was live {old}, NEW what was live {new}."
    moments = old if old == new else f"{old} (OLD) and {new} (NEW)"
    return CAPTION.format(diff.old.label, diff.new.label, moments)


def sites_table(diff: Diff, rows: int = ROWS) -> Table:
    sites = {total.part: diff.sites_by_call(total.part) for total in diff.totals()}
    caption = SITES.format(rows) + BY_CALL * any(site.below for several in sites.values() for site in several)
    table = Table("diff-sites", "Where NEW holds more or less", caption, [OF, joined_by(diff), *FIGURES, CALLERS])
    for part, several in sites.items():
        table.rows += [[text_cell(part), *cells] for cells in part_rows(diff, several, rows)]
    return table


def below_table(diff: Diff, rows: int) -> Table:
    columns = [OF, Heading("call", "below", left=True), joined_by(diff), *FIGURES, CALLERS]
    table = Table("diff-below", "Call sites below one call", BELOW, columns)
    for total in diff.totals():
        grew, shrank = changed_sites(diff, diff.sites_by_call(total.part))
        for call in (*grew[:rows], *shrank[:rows]):
            head = [text_cell(total.part), name_cell(call)]
            table.rows += [[*head, *site_cells(diff, site)] for site in call.below]
    return table


def changed_sites(diff: Diff, sites: Sequence[DiffRow]) -> tuple[list[DiffRow], list[DiffRow]]:
    """Return those that grew, and those that shrank; the largest change first. `sites` begin with what grew most."""
    grew = [site for site in sites if diff.figures(site).more > 0]
    return grew, [site for site in reversed(sites) if diff.figures(site).more < 0]


def joined_by(diff: Diff) -> Heading:
    """Return the column that says by what a site was found on both sides, or on which side it is."""
    return Heading("joined", "live in", left=True) if diff.is_of_one_profile else JOINED_BY


def part_rows(diff: Diff, sites: Sequence[DiffRow], rows: int) -> Iterator[list[Cell]]:
    """The largest changes one by one, the others as sums."""
    grew, shrank = changed_sites(diff, sites)
    yield from (site_cells(diff, site) for site in (*grew[:rows], *shrank[:rows]))
    for others, words in ((grew[rows:], "other{} that grew"), (shrank[rows:], "other{} that shrank")):
        yield from sum_cells(diff, others, words)
    yield from sum_cells(
        diff, [site for site in sites if not diff.figures(site).more], "site{} without a change in bytes"
    )


def site_cells(diff: Diff, site: DiffRow) -> list[Cell]:
    return [text_cell(describe_join(diff, site)), *figure_cells(diff, site), name_cell(site)]


def name_cell(site: DiffRow) -> Cell:
    callers = skip_containers(site.frames)[:INNERMOST_CALLERS]
    return Cell(format_callers(site), " < ".join(format_frame(one, whole=True) for one in callers))


def describe_join(diff: Diff, site: DiffRow) -> str:
    if site.only_holder:
        return f"only in {site.only_holder}"
    if diff.is_of_one_profile:
        return "both"
    return "in part not joined" if site.stage == "not joined" else site.stage


def sum_cells(diff: Diff, sites: list[DiffRow], words: str) -> Iterator[list[Cell]]:
    """A row for several sites, or none."""
    if sites:
        count = f"{len(sites):,} {words.format('s'[: len(sites) > 1])}"
        yield [text_cell("any"), *figure_cells(diff, sum_rows(sites)), text_cell(count)]


def joins_table(diff: Diff) -> Table:
    columns = [OF, JOINED_BY, Heading("sites", "call stacks"), *FIGURES]
    table = Table("diff-joined", "How OLD's call stacks were joined with NEW's", JOINED, columns)
    for total in diff.totals():
        for stage in STAGES:
            rows = [row for row in diff.rows if (row.part, row.stage) == (total.part, stage)]
            if rows:
                count = Cell(f"{len(rows):,}", len(rows))
                cells = figure_cells(diff, sum_rows(rows))
                table.rows.append([text_cell(total.part), text_cell(stage), count, *cells])
    return table


def figure_cells(diff: Diff, row: DiffRow) -> list[Cell]:
    """Cells of FIGURES. The direction is a word in the text, and a sign in the value."""
    amounts = diff.figures(row)
    change = format_change(amounts.more) if amounts.more else "as much"
    return [Cell(change, plain_number(amounts.more)), *map(amount_cell, amounts)]


def amount_cell(value: Fraction | None) -> Cell:
    return missing_cell(NO_BLOCKS) if value is None else Cell(format_amount(value), plain_number(value))


def plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
