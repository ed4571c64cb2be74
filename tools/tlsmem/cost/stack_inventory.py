"""Every stack by library: its protocols, whether it is recorded or built, and what a session of it costs."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.config import definitions
from tlsmem.config.libraries import libraries, library_key, sort_by_library
from tlsmem.config.recording_command import AS_DEPLOYED, Advice, advise_recording_together
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_table import bytes_cell
from tlsmem.cost.find_costs import SUITE, StackCosts, find_costs_or_like
from tlsmem.run.provenance import is_built
from tlsmem.schema.roles import Role
from tlsmem.stats.costs import COSTS, Cost
from tlsmem.stats.missing import NOT_RECORDED, Missing
from tlsmem.store import recordings
from tlsmem.tables import table_command
from tlsmem.tables.table import Cell, Column, Table, text_cell

ROLE: Role = "server"
PROTOCOLS = {"TLSv1.2": "1.2", "TLSv1.3": "1.3"}
NO_TLS = "No TLS: what the harness itself takes"
WITHOUT_TLS = "it has no TLS"
STATES = {(True, True): "both", (True, False): "recorded", (False, True): "built", (False, False): "neither"}
CAPTION = (
    "What one more {role} session costs, in bytes: {suite}, the library's defaults (more: `tls-memtest cost STACK`). "
    "Recorded: in data/. Built: on this machine (`tls-memtest build STACK`). `--details` shows the suites that "
    "each stack can do, `--sources` where each comes from."
)


@dataclass(frozen=True)
class StackRow:
    """A stack of memtest/stacks.toml, with what the recordings have of it."""

    name: str
    costs: StackCosts | None = None  # None where no recording has the stack
    advice: Advice | None = None  # how to record it as servers run it; None where it is recorded so

    @property
    def library(self) -> str:
        """Return the library as people write it."""
        known = libraries().get(library_key(self.name))
        if not known and definitions.stacks()[self.name].tls:
            return library_key(self.name)
        return known.name if known else NO_TLS

    @property
    def protocols(self) -> str:
        """Return the versions of TLS that it is expected to speak: `1.2 1.3`."""
        stack = definitions.stacks()[self.name]
        spoken = [
            text for key, text in PROTOCOLS.items() if stack.tls and not stack.expect.refusal_of(frozenset({key}))
        ]
        return " ".join(spoken) or "none"

    @property
    def state(self) -> str:
        """Return whether it is recorded, built, both or neither."""
        return STATES[bool(self.costs), is_built(self.name)]

    @property
    def name_cell(self) -> Cell:
        """The name, with the suite of its costs where it is another than the table's."""
        other = self.costs and self.costs.recording and self.costs.suite != SUITE
        return Cell(self.name, self.name, f"in {suite_title(self.costs.suite)}" if self.costs and other else None)

    def figure(self, cost: Cost) -> float | Missing:
        """Return one of the three costs in bytes."""
        if not definitions.stacks()[self.name].tls:
            return Missing(WITHOUT_TLS)
        if self.advice:
            return Missing(f"not recorded in use; {self.advice.sentence}")
        return self.costs.figure(ROLE, cost) if self.costs else Missing(NOT_RECORDED)


def cost_column(cost: Cost) -> Column:
    """Return the column of one of the three costs."""
    return Column(cost.key, cost.name, value=lambda row: row.figure(cost), form=bytes_cell)


COLUMNS = (
    Column("library", "library", left=True, value=lambda row: row.library),
    Column("stack", "stack: name@version", left=True, value=lambda row: row.name_cell, form=lambda cell: cell),
    Column("tls", "TLS", left=True, value=lambda row: row.protocols),
    Column("state", "recorded or built", left=True, value=lambda row: row.state, form=text_cell),
    *map(cost_column, COSTS),
)


def inventory_table(stacks: Iterable[str], among: Sequence[Path]) -> Table:
    """Return the table of these stacks: a library's together, its newest release first."""
    caption = CAPTION.format(role=ROLE, suite=suite_title(SUITE))
    table = Table("stacks", "Stacks", caption, [*COLUMNS])
    there = {path: set(recordings.stacks(path)) for path in among}
    several = {name: [path for path in among if name in there[path]] for name in sort_by_library(stacks)}
    costs = {name: find_costs_or_like(name, SUITE, some) if some else None for name, some in several.items()}
    lacking = [name for name, found in costs.items() if not (found and found.recording)]
    advice = advise_recording_together(AS_DEPLOYED, lacking)
    table.add_rows(StackRow(name, found, advice.get(name)) for name, found in costs.items())
    return table


def run(given: argparse.Namespace, parser: argparse.ArgumentParser, stacks: Sequence[str]) -> None:
    """Print the table of these stacks, or write it into a page. Raises ValueError or OSError with a sentence."""
    table_command.deliver([inventory_table(stacks, recordings.find_recordings(None))], given, parser)
