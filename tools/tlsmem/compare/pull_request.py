"""A comparison as Markdown for a pull request: the sentence that says all, the largest movers, and tables, folded where
they are long; and the same on a terminal, where nothing is folded."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import rich.console

from tlsmem.base.printable import printable_text
from tlsmem.compare import change_text, comparison_tables, largest_changes
from tlsmem.compare.comparison import Comparison
from tlsmem.compare.declared_settings import SettingDifference
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.config import choices
from tlsmem.stats.change import CHANGED, UNKNOWN
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Table

SHORT, LONG = 8, 60  # rows, or sentences, that are not folded; rows from which on those without a change are left out
OTHERS = "{} rows without a change are left out; use --format csv or json to see them."
REFUSED = "Not compared: declared settings differ (to compare them anyway: `--force`)"
FORCED = "Compared because of --force, although declared settings differ"
ALONE_TITLE = "On one side only"
NOTES = "Notes"
LARGEST_TITLE, UNCHANGED = "Largest changes", "No change"


def format_markdown(comparison: Comparison, explained: CallSiteExplainer) -> str:
    found = largest_changes.select_with_moves(comparison, explained)
    parts = [f"**{render.escape_html(change_text.summarize_comparison(comparison))}**"]
    parts += [format_bullets([f"{title}: {one}" for one in said]) for title, said in first(comparison).items() if said]
    parts += [format_bullets(change_text.describe_large_change(one, explained) for one in found)] if found else []
    parts += [table(one) for one in comparison_tables.build_tables(comparison, explained)]
    parts += [folded(title, format_bullets(said), len(said)) for title, said in last(comparison).items() if said]
    return "\n\n".join(parts) + "\n"


def first(comparison: Comparison) -> dict[str, Sequence[str]]:
    """What must be known before any figure."""
    return {
        FORCED: [one.describe(comparison.sides) for one in comparison.forced],
        REFUSED: describe_refused(comparison),
    }


def last(comparison: Comparison) -> dict[str, Sequence[str]]:
    return {ALONE_TITLE: comparison.alone, NOTES: comparison.notes}


def describe_refused(comparison: Comparison) -> list[str]:
    """Equal reasons once, with what they are of."""
    found: dict[tuple[SettingDifference, ...], list[str]] = {}
    for match in comparison.refused:
        found.setdefault(match.apart, []).append(f"{match.suite} of {match.stack}")
    described = ("; ".join(one.describe(comparison.sides) for one in apart) for apart in found)
    return [f"{text}: {change_text.join_suites(of)}" for text, of in zip(described, found.values(), strict=True)]


def format_bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {render.escape_html(printable_text(one))}" for one in sentences)


def table(one: Table) -> str:
    shown = shortened(one)
    text = (
        render.format_tables([shown], choices.MARKDOWN).strip()
        if shown.rows or shown.without
        else render.escape_html(describe_unchanged(shown))
    )
    return folded(summary(one), text, len(shown.rows) + len(shown.without))


def summary(one: Table) -> str:
    """Its title, and how many rows changed."""
    rows = changed(one)
    return (
        f"{one.title}: {len(one.rows):,} rows"
        if rows is None
        else f"{one.title}: {len(rows):,} of {len(one.rows):,} changed"
    )


def changed(one: Table, but: Sequence[str] = (CHANGED,)) -> list[list[Cell]] | None:
    """The rows with such a verdict; None where there are no verdicts."""
    at = [
        at
        for at, column in enumerate(one.columns)
        if column.key in ("difference", "blocks") and "sites" not in one.name
    ]
    return [row for row in one.rows if any(row[one].value["verdict"] in but for one in at)] if at else None


def shortened(one: Table) -> Table:
    """Of a long one the rows in which something changed, or may have; how many others there are is said."""
    rows = changed(one, (CHANGED, UNKNOWN))
    if rows is None or len(one.rows) <= LONG or len(rows) == len(one.rows):
        return one
    others = len(one.rows) - len(rows)
    return replace(one, rows=rows, caption=f"{one.caption} {OTHERS.format(f'{others:,}')}")


def folded(title: str, text: str, rows: int) -> str:
    """Markdown inside HTML needs blank lines around it."""
    if rows <= SHORT:
        return text if text.startswith("**") else f"{title}:\n\n{text}"
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def print_terminal(comparison: Comparison, explained: CallSiteExplainer, console: rich.console.Console) -> None:
    render.print_text(console, change_text.summarize_comparison(comparison), verdict_style(comparison))
    found = largest_changes.select_with_moves(comparison, explained)
    sentences = [change_text.describe_large_change(one, explained) for one in found]
    for title, said in (first(comparison) | {LARGEST_TITLE: sentences}).items():
        paragraph(title, said, console)
    console.print()
    made = [shortened(one) for one in comparison_tables.build_tables(comparison, explained)]
    render.show([one for one in made if one.rows or one.without], choices.TABLE, console)
    paragraph(UNCHANGED, [f"{one.title}: {one.caption}" for one in made if not one.rows and not one.without], console)
    for title, said in last(comparison).items():
        paragraph(title, said, console)


def verdict_style(comparison: Comparison) -> str:
    """Return the colour of the first line: red where anything got worse, yellow where that is not known, else green."""
    if any(row.change.better is False for row in comparison.changed):
        return "bold red"
    return "bold yellow" if comparison.unknown else "bold green"


def describe_unchanged(one: Table) -> str:
    """Of which no row is left."""
    return f"**{one.title}**\n\n{one.caption}"


def paragraph(title: str, said: Sequence[str], console: rich.console.Console) -> None:
    if said:
        render.print_text(console, f"{title}:")
        for one in said:
            render.print_text(console, f"- {printable_text(one)}")
