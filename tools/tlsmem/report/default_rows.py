"""Which rows of a table stand there at first: one for each stack, all in the setting in which most were measured."""

from collections.abc import Sequence

from tlsmem.cost.find_costs import SUITE
from tlsmem.tables.table import Cell, Table

ASPECTS = (  # columns that tell rows of one stack apart, the most important first
    *("suite", "role", "part", "roles", "process", "allocator", "books", "window", "env", "cpu", "threads", "setting"),
    *("recording", "status"),
)
PREFERRED = {"suite": SUITE, "role": "server", "part": "server", "process": "server"}
NEARLY = 0.75  # of the most stacks: then the preferred value is taken


def default_rows(table: Table) -> list[int] | None:
    """Return the places of the rows, in their order; None where the table has one row a stack already, or no stacks."""
    keys = [column.key for column in table.columns]
    if "stack" not in keys or len({row[keys.index("stack")].text for row in table.rows}) in (0, len(table.rows)):
        return None
    stack, aspects = keys.index("stack"), [(key, keys.index(key)) for key in ASPECTS if key in keys]
    usual = usual_setting(table, stack, aspects)
    best: dict[str, int] = {}
    for at, row in enumerate(table.rows):
        name = row[stack].text
        if name not in best or agreement(row, usual) > agreement(table.rows[best[name]], usual):
            best[name] = at
    return sorted(best.values())


def usual_setting(table: Table, stack: int, aspects: Sequence[tuple[str, int]]) -> dict[int, str]:
    """Return the text of each aspect's column: the preferred one, or that of the most stacks, aspect by aspect."""
    left = [row for row in table.rows if is_measured(row, table)] or table.rows
    usual = {}
    for key, at in aspects:
        stacks: dict[str, set[str]] = {}
        for row in left:
            stacks.setdefault(row[at].text, set()).add(row[stack].text)
        most = max(stacks, key=lambda text: len(stacks[text]))
        preferred = PREFERRED.get(key, most)
        usual[at] = preferred if len(stacks.get(preferred, ())) >= NEARLY * len(stacks[most]) else most
        left = [row for row in left if row[at].text == usual[at]]
    return usual


def is_measured(row: Sequence[Cell], table: Table) -> bool:
    """Return whether the row has any figure."""
    return any(not cell.is_missing for cell, column in zip(row, table.columns, strict=True) if not column.left)


def agreement(row: Sequence[Cell], usual: dict[int, str]) -> tuple[bool, ...]:
    """Return which aspects of the row are as usual, the most important first."""
    return tuple(row[at].text == text for at, text in usual.items())
