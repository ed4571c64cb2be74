"""The table of every stack: whether it is built, its licence, and what it can do; or where each comes from."""

import argparse
import sys

from tlsmem.base import markdown_embedding
from tlsmem.config import choices, definitions, toml_tables
from tlsmem.config.definitions import Source, Stack
from tlsmem.run import stack_abilities
from tlsmem.run.provenance import is_built, read_manifest, unavailable_reason
from tlsmem.run.stack_abilities import Ability
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table, text_cell

BLANK = Cell("", None)
HEADINGS = {"stack": "stack", "what": "what it is", "source": "source", "licence": "licence", "compiler": "compiler"}


def state(name: str) -> Cell:
    if is_built(name):
        return text_cell("yes")
    reason = unavailable_reason(name)
    return Cell("unavailable", "unavailable", reason) if reason else text_cell("no")


def does(ability: Ability | None) -> Cell:
    if not ability:
        return BLANK
    return Cell(ability.does, ability.does, ability.reason)


def what_they_can(stacks: list[str]) -> Table:
    """A column for each suite, a row for each stack; reasons are notes."""
    there = [stack for stack in stacks if is_built(stack)]
    for stack in there:
        read_manifest(stack)  # another binary than it describes is an exit
    suites = [suite for suite in definitions.suites() if suite != "none"]
    found = stack_abilities.find_abilities(there, suites)
    columns = [Column("stack", "stack", left=True), Column("built", "built", left=True)]
    columns += [Column(suite, suite.replace("-", " "), left=True) for suite in suites]
    caption = (
        "Built: here; of a stack that is not, nothing is known, and tools/build.py STACK builds it. A column for each "
        "suite of memtest/suites.toml, with blanks in place of dashes: the harness was asked, and made one handshake. "
        "A stack without TLS does the suite none alone."
    )
    table = Table("stacks", "Stacks and what they can do", caption, [*columns, Column("licence", "licence", left=True)])
    for stack in stacks:
        cells = [does(found.get((stack, suite))) for suite in suites]
        table.rows.append([text_cell(stack), state(stack), *cells, text_cell(definitions.stacks()[stack].licence)])
    return table


def origin(stack: Stack) -> str:
    if not stack.tls:
        return "this repository"
    if stack.prefix:
        return "what is installed at PREFIX="
    if stack.pkg_config:
        return f"package {stack.package} of the system"
    if stack.source:
        return describe_package(stack.source)
    return "the toolchain itself" if stack.harness == "go" else f"the lockfile beside {stack.manifest}"


def describe_package(source: Source) -> str:
    if source.crate:
        return f"crate {source.crate} {source.version}"
    return f"Debian's source package {source.debian} {source.version} ({source.suite})"


def compiler(stack: Stack) -> str:
    return {"c": stack.compiler, "rust": f"rustc, {stack.compiler}", "go": "go"}[stack.harness]


def sources(stacks: list[str]) -> Table:
    columns = [Column(key, heading, left=True) for key, heading in HEADINGS.items()]
    caption = "From memtest/stacks.toml, where each source is pinned by its SHA-256 too."
    table = Table("sources", "Stacks and where they come from", caption, columns)
    known = definitions.stacks()
    for name in stacks:
        one = known[name]
        table.rows.append([*map(text_cell, (name, one.what, origin(one), one.licence, compiler(one)))])
    return table


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    definitions.check_definitions()
    table = (sources if given.sources else what_they_can)(toml_tables.expand_stacks(given.stacks, "any"))
    if not given.into:
        render.print_all([table], given.format)
        return
    try:
        markdown_embedding.replace_block(given.into, given, parser, render.format_tables([table], choices.MARKDOWN))
    except ValueError as error:
        sys.exit(f"memtest: {error}")
    except OSError as error:
        sys.exit(f"memtest: {error.filename}: {error.strerror}")
