"""The tables that every answer has: the terms of the memory model, and what the figures leave out."""

from collections.abc import Sequence
from pathlib import Path

from tlsmem.config import definitions
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.plan import find_model
from tlsmem.plan.amounts import memory_cell
from tlsmem.plan.assumptions import describe_kernel_bytes, left_out_table
from tlsmem.plan.case import Case
from tlsmem.plan.configuration import describe_recording_of_handshakes
from tlsmem.plan.connection_model import BY_RATIO, LIVE, MEASURED, SUMMED, ConnectionModel, ModelRequest
from tlsmem.stats.costs import VOCABULARY
from tlsmem.store.recordings import display_name
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell, with_note

SHORT = {MEASURED: "measured", SUMMED: "sum", BY_RATIO: "estimate", LIVE: "live runs"}
COLUMNS = {
    "fixed_bytes": "process",
    "kept_bytes": "E",
    "live_bytes": "live heap",
    "own_bytes": "own",
    "handshake_bytes": "H",
    "record_bytes": "R",
    "kernel_bytes": "K",
    "held_shaking": "H retained",
    "held_closed": "E + H retained",
    "widest": "measured up to",
}


def common_tables(cases: Sequence[Case], kernel_given: bool, record_given: bool, among: Sequence[Path]) -> list[Table]:
    """Return the tables that come after those of an answer."""
    return [terms_table(cases, kernel_given, record_given), left_out_table(describe_client_certificates(cases, among))]


def describe_client_certificates(cases: Sequence[Case], among: Sequence[Path]) -> str | None:
    """Return how to plan for clients with certificates, or what is recorded of them; None where the suite has them."""
    model = cases[0].model
    if definitions.suites()[model.suite].auth == "mutual":
        return None
    mutual = f"{model.suite}-mutual"
    kept = "a session keeps the chain of a verified client"
    if cases[0].live:
        return f"{kept}; the clients of the live runs have none"
    if mutual not in definitions.suites():
        return f"{kept}; memtest/suites.toml has no suite like {model.suite} with them"
    wanted = ModelRequest(model.stack, mutual, model.allocator, model.role, model.configuration)
    if find_model.find_model(wanted, among):
        return f"{kept}: --suite {mutual}"
    how = advise_recording(AS_DEPLOYED, model.stack, mutual, allocator=model.allocator).sentence
    return f"{kept}; RSS not recorded; {how}{find_model.describe_recorded(model.stack, mutual, among)}"


def terms_table(cases: Sequence[Case], kernel_given: bool, record_given: bool) -> Table:
    """Return a row for each stack."""
    kernel = "as given" if kernel_given else describe_kernel_bytes()
    twice = ", for two connections" if cases[0].model.role == "both" and not kernel_given else ""
    first = " + first connections" if any(case.price.first for case in cases) else ""
    caption = (
        f"Memory = process{first} + N·(E + own + K) + W·H + F·R. N: connections. W: most concurrent handshakes so far. "
        "F: records in flight. E: RSS of one more connection, in use or at rest as planned. own: what the server of "
        "--as holds for a connection beside TLS. H: what a concurrent handshake adds. R: what a full record in flight "
        "adds. H retained: the share of H that stays in the process after all handshakes. E + H retained: the share of "
        f"both that stays after all connections are closed. K{twice}: {kernel}. {VOCABULARY}"
    )
    names = {"stack": "stack", "law": "model", "recording": "recording"}
    columns = [*(Heading(key, heading, left=True) for key, heading in names.items())]
    columns += [Heading(key, heading) for key, heading in COLUMNS.items()]
    table = Table("terms", "Terms of the memory model", caption, columns)
    for case in cases:
        model, price = case.model, case.price
        record = integer_cell(price.record)
        where = display_name(model.origin) if model.origin else ""
        shares = (model.handshake_retention, model.closed_retention)
        row = [case.name, text_cell(SHORT[model.how]), text_cell(where), memory_cell(price.fixed)]
        row += [integer_cell(price.tls), live_cell(model), own_cell(case), handshake_cell(case)]
        row += [record if record_given else with_note(record, case.record_note), integer_cell(price.kernel)]
        row += [Cell(f"{100 * one:,.0f} %", round(one, 4)) for one in shares]
        table.rows.append([*row, integer_cell(model.widest)])
    return table


def live_cell(model: ConnectionModel) -> Cell:
    """Live heap of a connection in the state of the plan."""
    return missing_cell("live heap is not recorded") if model.live is None else integer_cell(round(model.live))


def own_cell(case: Case) -> Cell:
    """What the server holds for a connection beside TLS."""
    server = case.model.configuration.server
    if server and not case.measured and not case.live:
        return missing_cell(f"what {server.what} itself holds is not recorded")
    return integer_cell(case.price.own)


def handshake_cell(case: Case) -> Cell:
    """H, which may not be recorded."""
    if case.model.handshake is None:
        model = case.model
        return missing_cell(
            f"not recorded; {describe_recording_of_handshakes(model.stack, model.suite, model.allocator)}"
        )
    return integer_cell(case.price.handshake)
