"""What a byte makes a session hold that its peer sends before it is through with the handshake: of a large ClientHello
a server, beyond a small one that is answered and not read either; of a large message of a server's a client."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import holder_cell
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, optional
from tlsmem.topics.stall.stalls import Stall, find_stalls
from tlsmem.topics.stall.table import describe_refusals, holder

KINDS = {  # points to what is large there
    "hello-alpn": "60,000 bytes of ALPN names",
    "hello-alpn-8k": "8,192 bytes of ALPN names",
    "hello-name": "a host name of 253 bytes",
    "hello-name-256": "a host name of 256 bytes",
    "hello-name-60k": "a host name of 60,000 bytes",
    "hello-ticket": "a session ticket of 60,000 bytes",
    "hello-psk": "a pre_shared_key of 60,000 bytes",
    "hello-unknown": "an unknown extension of 60,000 bytes",
    "request-10": "10 names of authorities in a certificate request",
    "request-150": "150 names of authorities in a certificate request",
    "ticket-64k": "a session ticket of 65,529 bytes",
}
SMALL, SILENT = "unread-flight", "silent"  # what it is held against; the second where the first was not measured
SMALL_OF_SERVERS = {"request-10": "request-1", "request-150": "request-1", "ticket-64k": "ticket"}


class LargeHello(NamedTuple):
    """A stack that took a large message, or refused it, and the same stack and suite with a small one."""

    stall: Stall
    small: Stall

    @property
    def kind(self) -> str:
        """What is large."""
        return KINDS[self.stall.point]

    @property
    def sent_bytes(self) -> Fraction | Missing:
        """Bytes that the peer sent more than for the small one."""
        return self.stall.received_bytes - self.small.received_bytes

    @property
    def held_bytes(self) -> Fraction | Missing:
        """Live heap that the session holds more than with the small one."""
        return self.stall.pinned_bytes - self.small.pinned_bytes

    @property
    def held_rss_bytes(self) -> Fraction | Missing:
        """The same of resident memory."""
        return self.stall.pinned_rss_bytes - self.small.pinned_rss_bytes

    @property
    def held_per_byte(self) -> Fraction | Missing:
        """Bytes held for each byte sent."""
        return self.held_bytes / self.sent_bytes


def find_large_hellos(records: Iterable[Record]) -> list[LargeHello]:
    """Return them by kind, then as they were recorded; without stacks that do not do the suite at all."""
    return pair_with_small(find_stalls(records))


def pair_with_small(stalls: Sequence[Stall]) -> list[LargeHello]:
    """Return the large ones, each with the small one of its stack and suite."""
    known = {(one.stack, one.suite, one.point): one for one in stalls if not one.refusal}
    found = []
    for stall in stalls:
        if stall.point in KINDS:
            points = [SMALL_OF_SERVERS[stall.point]] if stall.point in SMALL_OF_SERVERS else [SMALL, SILENT]
            places = ((stall.stack, stall.suite, point) for point in points)
            small = next((known[place] for place in places if place in known), None)
            if small:
                found.append(LargeHello(stall, small))
    return found


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
