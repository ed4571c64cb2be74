"""The tables `chains`, `chain-keys` and `client-certificates`: what a client certificate costs a server for each
connection, and for how long.

A column is one entry of COLUMNS: what it takes of a ChainRow, and how that is written."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from tlsmem.config.certificates import KINDS
from tlsmem.stats.chains import (
    EACH,
    MAIN_KEY,
    MUTUAL,
    SAME,
    USED,
    Amount,
    ChainRow,
    describe_refusals,
    find_chains,
)
from tlsmem.stats.missing import NOT_RECORDED, Missing, keep_present, map_present, without_suite
from tlsmem.stats.selection import Selection
from tlsmem.tables.phase_holder import Holder, find_bucket_holder, holder_cell
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, optional, rounded_cell

T = TypeVar("T")
PEER_CERTIFICATES = "peer certificates"  # a bucket
UNTIL_CLOSED, DURING_HANDSHAKE, FOREVER = "the session is closed", "the handshake ends", "for ever"
CAPTION = (
    "What a client certificate, sent with one intermediate, adds to a server session, in bytes of live heap: when "
    "established, when used (after 1 KiB each way), and as one more of many at the peak. Until: when the server frees "
    "it. RSS: when used, with 100 handshakes at a time. Per intermediate: the slope from none to four, at a server "
    "for its client's and at a client for its server's; in brackets for each byte of their DER encoding. Held by: the "
    "function below which the server's copy is allocated. All keys are RSA-2048."
)
KEYS_CAPTION = (
    "Bytes of live heap that a client certificate, sent with one intermediate, adds to an established server session, "
    "by the kind of all keys; in brackets for each byte of the DER encoding of what the client sends."
)
CLIENTS_CAPTION = (
    "Bytes of live heap of an established server session, if all clients have one certificate, and if each has its "
    "own, equally long and of the same intermediate. Shared: the difference, which sessions with equal chains hold in "
    "common. Remembered: live heap that the server keeps for each client when its sessions are closed. All keys: P-256."
)


def amount(
    key: str, heading: str, value: Callable[[ChainRow], Amount], form: Callable[[Any], Cell] = fraction_cell
) -> Column:
    """Return a column of bytes."""
    return Column(key, heading, value=lambda row: without_suite(value(row)), form=form)


def until(row: ChainRow) -> str | Missing:
    """Return when a server gives back what a client's certificate added."""

    def describe(kept: Fraction, added: Fraction, used: Fraction) -> str:
        if kept >= 1:
            return FOREVER
        return UNTIL_CLOSED if added >= 1 and used >= 1 else DURING_HANDSHAKE

    return map_present(describe, row.kept, row.added(), row.added(USED))


def per_der_byte(size: Amount, der: Amount) -> tuple[Fraction, Fraction] | Missing:
    """Return the size, and how many bytes it is for each byte of the encoding."""
    return map_present(lambda size, der: (size, size / der), size, der)


def per_der_byte_cell(value: tuple[Fraction, Fraction]) -> Cell:
    """`5,285 (5.3)`."""
    size, share = (float(one) for one in value)
    return Cell(f"{size:,.0f} ({share:.1f})", {"bytes": size, "bytes_per_der_byte": share})


def holder(row: ChainRow) -> Holder | Missing:
    """Return the function below which a server's copy of its client's chain is allocated."""
    return map_present(
        lambda run: find_bucket_holder(run, "server", "established", PEER_CERTIFICATES), row.run("sites", MUTUAL)
    )


def slope_column(key: str, heading: str, value: Callable[[ChainRow], Amount]) -> Column:
    """Return a column of bytes per intermediate."""
    return Column(
        key,
        heading,
        value=lambda row: without_suite(per_der_byte(value(row), row.intermediate_bytes)),
        form=per_der_byte_cell,
    )


STACK = Column("stack", "stack", left=True, value=lambda row: row.stack)
PROTOCOL = Column("protocol", "TLS", left=True, value=lambda row: row.configuration.protocol)
OPTIONS = Column("options", "options", left=True, usual="default", value=lambda row: row.configuration.options)
COLUMNS = (
    PROTOCOL,
    OPTIONS,
    STACK,
    amount("server_only", "server alone", lambda row: row.server_only),
    amount("added", "client certificate adds", lambda row: row.added()),
    optional(amount("added_used", "when used", lambda row: row.added(USED))),
    optional(amount("added_peak", "at the peak", lambda row: row.peak_added)),
    Column("until", "until", left=True, value=lambda row: without_suite(until(row))),
    optional(amount("added_rss", "RSS, when used", lambda row: row.rss_added, rounded_cell)),
    slope_column("per_client_intermediate", "server, per intermediate", lambda row: row.per_client_intermediate),
    slope_column("per_server_intermediate", "client, per intermediate", lambda row: row.per_server_intermediate),
    optional(Column("holder", "held by", left=True, value=holder, form=holder_cell)),
)


