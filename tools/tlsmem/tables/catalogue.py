"""Every table of a recording by name: who makes it, what runs it needs, and which are shown when nobody asks."""

from collections.abc import Callable, Sequence

from tlsmem.config.recording_command import why_no_call_sites
from tlsmem.config.table_names import NEEDS, SITES, describe_need
from tlsmem.config.topic import topic_tables, topics
from tlsmem.stats.configured_stack import base_settings
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import is_one_process
from tlsmem.tables import buckets, c10k
from tlsmem.tables.call_sites import call_sites
from tlsmem.tables.differences_from_2023 import account_2023_table
from tlsmem.tables.environments import environment_table
from tlsmem.tables.heap import heap_costs
from tlsmem.tables.in_use import in_use_table
from tlsmem.tables.memory_model import memory_model_table
from tlsmem.tables.mixed_pairs import mixed_pair_table
from tlsmem.tables.nonlinearity import has_bends, nonlinearity_table
from tlsmem.tables.peaks import peak_table
from tlsmem.tables.published import published_peak_table
from tlsmem.tables.reconciliation import reconciliation_summary_table, reconciliation_table
from tlsmem.tables.rss import role_costs, rss_costs
from tlsmem.tables.rss_accounts import accounts
from tlsmem.tables.runtime import runtime_table
from tlsmem.tables.settings import settings
from tlsmem.tables.stacks import stack_table
from tlsmem.tables.table import Table
from tlsmem.tables.waterfall import waterfall

MAKERS: dict[str, Callable[[Selection], Table]] = {  # in the order in which they are shown, before those of topics
    "settings": settings,
    "stacks": stack_table,
    "in-use": in_use_table,
    "peaks": peak_table,
    "published": published_peak_table,
    "account": account_2023_table,
    "heap": heap_costs,
    "rss": rss_costs,
    "roles": role_costs,
    "c10k": c10k.c10k,
    "interop": mixed_pair_table,
    "deployed": environment_table,
    "runtime": runtime_table,
    "waterfall": waterfall,
    "accounts": accounts,
    "bends": nonlinearity_table,
    "sites": reconciliation_summary_table,
    "closings": reconciliation_table,
    "buckets": buckets.bucket_table_from_selection,
    "call-sites": call_sites,
    "law": memory_model_table,
}
OF_RSS = ("rss", "roles", "c10k", "waterfall", "accounts")  # tables of which every figure is of runs without a meter
FEW = 6  # stacks that may stand side by side; more are in one table, which has a row for each


def list_makers() -> dict[str, Callable[[Selection], Table]]:
    """Return who makes each table, in the order in which they are shown."""
    return MAKERS | {name: topic.find(table.maker) for name, (topic, table) in topic_tables("memory").items()}


def build(
    selection: Selection, names: Sequence[str] | None = None, sessions: Sequence[int] | None = None
) -> list[Table]:
    """The tables of these names; without names all that have rows, the memory model only where windows differ. The
    peaks of these N, or of all.

    Raises ValueError when one that was asked for has no rows."""
    makers = list_makers() | {"peaks": lambda chosen: peak_table(chosen, sessions)}
    wanted = names or default_tables(selection)
    made = [make(selection) for name, make in makers.items() if name in wanted]
    shipped = list(filter(None, map(why_no_call_sites, selection.stacks)))
    for table in made:
        if NEEDS.get(table.name) == SITES:
            table.without = [*table.without, *shipped]
        if names and not table.rows:
            why = table.without[0] if table.without else f"it needs {describe_need(table.name)}"
            raise ValueError(f"table {table.name} has no rows: {why}")
    return [table for table in made if table.rows]


def has_many_stacks(selection: Selection) -> bool:
    """Return whether the stacks are too many to stand side by side."""
    return len(selection.stacks) > FEW


def default_tables(selection: Selection) -> list[str]:
    """Return the names of the tables that are shown when nobody asks, in their order."""
    if has_many_stacks(selection):
        for topic in topics():
            if topic.leads and topic.find(topic.leads)(selection):
                return ["settings", *(table.name for table in topic.tables if table.takes == "memory")]
        return ["settings", "in-use" if base_settings(selection) else "stacks"]
    where_they_tell = {
        "in-use": bool(base_settings(selection)),
        "law": selection.where(is_one_process).varies("window"),
        "bends": has_bends(selection),
    }
    where_they_tell |= dict.fromkeys(["stacks", "published", "account"], False)  # for who asks; others tell all of few
    has_rss = any(run.meter == "rss" for run in selection.records)
    where_they_tell |= dict.fromkeys(OF_RSS, has_rss)
    where_they_tell |= {"closings": False, "call-sites": False}  # many rows: for who asks
    where_they_tell |= {"buckets": not selection.varies("suite")}  # as many for each suite
    return [name for name in list_makers() if where_they_tell.get(name, True)]
