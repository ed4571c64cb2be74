"""The reconciliation of RSS: what one more pair adds to RSS, and of what it is made.

docs/explanation/meters/accounts.md says how.

A column is one entry of COLUMNS: what it takes of an account (stats/rss_breakdown.py), and how that is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.rss_breakdown import AllocatorPart, RssAccount, account_for_rss
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, SeriesFigures
from tlsmem.stats.session_cost import ESTABLISHED
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table, optional, with_note

HAS_REQUESTED = "all that was obtained from the OS: requested bytes are not known separately"


@dataclass(frozen=True)
class AccountRow(SeriesFigures):
    """A process of a stack in a setting, with what one more pair adds to its RSS."""

    account: RssAccount | Missing


def bytes_cell(value: Fraction, sign: str = "") -> Cell:
    """To the byte for people, to a tenth for programs."""
    return Cell(f"{round(value):{sign},}", round(float(value), 1))


def allocator_cell(part: AllocatorPart) -> Cell:
    """Bytes, with a note where requested bytes are among them."""
    return with_note(bytes_cell(part.amount), HAS_REQUESTED if part.has_requested else None)


def processes_with_rss(selection: Selection) -> Iterator[Series]:
    """Every process of every stack in every setting, where there are RSS runs."""
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                series = selection.series(stack, setting, process)
                if series.with_meter("rss"):
                    yield series


def account_value(take: Callable[[RssAccount], Any]) -> Callable[[AccountRow], Any]:
    """What is taken of a row's account where it has one."""
    return lambda row: map_present(take, row.account)


def bytes_column(key: str, heading: str, take: Callable[[RssAccount], Fraction | Missing]) -> Column:
    """A column of an amount of the account."""
    return Column(key, heading, value=account_value(take), form=bytes_cell)


COLUMNS = (
    bytes_column("requested_bytes", "requested", lambda account: account.requested),
    Column(
        "allocator_bytes",
        "+ allocator",
        value=account_value(lambda account: account.allocator),
        form=allocator_cell,
    ),
    bytes_column("untouched_bytes", "− never written", lambda account: account.breakdown.untouched),
    bytes_column("outside_bytes", "+ outside", lambda account: account.outside),
    optional(bytes_column("file_bytes", "+ file", lambda account: account.breakdown.file)),
    optional(bytes_column("shmem_bytes", "+ shared", lambda account: account.breakdown.shmem)),
    bytes_column("rss_bytes", "= RSS", lambda account: account.breakdown.rss),
    optional(bytes_column("rest_bytes", "+ not counted", lambda account: account.breakdown.unexplained)),
    optional(bytes_column("walked_bytes", "= by page walk", lambda account: account.breakdown.walked)),
)


def has_allocator_statistics(selection: Selection) -> bool:
    """Records of schema 1 have neither VmData nor allocator statistics."""
    return any(record.schema_ > 1 for record in selection.records)


def row_name_columns(selection: Selection) -> list[Column]:
    """The columns that name a row: setting, stack, process. The row has a series and its setting."""
    return [*setting_columns(selection), STACK, PROCESS]


def name_stacks(series: Series) -> str:
    """The stack is that of the process; of a mixed pair both are named."""
    ends = {series.stack, series.setting.peer or series.stack} - {series.owner}
    return " with ".join([series.owner, *ends])


STACK = Column("stack", "stack", left=True, value=lambda row: name_stacks(row.series))
PROCESS = Column("process", "process", left=True, usual="both", value=lambda row: row.series.process)


def accounts(selection: Selection) -> Table:
    """The table `accounts`, of every process with RSS runs and allocator statistics."""
    caption = (
        f"Bytes that one more pair adds at `{ESTABLISHED}` (in a process with one role: one more session). Requested "
        "is exact, from heap runs; the other terms are least-squares slopes through the means of RSS runs. Allocator: "
        "what it obtained from the OS beyond that. Never written: private memory that is not resident. Outside: "
        "private memory of others than the allocator. Not counted: what a walk of the page tables finds beyond the "
        f"kernel's counters. Each figure is rounded separately. {describe_common_settings(selection)}."
    )
    table = Table("accounts", "What RSS is made of", caption, [*row_name_columns(selection), *COLUMNS])
    if has_allocator_statistics(selection):
        table.add_rows(AccountRow(one, account_for_rss(selection, one)) for one in processes_with_rss(selection))
    return table
