"""How many connections fit into so much memory."""

import shlex
from collections.abc import Sequence

from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.run import SYSTEM
from tlsmem.plan import capacity
from tlsmem.plan.amounts import format_size, memory_cell, round_down
from tlsmem.plan.capacity import Demand, Price
from tlsmem.plan.case import (
    QUIET,
    ROLES,
    Case,
    describe_checks,
    describe_limits,
    describe_missing,
    describe_origin,
    describe_server,
    describe_tables,
    extrapolation_note,
)
from tlsmem.plan.haproxy_answer import describe_maxconn
from tlsmem.plan.memory_answer import (
    describe_allocator_choice,
    describe_handshake_excess,
    describe_next,
    describe_states,
    is_haproxy,
    memory_section,
)
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.stats.missing import NOT_RECORDED
from tlsmem.stats.session_cost import MIB
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, with_note


def answer_fit(
    cases: Sequence[Case], demand: Demand, size: int, given: Sequence[str] = (), kept: Sequence[str] = ()
) -> Answer:
    """Return the answer; `kept`: words of the command line that another command needs too.

    Raises ValueError with a sentence where not even a process fits."""
    counts = [fit_case(case, demand, size) for case in cases]
    notes = [
        *describe_states(cases),
        *describe_highest_limits(cases, size, kept),
        *describe_allocator_choice(cases),
    ]
    notes += [*describe_limits(cases, max(counts)), *describe_missing(cases)]
    notes += [*(sentence for case in cases for sentence in describe_checks(case)), ""]
    return Answer(
        [fit_headline(case, count, size, len(cases) > 1) for case, count in zip(cases, counts, strict=True)],
        [fit_section(case, demand, count, given) for case, count in zip(cases, counts, strict=True)],
        [*notes, describe_origin(cases), *describe_server(cases), describe_next(cases)],
        [fit_table(cases, counts, demand, size)],
    )


def fit_case(case: Case, demand: Demand, size: int) -> int:
    """Return the most connections. Raises ValueError with a sentence where not even a process fits."""
    price = case.price
    most = capacity.fit_connections(price, demand, size)
    if most is None:
        raise ValueError(
            f"--memory: {format_size(size)} is less than one process of {case.model.stack} without connections"
            f"{' from clients' if price.backends else ''}, "
            f"{format_size(capacity.memory_bytes(price, demand, 0))}"
        )
    return most


def fit_if_recorded(price: Price | None, demand: Demand | None, size: int) -> int | None:
    """Return the most connections, 0 where not even the process fits; None: not recorded."""
    return (capacity.fit_connections(price, demand, size) or 0) if price and demand else None


def fit_headline(case: Case, count: int, size: int, several: bool) -> str:
    """Return how many fit, and the range; rounded down."""
    other = case.active if case.is_at_rest else case.idle
    limits = {
        f"if all {'active' if case.is_at_rest else 'idle'}": fit_if_recorded(other, QUIET, size),
        "in the worst case": fit_if_recorded(case.active, case.busiest, size),
    }
    words = (
        f"{word}: {NOT_RECORDED}" if limit is None else f"{round_down(limit):,} {word}"
        for word, limit in limits.items()
    )
    text, amounts = f"{case.mark}{round_down(count):,} {case.state} connections fit", f"({'; '.join(words)})"
    if several:
        return f"{case.title}: {text} {amounts}"
    return f"{text} into {format_size(size)} {amounts}"


def describe_highest_limits(cases: Sequence[Case], size: int, kept: Sequence[str] = ()) -> list[str]:
    """Say which limit of connections holds whatever the clients do; of HAProxy, how to find it."""
    lines = []
    for case in cases:
        most = fit_if_recorded(case.active, case.busiest, size)
        if not most:
            continue
        if is_haproxy(case):
            lines += describe_handshake_excess(case)
            lines.append(
                "HAProxy also takes two buffers of 16 KiB for each connection that transfers, which are not included. "
                f"To set {describe_maxconn(case.role == ROLES['both'])}, with kernel memory set aside: "
                f"{maxconn_command(case, size - capacity.kernel_bytes(case.price, most), kept)}"
            )
            continue
        name = f"{case.title}: limit" if len(cases) > 1 else "Limit"
        lines.append(f"{name} connections to {round_down(most):,}; that many fit even in the worst case.")
    return list(dict.fromkeys(lines))


def maxconn_command(case: Case, size: int, kept: Sequence[str]) -> str:
    """Return the command that gives maxconn for the same connections; `size`: of HAProxy's own memory."""
    model, role = case.model, "both" if case.role == ROLES["both"] else case.model.role
    words = ["tools/tls-memtest", "plan", "haproxy", "--memory", f"{size // MIB}MiB"]
    words += ["--stack", model.stack]
    words += ["--suite", model.suite] * (model.suite != PLAN_SUITE)
    words += ["--allocator", model.allocator] * (model.allocator != SYSTEM)
    words += ["--role", role] * (role != "server")
    return shlex.join([*words, *kept])


def fit_section(case: Case, demand: Demand, count: int, given: Sequence[str]) -> Section:
    """Return what the memory consists of."""
    section = memory_section(case, demand, count, given)
    return Section(section.title, [Line("connections", f"{count:,}"), *section.lines])


def fit_table(cases: Sequence[Case], counts: Sequence[int], demand: Demand, size: int) -> Table:
    """Return a row for each stack."""
    caption = f"{describe_tables(cases)} Process and kernel together, at the peak."
    columns = [Heading("stack", "stack", left=True), Heading("connections", "connections")]
    columns += [Heading("handshaking", "in the handshake"), Heading("in_flight", "records in flight")]
    columns += [Heading("bytes", "memory"), Heading("next_each_bytes", "bytes per connection")]
    table = Table("fit", f"Connections that fit into {format_size(size)}", caption, columns)
    for case, most in zip(cases, counts, strict=True):
        used = capacity.memory_bytes(case.price, demand, most)
        parts = [Cell(f"{float(part):,.0f}", float(part)) for part in (demand.shaking(most), demand.flying(most))]
        each = (used - capacity.memory_bytes(case.price, demand, 0)) / most if most else 0.0
        count = with_note(integer_cell(most), extrapolation_note(case.model, most))
        if case.price.record and demand.in_flight:
            parts[1] = with_note(parts[1], case.record_note)
        table.rows.append([case.name, count, *parts, memory_cell(used), Cell(f"{each:,.0f}", round(each, 1))])
    return table
