"""The table `hello`: what a byte of a large ClientHello makes a server hold, or a byte of a server's a client."""

from collections.abc import Sequence
from fractions import Fraction

from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import holder_cell
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, optional
from tlsmem.topics.stall.large_hellos import find_large_hellos
from tlsmem.topics.stall.table import describe_refusals, holder

CAPTION = (
    "Bytes that a peer sends beyond those of a small message, and live heap that the session holds for them until it "
    "is closed. A large ClientHello: the client is not authenticated, the server has answered, and the client does not "
    "read the answer. Held at a client: the server's handshake is not complete. Against: the point with the small "
    "message; silent: a peer that sends nothing. Held by: the function that allocates the largest blocks."
)


def per_byte_cell(value: Fraction) -> Cell:
    """`1.73`."""
    return Cell(f"{float(value):,.2f}", float(value))


COLUMNS = (
    Column("point", "point", left=True, value=lambda row: row.stall.point),
    Column("kind", "what is large", left=True, value=lambda row: row.kind, optional=True),
    Column("stack", "stack", left=True, value=lambda row: row.stall.stack),
    Column("suite", "suite", left=True, value=lambda row: row.stall.suite),
    Column("role", "held at", left=True, usual="server", value=lambda row: row.stall.role),
    Column("against", "against", left=True, usual="unread-flight", value=lambda row: row.small.point),
    Column("sent_bytes", "sent", value=lambda row: row.sent_bytes, form=fraction_cell),
    Column("held_bytes", "held", value=lambda row: row.held_bytes, form=fraction_cell),
    Column("held_per_byte", "held per byte", value=lambda row: row.held_per_byte, form=per_byte_cell),
    optional(Column("held_rss_bytes", "RSS held", value=lambda row: row.held_rss_bytes, form=fraction_cell)),
    optional(Column("kept_bytes", "kept", value=lambda row: row.stall.kept_bytes, form=fraction_cell)),
    Column("holder", "held by", left=True, value=lambda row: holder(row.stall), form=holder_cell),
)


def hello_table(records: Sequence[Record]) -> Table:
    """A row a kind and stack; below them the stacks that refuse such a message, with their words."""
    found = find_large_hellos(records)
    table = Table("hello", "Large messages of peers", CAPTION, list(COLUMNS))
    table.add_rows(one for one in found if not one.stall.refusal)
    table.without = describe_refusals(one.stall for one in found)
    return table
