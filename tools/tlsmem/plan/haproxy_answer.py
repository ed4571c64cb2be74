"""The two constants that HAProxy's automatic maxconn rests on, of a stack, and what maxconn is with them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import readable
from tlsmem.plan.assumptions import Proxy, haproxy
from tlsmem.plan.connection_model import SessionLaw
from tlsmem.plan.memory_answer import Case, beyond, origin
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.tables.table import Cell, Column, Table, noted, whole, word


class Constants(NamedTuple):
    session_bytes: int  # SSL_SESSION_MAX_COST: one a side
    handshake_bytes: int  # SSL_HANDSHAKE_MAX_COST: one a connection, on top


def constants(laws: Sequence[SessionLaw]) -> Constants:
    """Of the roles that the proxy has: a session in use, and what its handshake needs beyond that; whole KiB, up."""
    session = max(max(law.kept, law.used or 0.0) for law in laws)
    rounded = math.ceil(round(session) / KIB) * KIB
    beyond = max(round(law.peak) - rounded for law in laws)
    return Constants(rounded, math.ceil(max(0, beyond) / KIB) * KIB)


def two_digits(number: int) -> int:
    """As HAProxy rounds: down, to two digits."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number // scale * scale


def maxconn(of: Constants, size: int, sides: int, proxy: Proxy) -> int:
    """What HAProxy takes for `-m`, here in bytes; with no limit of files in its way. 0 where nothing fits."""
    usable = math.floor((size // MIB * MIB - proxy.cache_bytes) * proxy.usable)
    each = proxy.stream_bytes + 2 * proxy.buffer_bytes + sides * of.session_bytes + of.handshake_bytes
    return two_digits(max(0, usable) // each)


def table(cases: Sequence[tuple[Case, Sequence[SessionLaw]]], size: int, sides: int) -> Table:
    proxy = haproxy()
    built_in = Constants(proxy.session_bytes, proxy.handshake_bytes)
    where = "both sides" if sides == 2 else "one side"
    each = f"{proxy.stream_bytes:,} + 2 x {proxy.buffer_bytes:,} + {sides} x SSL_SESSION_MAX_COST"
    caption = (
        f"{origin([case for case, _ in cases])} HAProxy {proxy.version}, TLS on {where}: {proxy.source}. maxconn = "
        f"{float(proxy.usable)} x (memory - TLS cache) / ({each} + SSL_HANDSHAKE_MAX_COST), to two digits. "
        "SESSION: one that has read and written, with its buffers; HANDSHAKE: what the peak needs beyond that; of the "
        "role that needs more. They are set when HAProxy is built: the last column goes behind `make`."
    )
    columns = [Column("stack", "constants of", left=True)]
    columns += [Column("session_bytes", "SSL_SESSION_MAX_COST"), Column("handshake_bytes", "SSL_HANDSHAKE_MAX_COST")]
    columns += [Column("maxconn", f"maxconn with -m {size // MIB:,}"), Column("change", "of the built-in")]
    columns += [Column("define", "to build", left=True)]
    made = Table("haproxy", f"HAProxy's automatic maxconn in {readable(size)}", caption, columns)
    usual = maxconn(built_in, size, sides, proxy)
    if not usual:
        raise ValueError(f"HAProxy takes no connection with {readable(size)}; --memory more")
    blank = Cell("", None)
    made.rows.append([word("built in"), *map(whole, built_in), whole(usual), blank, blank])
    for case, laws in cases:
        of = constants(laws)
        made.rows.append(row(case, of, maxconn(of, size, sides, proxy), usual))
    return made


def row(case: Case, of: Constants, count: int, usual: int) -> list[Cell]:
    define = f'DEFINE="-DSSL_SESSION_MAX_COST={of.session_bytes} -DSSL_HANDSHAKE_MAX_COST={of.handshake_bytes}"'
    change = Cell(f"{count / usual:,.2f} times as many", round(count / usual, 4))
    most = noted(whole(count), beyond(case.law, count))
    return [case.name, *map(whole, of), most, change, word(define)]
