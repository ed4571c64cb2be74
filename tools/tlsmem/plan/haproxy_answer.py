"""The two constants of HAProxy's automatic maxconn, measured for a stack, and what maxconn is with them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.plan.amounts import format_size
from tlsmem.plan.assumptions import ProxyAssumptions, haproxy_assumptions
from tlsmem.plan.case import ROLES, Case, describe_limits, describe_origin, describe_tables, extrapolation_note
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.screen import Answer, Line, Section
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, text_cell, with_note


class HaproxyConstants(NamedTuple):
    session_bytes: int  # SSL_SESSION_MAX_COST: one for each side with TLS
    handshake_bytes: int  # SSL_HANDSHAKE_MAX_COST: one for each connection, on top

    @property
    def define(self) -> str:
        """What builds HAProxy with them."""
        return f'DEFINE="-DSSL_SESSION_MAX_COST={self.session_bytes} -DSSL_HANDSHAKE_MAX_COST={self.handshake_bytes}"'


def haproxy_constants(models: Sequence[ConnectionModel]) -> HaproxyConstants:
    """Return RSS in use, and what the peak of a handshake needs beyond it; of the role that needs more, in KiB."""
    rounded = math.ceil(round(largest_session(models).connection) / KIB) * KIB
    beyond = round(largest_peak(models).peak) - rounded
    return HaproxyConstants(rounded, math.ceil(max(0, beyond) / KIB) * KIB)


def largest_session(models: Sequence[ConnectionModel]) -> ConnectionModel:
    """Return the model of the role whose session has most RSS in use."""
    return max(models, key=lambda model: model.connection)


def largest_peak(models: Sequence[ConnectionModel]) -> ConnectionModel:
    return max(models, key=lambda model: model.peak)


def round_to_two_digits(number: int) -> int:
    """As HAProxy rounds: down, to two digits."""
    scale: int = 10 ** max(0, len(str(number)) - 2)
    return number // scale * scale


def maxconn(constants: HaproxyConstants, size: int, sides: int, proxy: ProxyAssumptions) -> int:
    """Return what HAProxy takes for `-m`, here in bytes, when no limit of files is lower; 0 where nothing fits."""
    usable = math.floor((size // MIB * MIB - proxy.cache_bytes) * proxy.usable)
    each = proxy.stream_bytes + 2 * proxy.buffer_bytes + sides * constants.session_bytes + constants.handshake_bytes
    return round_to_two_digits(max(0, usable) // each)


def answer_haproxy(
    cases: Sequence[tuple[Case, Sequence[ConnectionModel]]], size: int, sides: int, kernel: int
) -> Answer:
    """Return the answer; `kernel`: bytes of the kernel for a connection on all sides with TLS. Raises ValueError with a
    sentence where HAProxy itself takes no connection."""
    proxy = haproxy_assumptions()
    built_in = HaproxyConstants(proxy.session_bytes, proxy.handshake_bytes)
    usual = maxconn(built_in, size, sides, proxy)
    if not usual:
        raise ValueError(f"--memory: HAProxy takes no connection with {format_size(size)}; give more")
    found = [(case, haproxy_constants(models)) for case, models in cases]
    rows = [(case, constants, maxconn(constants, size, sides, proxy)) for case, constants in found]
    known = [case for case, _ in cases]
    largest = max(count for _, _, count in rows)
    notes = [
        "The maxconn above fits even if every connection takes the memory of a handshake and, at the same time, that "
        "of two transfer buffers.",
        f"In the section global, set {describe_maxconn(sides == 2)} to it: with -m and maxconn alone, HAProxy derives "
        "maxsslconn from its own constants. Or build HAProxy with the two constants: make ... DEFINE=..., as above.",
        f"{format_size(size)} is HAProxy's -m. Both constants are RSS, rounded up to a KiB.",
        f"HAProxy's -m does not include kernel memory: add {format_size(largest * kernel)} for maxconn {largest:,}.",
        *describe_limits(known, largest),
        "",
        describe_origin(known),
        f"HAProxy {proxy.version}, TLS on {'both sides' if sides == 2 else 'one side'}.",
        f"More: --details,{' --role both,' * (sides == 1)} --memory 32GiB; {known[0].cost_command}",
    ]
    return Answer(
        [haproxy_headline(case, count, usual, size) for case, _, count in rows],
        [haproxy_section(case, models) for case, models in cases],
        notes,
        [haproxy_table(rows, built_in, usual, size, sides, proxy)],
    )


def haproxy_headline(case: Case, count: int, usual: int, size: int) -> str:
    return f"{case.title}: set maxconn {count:,} in {format_size(size)} (HAProxy's default: {usual:,})"


def describe_maxconn(are_both: bool) -> str:
    """Return the options that limit connections: HAProxy counts those with TLS on both sides twice in maxsslconn."""
    return "maxconn and, twice as large, maxsslconn" if are_both else "maxconn and maxsslconn"


def haproxy_section(case: Case, models: Sequence[ConnectionModel]) -> Section:
    """Return the constants, and the RSS that they are made of: with TLS on both sides, of which side."""
    constants, session, peak = haproxy_constants(models), largest_session(models), largest_peak(models)
    are_both = len(models) > 1
    in_use = f"RSS in use{f', a {session.role}' * are_both}: {session.connection:,.0f} B"
    at_peak = f"peak{f', a {peak.role}' * are_both}: {peak.peak:,.0f} B minus the above"
    lines = [
        Line("SSL_SESSION_MAX_COST", f"{constants.session_bytes:,} B", in_use),
        Line("SSL_HANDSHAKE_MAX_COST", f"{constants.handshake_bytes:,} B", at_peak),
        Line(constants.define, ""),
    ]
    return Section(case.describe_setting(ROLES["both"]) if are_both else case.setting, lines)


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
    described = describe_tables([case for case, _, _ in rows], ROLES["both"] if sides == 2 else "")
    caption = (
        f"{described} HAProxy {proxy.version}, TLS on {where}: {proxy.source}. "
        f"maxconn = {float(proxy.usable)} x (memory - TLS cache) / ({each} + SSL_HANDSHAKE_MAX_COST), rounded down to "
        "two digits. SSL_SESSION_MAX_COST: RSS in use; SSL_HANDSHAKE_MAX_COST: what the peak of a handshake needs "
        "beyond it; of the role that needs more. Both are set when HAProxy is built: pass the last column to `make`."
    )
    columns = [Heading("stack", "constants of", left=True)]
    columns += [Heading("session_bytes", "SSL_SESSION_MAX_COST"), Heading("handshake_bytes", "SSL_HANDSHAKE_MAX_COST")]
    columns += [Heading("maxconn", f"maxconn with -m {size // MIB:,}"), Heading("change", "ratio to built-in")]
    columns += [Heading("define", "to build", left=True)]
    table = Table("haproxy", f"HAProxy's automatic maxconn in {format_size(size)}", caption, columns)
    blank = Cell("", None)
    table.rows.append([text_cell("built in"), *map(integer_cell, built_in), integer_cell(usual), blank, blank])
    for case, constants, count in rows:
        most = with_note(integer_cell(count), extrapolation_note(case.model, count))
        change = Cell(f"{count / usual:,.2f}", round(count / usual, 4))
        table.rows.append([case.name, *map(integer_cell, constants), most, change, text_cell(constants.define)])
    return table
