"""The two constants of HAProxy's automatic maxconn, measured for a stack, and what maxconn is with them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import format_size
from tlsmem.plan.assumptions import ProxyAssumptions, haproxy_assumptions
from tlsmem.plan.case import Case, describe_limits, describe_origin, describe_tables, extrapolation_note
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell, with_note


class HaproxyConstants(NamedTuple):
    session_bytes: int  # SSL_SESSION_MAX_COST: one for each side with TLS
    handshake_bytes: int  # SSL_HANDSHAKE_MAX_COST: one for each connection, on top

    @property
    def define(self) -> str:
        """What builds HAProxy with them."""
        return f'DEFINE="-DSSL_SESSION_MAX_COST={self.session_bytes} -DSSL_HANDSHAKE_MAX_COST={self.handshake_bytes}"'


def haproxy_constants(models: Sequence[ConnectionModel]) -> HaproxyConstants:
    """Return RSS in use, and what the peak of a handshake needs beyond it; of the role that needs more, in KiB."""
    session = max(model.connection for model in models)
    rounded = math.ceil(round(session) / KIB) * KIB
    beyond = max(round(model.peak) - rounded for model in models)
    return HaproxyConstants(rounded, math.ceil(max(0, beyond) / KIB) * KIB)


def round_to_two_digits(number: int) -> int:
    """As HAProxy rounds: down, to two digits."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number // scale * scale


def maxconn(constants: HaproxyConstants, size: int, sides: int, proxy: ProxyAssumptions) -> int:
    """Return what HAProxy takes for `-m`, here in bytes, when no limit of files is lower; 0 where nothing fits."""
    usable = math.floor((size // MIB * MIB - proxy.cache_bytes) * proxy.usable)
    each = proxy.stream_bytes + 2 * proxy.buffer_bytes + sides * constants.session_bytes + constants.handshake_bytes
    return round_to_two_digits(max(0, usable) // each)


def answer_haproxy(cases: Sequence[tuple[Case, Sequence[ConnectionModel]]], size: int, sides: int) -> Answer:
    """Return the answer. Raises ValueError with a sentence where HAProxy itself takes no connection."""
    proxy = haproxy_assumptions()
    built_in = HaproxyConstants(proxy.session_bytes, proxy.handshake_bytes)
    usual = maxconn(built_in, size, sides, proxy)
    if not usual:
        raise ValueError(f"--memory: HAProxy takes no connection with {format_size(size)}; give more")
    found = [(case, haproxy_constants(models)) for case, models in cases]
    rows = [(case, constants, maxconn(constants, size, sides, proxy)) for case, constants in found]
    known = [case for case, _ in cases]
    notes = [
        "Build HAProxy with these constants: make ... DEFINE=..., as above.",
        "Kernel memory is not in -m; it comes on top: "
        f"{format_size(max(count for _, _, count in rows) * known[0].price.kernel)} for the largest maxconn.",
        *describe_limits(known, max(count for _, _, count in rows)),
        "",
        describe_origin(known),
        f"HAProxy {proxy.version}, TLS on {'both sides' if sides == 2 else 'one side'}.",
        f"More: --details, --role both, --memory 32GiB; {known[0].cost_command}",
    ]
    return Answer(
        [haproxy_headline(case, count, usual, size) for case, _, count in rows],
        [haproxy_section(case, constants) for case, constants, _ in rows],
        notes,
        [haproxy_table(rows, built_in, usual, size, sides, proxy)],
    )


def haproxy_headline(case: Case, count: int, usual: int, size: int) -> str:
    return f"{case.title}: maxconn {count:,} in {format_size(size)} (HAProxy's built-in: {usual:,})"


def haproxy_section(case: Case, constants: HaproxyConstants) -> Section:
    model = case.model
    lines = [
        Line("SSL_SESSION_MAX_COST", f"{constants.session_bytes:,} B", f"RSS in use: {model.connection:,.0f} B"),
        Line(
            "SSL_HANDSHAKE_MAX_COST",
            f"{constants.handshake_bytes:,} B",
            f"peak {model.peak:,.0f} B minus the above, rounded up",
        ),
        Line(constants.define, ""),
    ]
    return Section(case.setting, lines)


def haproxy_table(
    rows: Sequence[tuple[Case, HaproxyConstants, int]],
    built_in: HaproxyConstants,
    usual: int,
    size: int,
    sides: int,
    proxy: ProxyAssumptions,
) -> Table:
    where = "both sides" if sides == 2 else "one side"
    each = f"{proxy.stream_bytes:,} + 2 x {proxy.buffer_bytes:,} + {sides} x SSL_SESSION_MAX_COST"
    caption = (
        f"{describe_tables([case for case, _, _ in rows])} HAProxy {proxy.version}, TLS on {where}: {proxy.source}. "
        f"maxconn = {float(proxy.usable)} x (memory - TLS cache) / ({each} + SSL_HANDSHAKE_MAX_COST), rounded down to "
        "two digits. SSL_SESSION_MAX_COST: RSS in use; SSL_HANDSHAKE_MAX_COST: what the peak of a handshake needs "
        "beyond it; of the role that needs more. Both are set when HAProxy is built: pass the last column to `make`."
    )
    columns = [Column("stack", "constants of", left=True)]
    columns += [Column("session_bytes", "SSL_SESSION_MAX_COST"), Column("handshake_bytes", "SSL_HANDSHAKE_MAX_COST")]
    columns += [Column("maxconn", f"maxconn with -m {size // MIB:,}"), Column("change", "ratio to built-in")]
    columns += [Column("define", "to build", left=True)]
    table = Table("haproxy", f"HAProxy's automatic maxconn in {format_size(size)}", caption, columns)
    blank = Cell("", None)
    table.rows.append([text_cell("built in"), *map(integer_cell, built_in), integer_cell(usual), blank, blank])
    for case, constants, count in rows:
        most = with_note(integer_cell(count), extrapolation_note(case.model, count))
        change = Cell(f"{count / usual:,.2f}", round(count / usual, 4))
        table.rows.append([case.name, *map(integer_cell, constants), most, change, text_cell(constants.define)])
    return table
