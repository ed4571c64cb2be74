"""The two constants that HAProxy's automatic maxconn rests on, of a stack, and what maxconn is with them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import format_size
from tlsmem.plan.assumptions import ProxyAssumptions, haproxy_assumptions
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.memory_answer import Case, describe_origin, extrapolation_note
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.tables.table import Cell, Column, Table, integer_cell, text_cell, with_note

DERIVED = "derived: the larger of E, at rest, and the live heap of a session that was used; RSS in use is not recorded"


class HaproxyConstants(NamedTuple):
    session_bytes: int  # SSL_SESSION_MAX_COST: one a side
    handshake_bytes: int  # SSL_HANDSHAKE_MAX_COST: one a connection, on top


def haproxy_constants(laws: Sequence[ConnectionModel]) -> HaproxyConstants:
    """Of the roles that the proxy has: a session in use, and what its handshake needs beyond that; whole KiB, up.

    In use: E, where the laws are of connections in use, else the larger of E and of live heap in use."""
    session = max(max(law.kept, law.used or 0.0) for law in laws)
    rounded = math.ceil(round(session) / KIB) * KIB
    beyond = max(round(law.peak) - rounded for law in laws)
    return HaproxyConstants(rounded, math.ceil(max(0, beyond) / KIB) * KIB)


def round_to_two_digits(number: int) -> int:
    """As HAProxy rounds: down, to two digits."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number // scale * scale


def maxconn(of: HaproxyConstants, size: int, sides: int, proxy: ProxyAssumptions) -> int:
    """What HAProxy takes for `-m`, here in bytes; with no limit of files in its way. 0 where nothing fits."""
    usable = math.floor((size // MIB * MIB - proxy.cache_bytes) * proxy.usable)
    each = proxy.stream_bytes + 2 * proxy.buffer_bytes + sides * of.session_bytes + of.handshake_bytes
    return round_to_two_digits(max(0, usable) // each)


def haproxy_table(cases: Sequence[tuple[Case, Sequence[ConnectionModel]]], size: int, sides: int) -> Table:
    proxy = haproxy_assumptions()
    built_in = HaproxyConstants(proxy.session_bytes, proxy.handshake_bytes)
    where = "both sides" if sides == 2 else "one side"
    each = f"{proxy.stream_bytes:,} + 2 x {proxy.buffer_bytes:,} + {sides} x SSL_SESSION_MAX_COST"
    caption = (
        f"{describe_origin([case for case, _ in cases])} HAProxy {proxy.version}, TLS on {where}: "
        f"{proxy.source}. maxconn = "
        f"{float(proxy.usable)} x (memory - TLS cache) / ({each} + SSL_HANDSHAKE_MAX_COST), to two digits. "
        "SESSION: one in use; HANDSHAKE: what the peak needs beyond that; of the role that needs more. They are set "
        "when HAProxy is built: the last column goes behind `make`."
    )
    columns = [Column("stack", "constants of", left=True)]
    columns += [Column("session_bytes", "SSL_SESSION_MAX_COST"), Column("handshake_bytes", "SSL_HANDSHAKE_MAX_COST")]
    columns += [Column("maxconn", f"maxconn with -m {size // MIB:,}"), Column("change", "of the built-in")]
    columns += [Column("define", "to build", left=True)]
    made = Table("haproxy", f"HAProxy's automatic maxconn in {format_size(size)}", caption, columns)
    usual = maxconn(built_in, size, sides, proxy)
    if not usual:
        raise ValueError(f"HAProxy takes no connection with {format_size(size)}; --memory more")
    blank = Cell("", None)
    made.rows.append([text_cell("built in"), *map(integer_cell, built_in), integer_cell(usual), blank, blank])
    for case, laws in cases:
        of = haproxy_constants(laws)
        made.rows.append(row(case, of, maxconn(of, size, sides, proxy), usual))
    return made


def row(case: Case, of: HaproxyConstants, count: int, usual: int) -> list[Cell]:
    define = f'DEFINE="-DSSL_SESSION_MAX_COST={of.session_bytes} -DSSL_HANDSHAKE_MAX_COST={of.handshake_bytes}"'
    change = Cell(f"{count / usual:,.2f} times as many", round(count / usual, 4))
    most = with_note(integer_cell(count), extrapolation_note(case.law, count))
    session, handshake = map(integer_cell, of)
    session = with_note(session, None if case.law.configuration else DERIVED)
    return [case.name, session, handshake, most, change, text_cell(define)]
