"""Two answers: the memory of so many connections, and how many fit into so much memory."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.plan import capacity
from tlsmem.plan.amounts import format_size, memory_cell
from tlsmem.plan.assumptions import assumed_size
from tlsmem.plan.capacity import Demand, Price
from tlsmem.plan.configuration import recording_commands
from tlsmem.plan.connection_model import BY_HEAP, BY_RATIO, BY_RSS, MEASURED, QUOTIENT, ConnectionModel
from tlsmem.plan.recordings import display_name
from tlsmem.stats.configured_stack import AT_REST
from tlsmem.tables.table import Cell, Column, Table, integer_cell, missing_cell, text_cell, with_note

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
    origin = f"From {places}: {kinds[law.role]}, suite {law.suite}, allocator {law.allocator}.{mixed}"
    return f"{origin} {describe_states(cases)}"


def describe_states(cases: Sequence[Case]) -> str:
    """Say in which configuration and state the connections are, and what records them in use where nothing has."""
    law = cases[0].law
    stacks_in: dict[str, list[str]] = {}
    for case in cases:
        stacks_in.setdefault(describe_state(case.law), []).append(case.law.stack)
    several = len(stacks_in) > 1
    sentences = []
    for state, stacks in stacks_in.items():
        who = f"Connections of {', '.join(stacks)}" if several else "Connections"
        sentences.append(f"{who} {state}.")
    unused = list(dict.fromkeys(case.law.stack for case in cases if not case.law.configuration))
    if unused:
        commands = recording_commands(" ".join(unused), law.suite, law.allocator)
        sentences.append(f"In use they are not fully recorded: {commands}.")
    return " ".join(sentences)


def describe_own(cases: Sequence[Case]) -> str:
    """Say that the server's own memory for a connection is not in it, where nobody measured that."""
    configuration = cases[0].law.configuration
    if not configuration or not configuration.server or configuration.own_bytes is not None:
        return ""
    return f" What {configuration.server.what} itself holds for a connection is not recorded and not in it."


def describe_state(law: ConnectionModel) -> str:
    if not law.configuration:
        return "at rest, none used yet; the library's defaults, no tickets"
    return f"{law.configuration.describe()}, few handshakes at a time"


def memory_table(cases: Sequence[Case], demand: Demand, sessions: int) -> Table:
    caption = (
        f"{describe_origin(cases)} Resident memory of the process at its peak, and what the kernel "
        f"adds; then what the process still holds.{describe_own(cases)}"
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
    rows[2][3] = handshake_cell(case)
    rows[3][3] = with_note(rows[3][3], case.record_note)
    totals = {
        "peak": capacity.memory_bytes(price, demand, sessions),
        "process alone": capacity.memory_bytes(price, demand, sessions) - capacity.kernel_term(price, sessions).size,
        "process, handshakes complete": capacity.after_handshakes(price, law, demand, sessions),
        "process, all closed": capacity.after_closing(price, law, demand, sessions),
    }
    note = extrapolation_note(law, sessions)
    cells = {name: memory_cell(size, note) for name, size in totals.items()}
    if not law.configuration or law.configuration.phase == AT_REST:
        cells["peak, once all have been used"] = used_cell(case, demand, sessions)
    return rows + [[case.name, text_cell(name), blank, blank, cell] for name, cell in cells.items()]


def amount(count: Fraction) -> Cell:
    return Cell(f"{float(count):,.0f}", float(count))


def handshake_cell(case: Case) -> Cell:
    """H, which may not be recorded."""
    if case.law.handshake is None:
        commands = recording_commands(case.law.stack, case.law.suite, case.law.allocator)
        return missing_cell(f"not recorded: {commands}")
    return integer_cell(case.price.handshake)


def used_cell(case: Case, demand: Demand, sessions: int) -> Cell:
    """The peak once every connection has sent and received; of connections at rest."""
    law = case.law
    if law.in_use is None:
        return missing_cell("RSS in use is not recorded: the commands above record it")
    more = round(max(0.0, law.in_use - law.kept) * (sessions - demand.flying(sessions)))
    return memory_cell(capacity.memory_bytes(case.price, demand, sessions) + more, extrapolation_note(law, sessions))


def fit_table(cases: Sequence[Case], demand: Demand, size: int) -> Table:
    """ValueError where one does not fit at all."""
    caption = f"{describe_origin(cases)} Process and kernel together, at the peak.{describe_own(cases)}"
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
        "Memory = fixed + N·(E + own + K) + H·W + records in flight. E: RSS that one more connection adds in the state "
        "named above; live heap: what it has allocated then; own: what the server holds for it beside TLS; H: what one "
        "in the handshake adds; stays: when handshakes are complete, and when all is closed. "
        f"K{twice}: {kernel}."
    )
    columns = [
        Column("stack", "stack", left=True),
        Column("law", "law", left=True),
        Column("recording", "from", left=True),
    ]
    columns += [Column("fixed_bytes", "fixed"), Column("kept_bytes", "E"), Column("live_bytes", "live heap")]
    columns += [Column("own_bytes", "own"), Column("handshake_bytes", "H")]
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
            live_cell(law),
            own_cell(law),
            handshake_cell(case),
            flying,
            integer_cell(price.kernel),
        ]
        held = [Cell(f"{100 * one:,.0f} %", round(one, 4)) for one in (law.held_shaking, law.held_closed)]
        names = [case.name, text_cell(SHORT[law.how]), text_cell(display_name(law.origin))]
        made.rows.append([*names, *sizes, *held, integer_cell(law.widest)])
    return made


def live_cell(law: ConnectionModel) -> Cell:
    """Live heap of a connection in the state that E is of."""
    return missing_cell("live heap is not recorded") if law.live is None else integer_cell(round(law.live))


def own_cell(law: ConnectionModel) -> Cell:
    """What the server holds for a connection beside TLS."""
    if law.configuration is None or law.configuration.server is None:
        return integer_cell(0)
    server = law.configuration.server
    if server.own_bytes is None:
        return missing_cell(f"what {server.what} itself holds is not recorded: `tools/heap.py` measures it")
    return integer_cell(server.own_bytes)
