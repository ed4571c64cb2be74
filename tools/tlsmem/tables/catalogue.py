"""Every table of a recording by name: who makes it, what runs it needs, and which are shown when nobody asks."""

from collections.abc import Callable, Sequence

from tlsmem.config.recording_command import why_no_call_sites
from tlsmem.config.table_names import NEEDS, SITES
from tlsmem.stats.chains import MUTUAL, find_chains
from tlsmem.stats.configured_stack import base_settings
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import is_one_process
from tlsmem.tables import buckets, c10k
from tlsmem.tables.account_2023 import account_2023_table
from tlsmem.tables.call_sites import call_sites
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
from tlsmem.topics.chains import table as chains
from tlsmem.topics.million.table import million_table
from tlsmem.topics.post_quantum import table as post_quantum
from tlsmem.topics.resumption import table as resumption
from tlsmem.topics.resumption.tickets import find_resumed, find_tickets

MAKERS: dict[str, Callable[[Selection], Table]] = {  # in the order in which they are shown
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
    "chains": chains.chain_table,
    "chain-keys": chains.key_table,
    "client-certificates": chains.client_table,
    "tickets": resumption.ticket_table,
    "resumed": resumption.resumed_table,
    "c1m": million_table,
    "post-quantum": post_quantum.certificate_table,
    "key-exchange": post_quantum.exchange_table,
}
CLIENT_TABLES = ("chains", "chain-keys", "client-certificates")  # those of runs with client certificates
OF_RSS = ("rss", "roles", "c10k", "waterfall", "accounts")  # tables of which every figure is of runs without a meter
FEW = 6  # stacks that may stand side by side; more are in one table, which has a row for each


def build(
    selection: Selection, names: Sequence[str] | None = None, sessions: Sequence[int] | None = None
) -> list[Table]:
    """The tables of these names; without names all that have rows, the memory model only where windows differ. The
    peaks of these N, or of all.

    Raises ValueError when one that was asked for has no rows."""
    makers = MAKERS | {"peaks": lambda chosen: peak_table(chosen, sessions)}
    made = [makers[name](selection) for name in MAKERS if name in (names or default_tables(selection))]
    shipped = list(filter(None, map(why_no_call_sites, selection.stacks)))
    for table in made:
        if NEEDS.get(table.name) == SITES:
            table.without = [*table.without, *shipped]
        if names and not table.rows:
            why = table.without[0] if table.without else f"it needs {NEEDS[table.name]}"
            raise ValueError(f"table {table.name} has no rows: {why}")
    return [table for table in made if table.rows]


def has_many_stacks(selection: Selection) -> bool:
    """Return whether the stacks are too many to stand side by side."""
    return len(selection.stacks) > FEW


def default_tables(selection: Selection) -> list[str]:
    """Return the names of the tables that are shown when nobody asks, in their order."""
    if has_many_stacks(selection) and find_chains(selection, MUTUAL):
        return ["settings", *CLIENT_TABLES]
    if has_many_stacks(selection) and (find_tickets(selection.records) or find_resumed(selection.records)):
        return ["settings", "tickets", "resumed"]
    if has_many_stacks(selection):
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
    return [name for name in MAKERS if where_they_tell.get(name, True)]
