"""The table of tools/dev/profile_totals.py."""

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.tool_totals import SAMPLES, Comparison, compare
from tlsmem.base import markdown_embedding
from tlsmem.base.errors import UserError
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Heading, Table, integer_cell, with_note

TITLE = "Totals by the tool that wrote the file, and by heap read"
CAPTION = (
    "One file of each form, of small programs. B: bytes, in ad hoc modes units of the program's own. Peak, end and "
    "dump are the moments of heap read; allocated: over the whole run."
)


def difference_cell(one: Comparison) -> Cell:
    """How much less `heap read` says."""
    less = one.told - one.ours
    return with_note(integer_cell(less), one.sample.why if less else None)


COLUMNS: tuple[Heading, ...] = (
    Column("form", "file", left=True, value=lambda one: one.sample.form),
    Column("printer", "printed by", left=True, value=lambda one: one.sample.printer),
    Column("figure", "total", left=True, value=lambda one: one.figure),
    Column("told", "its own tool", value=lambda one: one.told, form=integer_cell),
    Column("ours", "heap read", value=lambda one: one.ours, form=integer_cell),
    Column("difference", "difference", value=lambda one: one, form=difference_cell),
)


def find_comparisons(word: str) -> Iterator[Comparison]:
    """Raises UserError with a sentence where a tool is missing, or no form has this word in its name."""
    samples = [sample for sample in SAMPLES if word in sample.form]
    if not samples:
        raise UserError(f"--form {word}: there are {'; '.join(sample.form for sample in SAMPLES)}", 2)
    for sample in samples:
        with tempfile.TemporaryDirectory() as folder:
            try:
                yield from compare(sample, Path(folder))
            except pytest.skip.Exception as missing:
                raise UserError(f"{sample.form}: {missing}") from None


def build_table(found: Iterable[Comparison]) -> Table:
    table = Table("profile-totals", TITLE, CAPTION, COLUMNS)
    table.add_rows(found)
    return table


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Print the table or put it into the page, and exit with a sentence where a total differs."""
    with Console(stderr=True).status("one file of each form"):
        found = list(find_comparisons(given.form))
    table = build_table(found)
    if given.into:
        try:
            markdown_embedding.replace_block(given.into, given, parser, render.markdown(table))
        except (OSError, ValueError) as error:
            raise UserError(str(error)) from None
    else:
        print(render.markdown(table), end="")
    if different := [one for one in found if not one.is_equal]:
        first = different[0]
        raise UserError(
            f"{first.sample.form}: {first.figure}: {first.sample.printer} says {first.told:,}, heap read {first.ours:,}"
        )
