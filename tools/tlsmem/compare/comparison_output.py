"""Where a comparison goes, and with which exit status: for people, a pull request, a program, `git bisect run`."""

from collections.abc import Iterable

import rich.console

from tlsmem.base import stdout
from tlsmem.compare import change_text, comparison_tables, largest_changes, pull_request
from tlsmem.compare.comparison import Comparison
from tlsmem.compare.counted_changes import CountedChanges
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.config import choices
from tlsmem.tables import render
from tlsmem.tables.table import Heading, Table, integer_cell, text_cell

UNCHANGED, NOTHING, CHANGED, SKIP = 0, 1, 3, 125  # exit statuses; SKIP: of git bisect, a commit that cannot be judged


def exit_status(
    comparison: Comparison, counted: CountedChanges | None = None, explained: CallSiteExplainer | None = None
) -> int:
    """0 no change, 3 changed, 1 nothing that could be compared. With `counted` only such changes are any."""
    if not comparison.rows or len(comparison.unknown) == len(comparison.rows):
        return NOTHING
    if counted and counted.narrows:
        return CHANGED if counted.select(comparison, explained or CallSiteExplainer(comparison)) else UNCHANGED
    return CHANGED if comparison.changed else UNCHANGED


def format_comparison(comparison: Comparison, form: str, explained: CallSiteExplainer | None = None) -> str:
    """Markdown, CSV or JSON."""
    explained = explained or CallSiteExplainer(comparison)
    if form == choices.MARKDOWN:
        return pull_request.format_markdown(comparison, explained)
    made = [summary(comparison), largest(comparison, explained), *comparison_tables.build_tables(comparison, explained)]
    made += [sentence_table("not-compared", "Not compared", pull_request.describe_refused(comparison))]
    made += [
        sentence_table("alone", pull_request.ALONE_TITLE, comparison.alone),
        sentence_table("notes", "Notes", comparison.notes),
    ]
    return render.format_tables([one for one in made if one.rows], form)


def print_comparison(
    comparison: Comparison, form: str | None = None, explained: CallSiteExplainer | None = None
) -> None:
    """On stdout; drawn on a terminal, else Markdown, unless a form is asked for."""
    form = form or (choices.TABLE if stdout.is_terminal() else choices.MARKDOWN)
    explained = explained or CallSiteExplainer(comparison)
    with stdout.raise_write_errors():
        console = rich.console.Console()
        if form == choices.TABLE:
            pull_request.print_terminal(comparison, explained, console)
        else:
            console.file.write(format_comparison(comparison, form, explained))


def summary(comparison: Comparison) -> Table:
    keys = ("old", "new", "figures", "changed", "worse", "not_known", "status")
    columns = [Heading(key, key.replace("_", " "), left=key in ("old", "new")) for key in keys]
    changed = comparison.changed
    worse = sum(row.change.better is False for row in changed)
    counts = [len(comparison.rows), len(changed), worse, len(comparison.unknown), exit_status(comparison)]
    rows = [[*map(text_cell, comparison.labels), *map(integer_cell, counts)]]
    return Table("summary", "Summary", change_text.summarize_comparison(comparison), columns, rows)


def largest(comparison: Comparison, explained: CallSiteExplainer) -> Table:
    keys = ("suite", "stack", "role", "phase", "meter", "difference", "sentence")
    made = Table("movers", pull_request.LARGEST_TITLE, "By share.", [Heading(key, key, left=True) for key in keys])
    for change in largest_changes.select_with_moves(comparison, explained):
        row = change.row
        place = [text_cell(one) for one in (row.place.suite, row.match.stack, row.place.role, row.place.phase)]
        found = comparison_tables.difference_cell(row)
        sentence = text_cell(change_text.describe_large_change(change, explained))
        made.rows.append([*place, text_cell(row.place.meter), found, sentence])
    return made


def sentence_table(name: str, title: str, sentences: Iterable[str]) -> Table:
    return Table(name, title, "", [Heading("sentence", "what", left=True)], [[text_cell(one)] for one in sentences])
