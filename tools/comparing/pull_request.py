"""A comparison as Markdown for a pull request: the sentence that says all, the largest movers, and tables, folded where
they are long; and the same on a terminal, where nothing is folded."""

from collections.abc import Iterable, Sequence

import rich.console
import rich.text

import forms
from comparing import comparison_tables, movers
from comparing.comparison import Comparison
from comparing.explained import Explained
from tables import Table

SHORT = 8  # rows, or sentences, that are not folded
REFUSED = "Not compared, since declared settings differ (`--force` compares them all the same)"
FORCED = "Compared by force, although declared settings differ"
ALONE = "On one side only"
NOTES = "To be known"
LARGEST = "Largest changes"


def markdown(comparison: Comparison, explained: Explained) -> str:
    found = movers.largest(comparison)
    parts = [f"**{movers.headline(comparison)}**"]
    parts += [bullets(mover.sentence(explained) for mover in found)] if found else []
    parts += [bullets([f"{title}: {one}" for one in said]) for title, said in first(comparison).items() if said]
    parts += [table(one) for one in comparison_tables.tables(comparison, explained)]
    parts += [folded(title, bullets(said), len(said)) for title, said in last(comparison).items() if said]
    return "\n\n".join(parts) + "\n"


def first(comparison: Comparison) -> dict[str, Sequence[str]]:
    """What must be known before any figure."""
    return {FORCED: [str(one) for one in comparison.forced], REFUSED: refused(comparison)}


def last(comparison: Comparison) -> dict[str, Sequence[str]]:
    return {ALONE: comparison.alone, NOTES: comparison.notes}


def refused(comparison: Comparison) -> list[str]:
    """Equal reasons once, with what they are of."""
    found: dict[tuple, list[str]] = {}
    for match in comparison.refused:
        found.setdefault(match.apart, []).append(f"{match.suite} of {match.stack}")
    return [f"{'; '.join(map(str, apart))}: {movers.listed(of)}" for apart, of in found.items()]


def bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in sentences)


def table(one: Table) -> str:
    text = forms.text_of([one], forms.MARKDOWN).strip()
    return folded(summary(one), text, len(one.rows) + len(one.without))


def summary(one: Table) -> str:
    """Its title, and how many rows changed."""
    at = next((at for at, column in enumerate(one.columns) if column.key == "difference"), None)
    if at is None:
        return f"{one.title}: {len(one.rows):,} rows"
    changed = sum(row[at].value["verdict"] == "changed" for row in one.rows)
    return f"{one.title}: {changed:,} of {len(one.rows):,} changed"


def folded(title: str, text: str, rows: int) -> str:
    """Markdown inside HTML needs blank lines around it."""
    if rows <= SHORT:
        return text if text.startswith("**") else f"{title}:\n\n{text}"
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def terminal(comparison: Comparison, explained: Explained, console: rich.console.Console) -> None:
    console.print(rich.text.Text(movers.headline(comparison), style="bold"))
    sentences = [mover.sentence(explained) for mover in movers.largest(comparison)]
    for title, said in ({LARGEST: sentences} | first(comparison)).items():
        paragraph(title, said, console)
    console.print()
    forms.show(comparison_tables.tables(comparison, explained), forms.TABLE, console)
    for title, said in last(comparison).items():
        paragraph(title, said, console)


def paragraph(title: str, said: Sequence[str], console: rich.console.Console) -> None:
    if said:
        console.print(rich.text.Text(f"{title}:"))
        for one in said:
            console.print(rich.text.Text(f"- {one}"))
