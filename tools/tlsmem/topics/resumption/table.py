"""The tables `resumption` (what servers and clients keep of sessions that are gone), `tickets` (what a ticket costs at
both ends) and `resumed` (resumed sessions beside full ones).

A column is one entry of the columns of its table: what it takes of a row, and how that is written."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from tlsmem.base.printable import strip_suite
from tlsmem.profile.frames import format_frame
from tlsmem.stats.missing import Missing, map_present, replace_missing, without_suite
from tlsmem.stats.selection import Selection
from tlsmem.store.record import Record
from tlsmem.tables.phase_holder import Holder, find_increase, holder_cell, sum_by_function
from tlsmem.tables.table import Cell, Column, Table, integer_cell, optional, quotient_cell
from tlsmem.topics.resumption.stores import SessionStore, find_stores
from tlsmem.topics.resumption.tickets import (
    IN_USE,
    REST,
    Amount,
    Case,
    ResumedRow,
    TicketRow,
    find_refusals,
    find_resumed,
    find_tickets,
)

USUAL_AUTH = "server"
APPLICATION_STORES = ("gnutls", "s2n")  # libraries that leave the store to their callers: it is the harness's
STATIC_STORES = {  # what holds entries that are not on the heap when a session is closed
    "wolfssl": "a static table, not on the heap",
    "bearssl": "memory of the application, which decides its size",
}
STORE_CAPTION = (
    "What a server's session store (the library's own, of its default size) or a client's cache keeps of closed "
    "sessions. Bytes: live heap of an entry. Per session: entries that one session adds, one for each ticket in TLS "
    "1.3. Most: entries when the store is full, after so many sessions. At the end: live heap of all entries and their "
    "table after the last session. Until: when an entry is dropped."
)
TICKET_CAPTION = (
    "Bytes of live heap that tickets add to a session with a full handshake. First: the first ticket; each more: the "
    "slope beyond it. At rest (established, without data) unless a column says otherwise. In use: after a full record "
    "each way. On the wire: bytes that the server sends for one ticket, with message and record headers. By default: "
    "tickets that the library issues."
)
RESUMED_CAPTION = (
    "Live heap of a resumed session, in bytes, compared with a full handshake and as many tickets. Taken over: what an "
    "earlier session allocated and a resumed one still holds: a client's state, or a server's entry. More: both "
    "together, minus a full session. In use: after a full record each way. Peak: one more of many, of what the session "
    "itself allocates."
)


def fraction_cell(value: Fraction) -> Cell:
    """Whole where it is."""
    return quotient_cell(value.numerator, value.denominator, digits=1)


def signed_cell(value: Fraction) -> Cell:
    """With its direction; a remainder too small to show has none."""
    cell = fraction_cell(value)
    sign = "+" if value > 0 and cell.text.strip("0.") else ""
    return Cell(sign + cell.text.replace("-0.0", "0.0"), cell.value, cell.note)


def amount(key: str, heading: str, value: Callable[..., Amount], form: Callable[..., Cell] = fraction_cell) -> Column:
    """Return a column of bytes or counts."""
    return Column(key, heading, value=lambda row: without_suite(value(row)), form=form)


def library(store: SessionStore) -> str:
    """Return the stack's library, as it is named in stacks."""
    return store.stack.partition("@")[0].partition("+")[0]


def place(store: SessionStore) -> str:
    """Return where the entries are."""
    if store.role == "client":
        return "client's cache"
    return "application's store" if library(store) in APPLICATION_STORES else "server's store"


def until(store: SessionStore) -> str:
    """Return when an entry goes; what does not stop to grow is named so, with the sessions that were tried."""
    if not store.wave_of_growth:
        return (
            STATIC_STORES.get(library(store), "the session is closed")
            if store.role == "server"
            else "the session is closed"
        )
    most = store.most_entries
    if isinstance(store.entry_bytes, Missing):
        return store.entry_bytes.reason
    if isinstance(most, Missing):
        return f"unbounded within {store.sessions[-1]:,} sessions"
    return f"{most:,} newer ones"


def store_holder(rows: Sequence[Record]) -> Callable[[SessionStore], Holder | Missing]:
    """Return what takes the function that allocated most of what a pair has left when all sessions are closed."""
    runs = {(run.stack, run.suite): run for run in rows if run.meter == "sites" and run.status == "measured"}

    def holder(store: SessionStore) -> Holder | Missing:
        run = runs.get((store.stack, store.suite))
        if not store.wave_of_growth or not run:
            return Missing("no sites run" if store.wave_of_growth else "nothing is left on the heap")
        held = sum_by_function(run, store.role, "drained")
        return max(held.values(), key=lambda one: one.bytes, default=Missing("nothing is left of the chosen pair"))

    return holder


def function_cell(holder: Holder) -> Cell:
    """The function; with its whole place in the library's source for programs."""
    return Cell(format_frame(holder.frame, whole=False), format_frame(holder.frame, whole=True))


