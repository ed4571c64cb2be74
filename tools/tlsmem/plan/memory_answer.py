"""The memory of so many connections: what to provision, and the range by what connections do."""

from collections.abc import Sequence

from tlsmem.config.libraries import stack_title
from tlsmem.config.servers import find_server
from tlsmem.plan import capacity
from tlsmem.plan.amounts import find_unit, format_in, format_size, memory_cell
from tlsmem.plan.capacity import Demand, Term
from tlsmem.plan.case import (
    ALL_HANDSHAKING,
    ESTIMATE,
    QUIET,
    Case,
    describe_checks,
    describe_limits,
    describe_live,
    describe_missing,
    describe_origin,
    describe_server,
    describe_tables,
    estimate_mark,
    extrapolation_note,
)
from tlsmem.plan.connection_model import BY_RATIO, SYSTEM
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.plan.server_memory import is_measured_with
from tlsmem.plan.terms_table import handshake_cell
from tlsmem.stats.missing import NOT_RECORDED
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell, with_note

WORST_CASE = (
    "Worst case: all are active, and the process also has, for each connection, the memory of a handshake or of a full "
    "record in flight, whichever is more."
)
ESTIMATED = (capacity.CONNECTIONS, capacity.RESTING, capacity.HANDSHAKE, capacity.BACKENDS)  # terms of a model by ratio
OF_SERVER = (capacity.OWN, capacity.FIRST)  # terms of the server that was measured
WORTH_SAYING = 0.01  # of the memory with one library: what another saves is the first line
NOTABLE = 0.05  # of what a handshake adds: what the server keeps of it is worth a sentence
LARGER = 1.05  # times RSS at rest: from here on the difference is worth a sentence


def answer_memory(cases: Sequence[Case], demand: Demand, connections: int, given: Sequence[str] = ()) -> Answer:
    """Return the answer; `given`: the options of assumptions that the user gave."""
    notes = [
        *describe_difference(cases),
        *describe_states(cases),
        *describe_storms(cases, connections),
    ]
    notes += describe_allocator_choice(cases)
    notes += [*describe_limits(cases, connections), *describe_order(cases, connections), *describe_missing(cases)]
    notes += [*(sentence for case in cases for sentence in describe_checks(case)), ""]
    notes += [describe_origin(cases), *describe_server(cases), describe_next(cases)]
    headlines = [memory_headline(case, demand, connections, len(cases) > 1) for case in cases]
    return Answer(
        [*describe_saving(cases, demand, connections), *headlines],
        [memory_section(case, demand, connections, given) for case in cases],
        notes,
        [memory_table(cases, demand, connections)],
    )


def memory_headline(case: Case, demand: Demand, connections: int, several: bool) -> str:
    """Return what to provision, and the range."""
    size = capacity.memory_bytes(case.price, demand, connections)
    unit = find_unit(size)
    limits = {
        "active" if case.is_at_rest else "idle": other_state_bytes(case, connections),
        **({"active": capacity.memory_bytes(case.price, QUIET, connections)} if demand.resting(connections) else {}),
        "worst case": busiest_bytes(case, connections),
    }
    words = (
        f"{word}: {NOT_RECORDED}" if limit is None else f"{format_in(limit, unit)} {word}"
        for word, limit in limits.items()
    )
    text = f"{case.mark}{format_size(size)} for {describe_connections(case, demand, connections, several)}"
    return f"{case.title if several else 'Provision'}{':' * several} {text} ({', '.join(words)})"


def describe_connections(case: Case, demand: Demand, connections: int, several: bool) -> str:
    """Return how many there are in which state: `100,000 active connections`."""
    noun = "" if several else f" connection{'s' * (connections > 1)}"
    resting = demand.resting(connections)
    if resting:
        return f"{connections:,}{noun}, {float(connections - resting):,.0f} {case.state}"
    return f"{connections:,} {case.state}{noun}"


def other_state_bytes(case: Case, connections: int) -> int | None:
    """Return the memory if all connections are in the other state, without handshakes; None: not recorded."""
    price = case.active if case.is_at_rest else case.idle
    return price and capacity.memory_bytes(price, QUIET, connections)


def busiest_bytes(case: Case, connections: int) -> int | None:
    """Return the memory if all active connections are busy at once; None: not recorded."""
    if not case.active or not case.busiest:
        return None
    return capacity.memory_bytes(case.active, case.busiest, connections)


def describe_order(cases: Sequence[Case], connections: int) -> list[str]:
    """Say where fewer bytes are told for connections in use than for those at rest."""
    return [
        f"{case.title}: idle comes out above active, as the lines of the two states cross."
        for case in cases
        if case.idle and case.active and connections >= case.model.narrowest
        if capacity.memory_bytes(case.idle, QUIET, connections) > capacity.memory_bytes(case.active, QUIET, connections)
    ]


def memory_section(case: Case, demand: Demand, connections: int, given: Sequence[str]) -> Section:
    """Return what the memory consists of."""
    terms = [*capacity.process_terms(case.price, demand, connections), *capacity.kernel_terms(case.price, connections)]
    return Section(case.setting, [term_line(case, term, given) for term in terms])


