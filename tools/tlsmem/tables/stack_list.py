"""Details of every stack: which suites it can do, by its own word; or where each comes from;
and the releases that registries list and no stack has."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tlsmem.build import sources
from tlsmem.build.offers import NewRelease
from tlsmem.config import definitions
from tlsmem.config.certificates import is_for_all
from tlsmem.config.definitions import Stack
from tlsmem.config.libraries import library_title
from tlsmem.run import stack_abilities
from tlsmem.run.provenance import is_built, read_manifest, unavailable_reason
from tlsmem.run.stack_abilities import Ability
from tlsmem.tables.table import Cell, Column, Table, text_cell

CAPTION = (
    "Listed: the index of the registry has it. Served: it was downloaded just now. If the newest release of a series "
    "is not served, the next older one is tried. Where a crate does not name its library's release, its own version "
    "stands."
)
BLANK = Cell("", None)
STACK = Column("stack", "stack", left=True, value=lambda row: row.name)


class AbilityRow(NamedTuple):
    """A stack with what it can do, by suite; nothing is known of a stack that is not built."""

    name: str
    abilities: Mapping[tuple[str, str], Ability]  # by stack and suite

    @property
    def licence(self) -> str:
        """As stacks.toml has it."""
        return definitions.stacks()[self.name].licence


def built_cell(name: str) -> Cell:
    """Whether it is built here, or why it cannot be."""
    if is_built(name):
        return text_cell("yes")
    reason = unavailable_reason(name)
    return Cell("unavailable", "unavailable", reason) if reason else text_cell("no")


def ability_cell(ability: Ability | None) -> Cell:
    """What the stack does; an empty cell where that is not known."""
    return Cell(ability.does, ability.does, ability.reason) if ability else BLANK


def ability_value(suite: str) -> Callable[[AbilityRow], Ability | None]:
    """Return a function that takes a row's ability in the suite."""
    return lambda row: row.abilities.get((row.name, suite))


def ability_columns(suites: Sequence[str]) -> Iterator[Column]:
    """Yield a column for each suite between those of the stack."""
    yield STACK
    yield Column("built", "built", left=True, value=lambda row: row.name, form=built_cell)
    for suite in suites:
        yield Column(suite, suite.replace("-", " "), left=True, value=ability_value(suite), form=ability_cell)
    yield Column("licence", "licence", left=True, value=lambda row: row.licence)


def what_they_can(stacks: list[str]) -> Table:
    """A column for each suite, a row for each stack; reasons are notes."""
    there = [stack for stack in stacks if is_built(stack)]
    for stack in there:
        read_manifest(stack)  # another binary than it describes is an exit
    suites = [name for name, suite in definitions.suites().items() if name != "none" and is_for_all(suite.certs)]
    found = stack_abilities.find_abilities(there, suites)
    caption = (
        "Built: on this machine. The other columns are empty until `tls-memtest build STACK`. Each suite of "
        "memtest/suites.toml has a column, with blanks instead of dashes: the result of one handshake. A stack without "
        "TLS does only the suite none."
    )
    table = Table("stacks", "Stacks and what they can do", caption, [*ability_columns(suites)])
    table.add_rows(AbilityRow(stack, found) for stack in stacks)
    return table


def origin(stack: Stack) -> str:
    """Return where the stack's source comes from."""
    if not stack.tls:
        return "this repository"
    if stack.prefix:
        return "what is installed at PREFIX="
    if stack.pkg_config:
        return f"package {stack.package} of the system"
    if stack.pinned:
        return sources.describe_package(stack.pinned)
    return "the toolchain itself" if stack.harness == "go" else f"the lockfile beside {stack.manifest}"


def compiler(stack: Stack) -> str:
    """Return the compilers of the stack."""
    return {"c": stack.compiler, "rust": f"rustc, {stack.compiler}", "go": "go"}[stack.harness]


class SourceRow(NamedTuple):
    """A stack as stacks.toml has it."""

    name: str
    stack: Stack


SOURCE_COLUMNS = (
    STACK,
    Column("what", "what it is", left=True, value=lambda row: row.stack.what),
    Column("source", "source", left=True, value=lambda row: origin(row.stack)),
    Column("licence", "licence", left=True, value=lambda row: row.stack.licence),
    Column("compiler", "compiler", left=True, value=lambda row: compiler(row.stack)),
)


def sources_table(stacks: list[str]) -> Table:
    """The table of where each stack comes from."""
    caption = "From memtest/stacks.toml, where each source is pinned by its SHA-256 too."
    table = Table("sources", "Stacks and where they come from", caption, [*SOURCE_COLUMNS])
    known = definitions.stacks()
    table.add_rows(SourceRow(name, known[name]) for name in stacks)
    return table


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
