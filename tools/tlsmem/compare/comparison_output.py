"""Where a comparison goes, and with which exit status: for people, a pull request, a program, `git bisect run`."""

from collections.abc import Iterable

import rich.console

from tlsmem.base import stdout
from tlsmem.compare import comparison_tables, largest_changes, pull_request
from tlsmem.compare.comparison import Comparison
from tlsmem.compare.names import CHANGED, NOTHING, UNCHANGED
from tlsmem.compare.site_changes import Explained
from tlsmem.tables import forms, render
from tlsmem.tables.table import Cell, Column, Table, whole, word


def status(comparison: Comparison) -> int:
    """0 no change, 3 changed, 1 nothing that could be compared."""
    if not comparison.rows or len(comparison.unknown) == len(comparison.rows):
        return NOTHING
    return CHANGED if comparison.changed else UNCHANGED


def text_of(comparison: Comparison, form: str, explained: Explained | None = None) -> str:
    """Markdown, CSV or JSON."""
    explained = explained or Explained(comparison)
    if form == forms.MARKDOWN:
        return pull_request.markdown(comparison, explained)
    made = [summary(comparison), largest(comparison, explained), *comparison_tables.tables(comparison, explained)]
    made += [listed("not-compared", "Not compared", pull_request.refused(comparison))]
    made += [listed("alone", pull_request.ALONE, comparison.alone), listed("notes", "Notes", comparison.notes)]
    return render.text_of([one for one in made if one.rows], form)


def show(comparison: Comparison, form: str | None = None) -> None:
    """On stdout; drawn on a terminal, else Markdown, unless a form is asked for."""
    form = form or (forms.TABLE if stdout.is_terminal() else forms.MARKDOWN)
    explained = Explained(comparison)
    with stdout.checked():
        console = rich.console.Console()
        if form == forms.TABLE:
            pull_request.terminal(comparison, explained, console)
        else:
            console.file.write(text_of(comparison, form, explained))


def summary(comparison: Comparison) -> Table:
    keys = ("old", "new", "figures", "changed", "worse", "not_known", "status")
    columns = [Column(key, key.replace("_", " "), left=key in ("old", "new")) for key in keys]
    changed = comparison.changed
    worse = sum(row.change.better is False for row in changed)
    counts = [len(comparison.rows), len(changed), worse, len(comparison.unknown), status(comparison)]
    rows = [[*map(word, comparison.labels), *map(whole, counts)]]
    return Table("summary", "Summary", largest_changes.headline(comparison), columns, rows)


def largest(comparison: Comparison, explained: Explained) -> Table:
    keys = ("suite", "stack", "role", "phase", "meter", "difference", "sentence")
    made = Table("movers", pull_request.LARGEST, "By share.", [Column(key, key, left=True) for key in keys])
    for mover in largest_changes.largest(comparison):
        row = mover.row
        place = [word(one) for one in (row.place.suite, row.match.stack, row.place.role, row.place.phase)]
        found = comparison_tables.difference(row)
        sentence = Cell(mover.sentence(explained), mover.sentence(explained))
        made.rows.append([*place, word(row.place.meter), found, sentence])
    return made


def listed(name: str, title: str, sentences: Iterable[str]) -> Table:
    return Table(name, title, "", [Column("sentence", "what", left=True)], [[word(one)] for one in sentences])