def term_line(case: Case, term: Term, given: Sequence[str]) -> Line:
    """Return a term as a line: its size, and how many of how many bytes."""
    if term.what == capacity.FIXED:
        return Line("process, 0 connections", format_size(term.size), describe_process(case))
    if term.what == capacity.FIRST:
        used = "once: they reuse memory of the process" if term.each < 0 else "once: they enlarge the process"
        return Line("first connections", format_size(term.size), used)
    label = {
        capacity.CONNECTIONS: "RSS at rest" if case.is_at_rest else "RSS in use",
        capacity.RESTING: "RSS at rest",
    }
    if term.what == capacity.HANDSHAKE and case.model.handshake is None:
        return Line(term.what.partition(",")[0], NOT_RECORDED)
    of_another = case.is_of_another and term.what in OF_SERVER
    mark = ESTIMATE if of_another else estimate_mark(case.model) if term.what in ESTIMATED else ""
    each = f"{float(term.number):,.0f} x {mark}{term.each:,} B"
    if term.remark:
        each = f"{each}, {term.remark}" if term.number != 1 else term.remark
    is_assumed = term.what == capacity.IN_FLIGHT and "--record-bytes" not in given and case.record_note
    remark = f"{each}, assumed" if is_assumed else each
    name = term.what if term.what == capacity.BACKEND_KERNEL else term.what.partition(",")[0]
    return Line(label.get(term.what, name), format_size(term.size), remark)


def describe_process(case: Case) -> str:
    """Say that the process is the harness's, where a server's is not recorded."""
    server = case.model.configuration.server
    return f"the library alone; {server.what}: not recorded" if server and not case.measured and not case.live else ""


def describe_saving(cases: Sequence[Case], demand: Demand, connections: int) -> list[str]:
    """Say what one of two libraries saves in a server; nothing where they cannot be compared, or where it saves next to
    nothing."""
    server = cases[0].model.configuration.server
    if not server or not are_comparable(cases):
        return []
    sizes = [capacity.memory_bytes(case.price, demand, connections) for case in cases]
    (least, less), (most, _) = sorted(zip(sizes, cases, strict=True), key=lambda one: one[0])
    if most - least < WORTH_SAYING * most:
        return []
    share = f"{(most - least) / most:.0%}".replace("%", " %")
    mark = ESTIMATE if any(case.mark for case in cases) else ""
    return [
        f"{less.title} saves {mark}{format_size(most - least)} ({share}) in {server.what}: "
        f"{format_size(least)} instead of {format_size(most)}"
    ]


def are_comparable(cases: Sequence[Case]) -> bool:
    """Return whether these are two stacks that were measured on one machine and differ."""
    if len(cases) != 2 or any(case.model.how == BY_RATIO for case in cases):
        return False
    first, second = cases
    differ = first.price.connection + first.price.kernel != second.price.connection + second.price.kernel
    return differ and first.machine == second.machine


def describe_difference(cases: Sequence[Case]) -> list[str]:
    """Say how much less a connection of one of two stacks takes; nothing where a figure is an estimate, or where they
    were measured on different machines."""
    if not are_comparable(cases):
        return []
    first, second = cases
    sizes = [case.price.connection + case.price.kernel for case in cases]
    less, more = (first, second) if sizes[0] < sizes[1] else (second, first)
    share = f"{(max(sizes) - min(sizes)) / max(sizes):.0%}".replace("%", " %")
    return [
        f"A connection of {less.title} takes {max(sizes) - min(sizes):,} B ({share}) less than one of {more.title}: "
        f"{min(sizes):,} B instead of {max(sizes):,} B, kernel memory included.",
        *describe_basis(cases),
    ]


def describe_basis(cases: Sequence[Case]) -> list[str]:
    """Say on which libraries the server itself was measured; nothing without one."""
    server = cases[0].model.configuration.server
    if not server or not all(case.measured or case.live for case in cases):
        return []
    others = [case for case in cases if case.measured and case.measured.stack != case.model.stack]
    if not others:
        return [f"Both are measured: {server.what} ran on each of the two."]
    names = " or ".join(case.title for case in others)
    libraries = " and ".join(dict.fromkeys(case.measured.library for case in others if case.measured))
    return [f"{server.what} itself was not measured on {names}: what it holds beside TLS is from {libraries}."]


def describe_states(cases: Sequence[Case]) -> list[str]:
    """Say what a connection takes without TLS, where that was measured, and what the words of the first line mean."""
    first = ["Active: has carried data, waits for more (keep-alive). Idle: no data yet.", describe_retention(cases)]
    worst = WORST_CASE if any(case.busiest for case in cases) else ""
    plain = [line for case in cases for line in describe_live(case, len(cases) > 1)]
    return [*plain, *(line for line in (" ".join(filter(None, first)), worst) if line)]


def describe_retention(cases: Sequence[Case]) -> str:
    """Say that a used connection stays as large, where it does."""
    active = [case for case in cases if case.idle and case.active and case.active.tls > LARGER * case.idle.tls]
    return "After data, a connection stays active." if active else ""