def store_columns(records: Sequence[Record]) -> list[Column]:
    """The columns of `resumption`."""
    return [
        Column("place", "what is kept", left=True, value=place),
        Column("stack", "stack", left=True, value=lambda row: row.stack),
        Column("protocol", "TLS", left=True, value=lambda row: row.protocol),
        Column("auth", "authentication", left=True, usual=USUAL_AUTH, value=lambda row: row.auth),
        amount("entry_bytes", "bytes", lambda row: row.entry_bytes),
        optional(amount("entry_blocks", "blocks", lambda row: row.entry_blocks)),
        Column("per_session", "per session", value=lambda row: row.entries_each_session, form=integer_cell),
        Column("most_entries", "most", value=lambda row: row.most_entries, form=integer_cell),
        Column("sessions_until_full", "after sessions", value=lambda row: row.sessions_until_full, form=integer_cell),
        Column("last_bytes", "at the end, B", value=lambda row: row.last_bytes, form=integer_cell),
        Column("until", "until", left=True, value=until),
        optional(Column("holder", "held by", left=True, value=store_holder(records), form=function_cell)),
    ]


def store_table(records: Sequence[Record]) -> Table:
    """The table `resumption`: a row for each store and cache, those that grow without end first."""
    stores = find_stores(records)
    table = Table("resumption", "What is kept of closed sessions", STORE_CAPTION, store_columns(records))
    table.add_rows(sorted((one for one in stores if not one.refusal), key=order_store))
    refused = dict.fromkeys((one.stack, strip_suite(one.refusal)) for one in stores if one.refusal)
    table.without = [f"{stack}: {reason}" for stack, reason in refused]
    return table


def order_store(store: SessionStore) -> tuple[bool, bool, int]:
    """Servers before clients; then what does not stop, what stops, and what holds nothing on the heap."""
    return store.role == "client", not store.wave_of_growth, -store.live_bytes[-1]


STACK = Column("stack", "stack", left=True, value=lambda row: row.case.stack)
PROTOCOL = Column("protocol", "TLS", left=True, value=lambda row: row.case.protocol)
AUTH = Column("auth", "authentication", left=True, usual=USUAL_AUTH, value=lambda row: row.case.auth)
ROLE = Column("role", "role", left=True, value=lambda row: row.role)


def ticket_holder(row: TicketRow) -> Holder | Missing:
    """Return whose blocks are larger with a ticket than without one, at rest."""
    if replace_missing(row.first(), 0) < 1:
        return Missing("a ticket adds nothing at rest")
    runs = [next((run for run in row.sessions(tickets).sites if run.status == "measured"), None) for tickets in "10"]
    with_one, without = (run or Missing("no sites run") for run in runs)
    return map_present(lambda more, less: find_increase(more, less, row.role, REST), with_one, without)


TICKET_COLUMNS = [
    ROLE,
    STACK,
    PROTOCOL,
    AUTH,
    amount("without", "no ticket", lambda row: row.live("0")),
    amount("first", "first", lambda row: row.first(), signed_cell),
    amount("further", "each more", lambda row: row.further(), signed_cell),
    amount("first_in_use", "first, in use", lambda row: row.first(IN_USE), signed_cell),
    amount("further_in_use", "each more, in use", lambda row: row.further(IN_USE), signed_cell),
    amount("wire_bytes", "on the wire", lambda row: row.wire),
    optional(amount("by_library", "by default", lambda row: row.by_library)),
    optional(Column("holder", "held by", left=True, value=ticket_holder, form=holder_cell)),
]
RESUMED_COLUMNS = [
    ROLE,
    STACK,
    PROTOCOL,
    AUTH,
    Column("by", "resumed by", left=True, value=lambda row: row.by),
    amount("full", "full", lambda row: row.full.live(row.role, REST)),
    amount("resumed", "resumed", lambda row: row.live(REST)),
    amount("taken", "taken over", lambda row: row.taken(REST)),
    amount("more", "more", lambda row: row.difference(REST), signed_cell),
    amount("full_in_use", "full, in use", lambda row: row.full.live(row.role, IN_USE)),
    amount("resumed_in_use", "resumed", lambda row: row.live(IN_USE)),
    amount("more_in_use", "more", lambda row: row.difference(IN_USE), signed_cell),
    amount("full_peak", "full, peak", lambda row: row.full.peak(row.role)),
    amount("resumed_peak", "resumed", lambda row: row.resumed.peak(row.role)),
]


def ticket_table(selection: Selection) -> Table:
    """The table `tickets`: a row for each stack, protocol and role, servers first."""
    rows = find_tickets(selection.records)
    table = Table("tickets", "What a ticket costs", TICKET_CAPTION, list(TICKET_COLUMNS))
    table.add_rows(sorted((row for row in rows if not row.refusal), key=lambda row: row.role == "client"))
    table.without = describe_refusals(rows)
    return table


def resumed_table(selection: Selection) -> Table:
    """The table `resumed`: a row for each stack, protocol, way to resume, and role."""
    rows = find_resumed(selection.records)
    table = Table("resumed", "Resumed sessions compared with full handshakes", RESUMED_CAPTION, list(RESUMED_COLUMNS))
    table.add_rows(sorted((row for row in rows if not row.resumed.refusal), key=lambda row: row.role == "client"))
    table.without = describe_refusals(rows)
    return table


def describe_refusals(rows: Sequence[TicketRow | ResumedRow]) -> list[str]:
    """Return a sentence for each stack and reason."""
    return [
        f"{stack}: {describe_cases(cases)}: {strip_suite(reason)}"
        for (stack, reason), cases in find_refusals(rows).items()
    ]


def describe_cases(cases: Iterable[Case]) -> str:
    """Return protocols, with the authentication where it is mutual."""
    said = (case.protocol if case.auth == USUAL_AUTH else f"{case.protocol} with client certificates" for case in cases)
    return ", ".join(dict.fromkeys(said))
