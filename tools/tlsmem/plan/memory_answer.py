"""Two answers: the memory of so many connections, and how many fit into so much memory."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.plan import capacity
from tlsmem.plan.amounts import format_size, memory_cell
from tlsmem.plan.assumptions import assumed_size
from tlsmem.plan.capacity import Demand, Price
from tlsmem.plan.connection_model import BY_HEAP, BY_RATIO, BY_RSS, MEASURED, QUOTIENT, ConnectionModel
from tlsmem.plan.recordings import display_name
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell, with_note

SHORT = {MEASURED: "measured", BY_HEAP: "estimate", BY_RSS: "estimate", BY_RATIO: "estimate", QUOTIENT: "quotient"}


class Case(NamedTuple):
    """A stack, what it costs, and where a full record in flight is an assumption."""

    law: ConnectionModel
    price: Price
    record_note: str | None

    @property
    def name(self) -> Cell:
        note = None if self.law.how == MEASURED else f"{self.law.stack}: {self.law.how}"
        return Cell(self.law.stack, self.law.stack, note)


def extrapolation_note(law: ConnectionModel, sessions: int) -> str | None:
    """That a plan lies outside of what was measured."""
    if sessions <= law.widest:
        return None
    return f"extrapolated: the widest N measured of {law.stack} is {law.widest:,}"


def describe_origin(cases: Sequence[Case]) -> str:
    """The first line: what it all stands on."""
    law = cases[0].law
    places = ", ".join(dict.fromkeys(display_name(case.law.origin) for case in cases))
    machines = {case.law.machine for case in cases}
    mixed = " These are recordings of different machines." if len(machines) > 1 else ""
    kinds = {"both": "a client's and a server's session for each connection", "server": "servers", "client": "clients"}
    return f"From {places}: {kinds[law.role]}, suite {law.suite}, allocator {law.allocator}.{mixed}"


def memory_table(cases: Sequence[Case], demand: Demand, sessions: int) -> Table:
    caption = (
        f"{describe_origin(cases)} Resident memory of the process at its peak, and what the kernel "
        "adds; then what the process "
        "still holds."
    )
    names = {"stack": "stack", "what": ""}
    columns = [Column(key, heading, left=True) for key, heading in names.items()]
    columns += [Column("count", "how many"), Column("each_bytes", "bytes each"), Column("bytes", "memory")]
    made = Table("memory", f"Memory of {sessions:,} connections", caption, columns)
    for case in cases:
        made.rows += memory_rows(case, demand, sessions)
    return made


def memory_rows(case: Case, demand: Demand, sessions: int) -> list[list[Cell]]:
    law, price = case.law, case.price
    blank = Cell("", None)
    rows = [
        [case.name, text_cell(one.what), amount(one.count), integer_cell(one.each), memory_cell(one.size)]
        for one in (*capacity.process_terms(price, demand, sessions), capacity.kernel_term(price, sessions))
    ]
    rows[3][3] = with_note(rows[3][3], case.record_note)
    totals = {
        "peak": capacity.memory_bytes(price, demand, sessions),
        "process alone": capacity.memory_bytes(price, demand, sessions) - capacity.kernel_term(price, sessions).size,
        "process, handshakes complete": capacity.after_handshakes(price, law, demand, sessions),
        "process, all closed": capacity.after_closing(price, law, demand, sessions),
    }
    if (more := used_more(case)) > 0:
        totals["peak, once all have been used"] = totals["peak"] + round(more * (sessions - demand.flying(sessions)))
    note = extrapolation_note(law, sessions)
    return rows + [[case.name, text_cell(name), blank, blank, memory_cell(size, note)] for name, size in totals.items()]


def amount(count: Fraction) -> Cell:
    return Cell(f"{float(count):,.0f}", float(count))


def used_more(case: Case) -> int:
    """What a session that has read and written once keeps, where its buffers stay; bytes, at most."""
    return round(max(0.0, (case.law.used or 0.0) - case.law.kept))


def fit_table(cases: Sequence[Case], demand: Demand, size: int) -> Table:
    """ValueError where one does not fit at all."""
    caption = f"{describe_origin(cases)} Process and kernel together, at the peak."
    columns = [Column("stack", "stack", left=True), Column("connections", "connections")]
    columns += [Column("handshaking", "in the handshake"), Column("in_flight", "records in flight")]
    columns += [Column("bytes", "memory"), Column("next_each_bytes", "bytes a connection")]
    made = Table("fit", f"Connections that fit into {format_size(size)}", caption, columns)
    for case in cases:
        most = capacity.fit_connections(case.price, demand, size)
        if most is None:
            raise ValueError(
                f"{format_size(size)} do not hold a process of {case.law.stack}: {format_size(case.price.fixed)}"
            )
        used = capacity.memory_bytes(case.price, demand, most)
        parts = [amount(demand.shaking(most)), amount(demand.flying(most))]
        each = (used - case.price.fixed) / most if most else 0.0
        count = with_note(integer_cell(most), extrapolation_note(case.law, most))
        made.rows.append([case.name, count, *parts, memory_cell(used), Cell(f"{each:,.0f}", round(each, 1))])
        if case.price.record and demand.in_flight:
            made.rows[-1][3] = with_note(made.rows[-1][3], case.record_note)
    return made


def terms_table(cases: Sequence[Case], kernel_given: bool, record_given: bool) -> Table:
    """What the plan stands on."""
    kernel = "as given" if kernel_given else assumed_size("kernel_bytes").source
    twice = ", of two connections" if cases[0].law.role == "both" and not kernel_given else ""
    caption = (
        "Memory = fixed + N·(E + K) + H·W + records in flight. E: a connection at rest, established and not yet used; "
        "H: what one in the handshake adds; stays: when handshakes are complete, and when all is closed. "
        f"K{twice}: {kernel}."
    )
    columns = [
        Column("stack", "stack", left=True),
        Column("law", "law", left=True),
        Column("recording", "from", left=True),
    ]
    columns += [Column("fixed_bytes", "fixed"), Column("kept_bytes", "E"), Column("handshake_bytes", "H")]
    columns += [Column("record_bytes", "record in flight"), Column("kernel_bytes", "K")]
    columns += [
        Column("held_shaking", "of H stays"),
        Column("held_closed", "of E + H stays"),
        Column("widest", "widest N"),
    ]
    made = Table("terms", "What this stands on", caption, columns)
    for case in cases:
        law, price = case.law, case.price
        flying = integer_cell(price.record) if record_given else with_note(integer_cell(price.record), case.record_note)
        sizes = [
            memory_cell(price.fixed),
            integer_cell(price.kept),
            integer_cell(price.handshake),
            flying,
            integer_cell(price.kernel),
        ]
        held = [Cell(f"{100 * one:,.0f} %", round(one, 4)) for one in (law.held_shaking, law.held_closed)]
        names = [case.name, text_cell(SHORT[law.how]), text_cell(display_name(law.origin))]
        made.rows.append([*names, *sizes, *held, integer_cell(law.widest)])
    return made