def describe_storms(cases: Sequence[Case], connections: int) -> list[str]:
    """Say how far memory rises when all clients reconnect at once, and what of it stays; nothing where H is unknown."""
    lines = []
    for case in cases:
        if not case.active or not case.active.handshake or case.model.how == BY_RATIO:
            continue  # of an estimate, what stays is not measured
        most = capacity.memory_bytes(case.active, ALL_HANDSHAKING, connections)
        stays = capacity.kernel_bytes(case.active, connections)
        stays += capacity.after_handshakes(case.active, case.model, ALL_HANDSHAKING, connections)
        name = f"{case.title}: i" if len(cases) > 1 else "I"
        after = "that high" if format_size(stays) == format_size(most) else f"at {format_size(stays)}"
        lines.append(
            f"{name}f all clients reconnect at once: {case.mark}{format_size(most)}, and memory use stays {after}."
        )
        lines += describe_handshake_excess(case)
    return lines


def is_haproxy(case: Case) -> bool:
    """Return whether the plan is for HAProxy."""
    return case.model.configuration.server == find_server("haproxy")


def describe_handshake_excess(case: Case) -> list[str]:
    """Say that the price of a handshake includes what the server itself keeps, where that is known; of a library that
    it was not measured with, that it is not included."""
    server, stack = case.model.configuration.server, case.model.stack
    if not case.handshake_excess or not server or not case.measured or case.model.handshake is None:
        return []
    if case.handshake_excess < NOTABLE * case.price.handshake:
        return []
    size, library = f"{case.handshake_excess:,} B", case.measured.library
    if is_measured_with(case.measured, stack):
        return [
            f"For each concurrent handshake, the plan counts {size} that {server.what} itself keeps, measured on "
            f"{library}."
        ]
    return [
        f"Not included: what {server.what} itself keeps for each concurrent handshake ({size} with {library}; not "
        f"measured with {stack_title(stack)})."
    ]


def describe_allocator_choice(cases: Sequence[Case]) -> list[str]:
    """Say that the ratio of another allocator leaves out what many waves of connections do to it."""
    if all(case.model.allocator == SYSTEM for case in cases):
        return []
    return [
        "This is for connections that are opened once. Where they come and go for long, "
        f"{cases[0].model.allocator} may take much more, or less: docs/findings/churn.md has 100 waves of each stack."
    ]


def describe_next(cases: Sequence[Case]) -> str:
    """Return what to ask next."""
    model = cases[0].model
    if cases[0].live:
        return f"More: --details, --handshaking 5%; {cases[0].cost_command}"
    can_run = all(find_server("nginx").can_run(case.model.stack) for case in cases)
    server = " --as nginx," if can_run and not model.configuration.server else ""
    return f"More: --details,{server} --handshaking 5%; {cases[0].cost_command}"


def memory_table(cases: Sequence[Case], demand: Demand, connections: int) -> Table:
    """Return the terms and totals of each stack."""
    totals = "Peak: RSS of the process plus kernel memory. Rows that begin with RSS leave out kernel memory."
    caption = f"{describe_tables(cases)} {totals} {WORST_CASE}"
    columns = [Heading(key, heading, left=True) for key, heading in {"stack": "stack", "what": ""}.items()]
    columns += [Heading("count", "how many"), Heading("each_bytes", "bytes each"), Heading("bytes", "memory")]
    table = Table("memory", f"Memory of {connections:,} connections", caption, columns)
    for case in cases:
        table.rows += memory_rows(case, demand, connections)
    return table


def memory_rows(case: Case, demand: Demand, connections: int) -> list[list[Cell]]:
    model, price, blank = case.model, case.price, Cell("", None)
    terms = [*capacity.process_terms(price, demand, connections), *capacity.kernel_terms(price, connections)]
    rows = []
    for term in terms:
        count = Cell(f"{float(term.number):,.0f}", float(term.number))
        each = handshake_cell(case) if term.what == capacity.HANDSHAKE else integer_cell(term.each)
        each = with_note(each, case.record_note if term.what == capacity.IN_FLIGHT else None)
        rows.append([case.name, text_cell(term.what), count, each, memory_cell(term.size)])
    peak = capacity.memory_bytes(price, demand, connections)
    totals: dict[str, int | None] = {
        "peak": peak,
        "RSS at peak": peak - capacity.kernel_bytes(price, connections),
        "RSS after handshakes": capacity.after_handshakes(price, model, demand, connections),
        "RSS after closing all": capacity.after_closing(price, model, demand, connections),
        f"peak, if all {'active' if case.is_at_rest else 'idle'}": other_state_bytes(case, connections),
        "peak, worst case": busiest_bytes(case, connections),
    }
    note = extrapolation_note(model, connections)
    return rows + [[case.name, text_cell(name), blank, blank, total_cell(size, note)] for name, size in totals.items()]


def total_cell(size: int | None, note: str | None) -> Cell:
    return missing_cell("not recorded: see E and H of the terms") if size is None else memory_cell(size, note)
