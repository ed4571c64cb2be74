"""Releases that registries list and no stack has: where, after which stack, and whether they are served."""

from collections.abc import Sequence

from tlsmem.build.offers import NewRelease
from tlsmem.config.libraries import library_title
from tlsmem.tables.table import Cell, Column, Table, text_cell

CAPTION = (
    "Listed: the index of the registry has it. Served: it was downloaded just now. If the newest release of a series "
    "is not served, the next older one is tried. Where a crate does not name its library's release, its own version "
    "stands."
)


def served_cell(one: NewRelease) -> Cell:
    """Whether it is served, with the reason."""
    return Cell("no", "no", one.refusal) if one.refusal else text_cell("yes")


COLUMNS = (
    Column("library", "library", left=True, value=lambda one: library_title(one.offer.library)),
    Column("release", "release", left=True, value=lambda one: one.offer.version),
    Column("after", "newer than", left=True, value=lambda one: one.offer.known),
    Column("listed", "listed as", left=True, value=lambda one: one.offer.place),
    Column("served", "served", left=True, value=lambda one: one, form=served_cell),
)


def new_releases_table(found: Sequence[NewRelease]) -> Table:
    """Return the table; without rows where every release is a stack."""
    table = Table("outdated", "Releases that no stack has", CAPTION, [*COLUMNS])
    table.add_rows(found)
    return table