def rank_chains(selection: Selection) -> Iterator[ChainRow]:
    """Yield those with a figure, the least added first; configurations are in the order of the selection."""
    rows = find_chains(selection, MUTUAL)
    order = list(dict.fromkeys(row.configuration for row in rows))
    added = {row: found for row in rows if isinstance(found := row.added(), Fraction)}
    yield from sorted(added, key=lambda row: (order.index(row.configuration), added[row]))


def newest_of_each_stack(recordings: Iterable[Selection]) -> list[ChainRow]:
    """Return the rows with a figure of each stack and configuration in the first of the recordings that has any: live
    heap is the same on every machine."""
    return list(dict.fromkeys(row for selection in recordings for row in rank_chains(selection)))


def chain_table(selection: Selection) -> Table:
    """The table `chains`: a row for each stack, protocol and library option, the least added first."""
    table = Table("chains", "What a client certificate costs a server", CAPTION, list(COLUMNS))
    table.add_rows(row for row in rank_chains(selection) if row.configuration.key == MAIN_KEY)
    every = find_chains(selection, MUTUAL)
    table.without = describe_refusals(
        (row for row in every if row.configuration.key == MAIN_KEY), lambda row: row.added()
    )
    return table


class KeyRow:
    """A stack, a protocol and an option, with a row of each kind of key."""

    def __init__(self, rows: Sequence[ChainRow]) -> None:
        self.by_key = {row.configuration.key: row for row in rows}
        self.stack, self.configuration = rows[0].stack, rows[0].configuration

    def added(self, key: str) -> tuple[Fraction, Fraction] | Missing:
        """Return what a certificate of this kind adds, and for each byte of what is sent."""
        if key not in self.by_key:
            return Missing(NOT_RECORDED)
        row = self.by_key[key]
        return without_suite(per_der_byte(row.added(), Fraction(row.chain_bytes)))


def key_column(key: str) -> Column:
    """Return the column of a kind of key."""
    return Column(key, key, value=lambda row: row.added(key), form=per_der_byte_cell)


KEY_COLUMNS = (PROTOCOL, OPTIONS, STACK, *(key_column(key) for key in KINDS.values()))


def key_table(selection: Selection) -> Table:
    """The table `chain-keys`: a row for each stack and protocol that has several kinds of keys, a column for each."""
    found: dict[tuple[str, str, str], list[ChainRow]] = {}
    for row in find_chains(selection, MUTUAL):
        found.setdefault((row.configuration.protocol, row.configuration.options, row.stack), []).append(row)
    several = [KeyRow(rows) for rows in found.values() if len(rows) > 1]
    table = Table("chain-keys", "Client certificates by kind of key", KEYS_CAPTION, list(KEY_COLUMNS))
    table.add_rows(row for row in several if keep_present(row.added(key) for key in row.by_key))
    return table


CLIENT_COLUMNS = (
    PROTOCOL,
    OPTIONS,
    STACK,
    amount("same", "one for all", lambda row: row.live("server", SAME)),
    amount("each", "one each", lambda row: row.live("server", EACH)),
    amount("unshared", "shared", lambda row: row.unshared),
    amount("remembered", "remembered", lambda row: row.remembered),
)


def client_table(selection: Selection) -> Table:
    """The table `client-certificates`: a row for each stack, protocol and option in which each client had its own."""
    rows = find_chains(selection, EACH)
    table = Table(
        "client-certificates", "One client certificate for all, or one each", CLIENTS_CAPTION, list(CLIENT_COLUMNS)
    )
    table.add_rows(row for row in rows if isinstance(row.unshared, Fraction))
    table.without = describe_refusals(rows, lambda row: row.unshared)
    return table


def has_chains(selection: Selection) -> bool:
    """Return whether servers with client certificates and without were recorded."""
    return bool(find_chains(selection, MUTUAL))
