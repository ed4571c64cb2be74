"""How much of a diff is TLS: the sentence that every diff begins with, and a table by share."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from tlsmem.explore import tls_table
from tlsmem.explore.diff.profile_diff import Diff, DiffSide, compares_sessions_only
from tlsmem.explore.diff.rows import SESSIONS, DiffRow, sum_rows
from tlsmem.explore.diff.site_text import describe_moment, format_change
from tlsmem.explore.diff.tables import FIGURES, describe_captioned_sides, figure_cells
from tlsmem.profile.heap_profile import LiveHeap
from tlsmem.profile.tls_shares import MEANINGS, TLS, Share
from tlsmem.profile.tls_shares import SESSIONS as TLS_SESSIONS
from tlsmem.schema.roles import OWNERS, Owner
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, percent, text_cell

PER_SESSION = " TLS sessions of a client or server: per session. All others: of the whole process."


class ShareRow(NamedTuple):
    """What each side holds of a share and owner. The row's part is the role where its bytes are divided by sessions,
    else the harness."""

    share: Share
    owner: Owner
    row: DiffRow


def describe_change(diff: Diff) -> str:
    """Return in two sentences by how much NEW holds more or less than OLD, and how much of that is TLS: per session
    where the sessions are known, else of all that is live."""
    when = f" {describe_moment(diff.new.moment)}" if diff.old.moment == diff.new.moment else ""
    every, tls = diff.totals(), list(find_share_rows(diff))
    if not every:
        return f"Neither OLD nor NEW holds any memory{when}."
    if diff.old.sessions and any(row.part in SESSIONS for row in every):
        changes = [describe_session_change(diff, row) for row in every if row.part in SESSIONS]
        text = f"NEW holds {', '.join(changes)}{when}."
        return f"{text} {describe_session_tls(diff, tls, every)}"
    total = sum_rows(every)
    old, new = total.old.bytes, total.new.bytes
    both = f"OLD {old:,} B, NEW {new:,} B"
    if old == new:
        return f"NEW holds as much as OLD{when}: {both}. {describe_process_tls(diff, tls, 0)}"
    share = f" ({percent(abs(new - old) / old)})" if old else ""
    text = f"NEW holds {abs(new - old):,} B{share} {'more' if new > old else 'less'} than OLD{when}: {both}."
    return f"{text} {describe_process_tls(diff, tls, new - old)}"


def describe_session_change(diff: Diff, row: DiffRow) -> str:
    """`160 B (1.6 %) less per client session`."""
    figures, place = diff.figures(row), f"per {row.part} session"
    if not figures.more:
        return f"as much {place}"
    size, direction = format_change(figures.more, " B").rsplit(" ", 1)
    share = "" if figures.share is None else f" ({percent(figures.share)})"
    return f"{size}{share} {direction} {place}"


def describe_session_tls(diff: Diff, rows: list[ShareRow], every: list[DiffRow]) -> str:
    """What TLS sessions hold more, each, and what the rest of TLS does in the process. `every`: the totals."""
    if not any(one.share in TLS for one in rows):
        return "None of it is TLS."
    of = {role: [one.row for one in rows if one.share == TLS_SESSIONS and one.owner == role] for role in SESSIONS}
    more = {role: diff.figures(sum_rows(held)).more for role, held in of.items() if held}
    if not more:
        text = "TLS sessions hold nothing in either"
    elif not any(more.values()):
        text = "TLS sessions hold as much in both"
    elif more == {row.part: diff.figures(row).more for row in every if row.part in SESSIONS}:
        text = "All of this difference is memory of TLS sessions"
    else:
        parts = (f"{format_change(one, ' B') if one else 'as much'} per {role} session" for role, one in more.items())
        text = f"Of this difference, memory of TLS sessions: NEW holds {', '.join(parts)}"
    others = sum(more_bytes(one.row) for one in rows if one.share in TLS and one.row.part not in SESSIONS)
    also = (
        f". TLS memory that belongs to no session: NEW holds {format_change(Fraction(others), ' B')}" if others else ""
    )
    return f"{text}{also}{describe_libraries(diff)}."


def describe_process_tls(diff: Diff, rows: list[ShareRow], more: int) -> str:
    """What TLS sessions, and all of TLS, hold more in the process, and which share of the difference that is."""
    of = [one.row for one in rows if one.share in TLS]
    if not of:
        return "TLS holds 0 B in both." if not more else "None of it is TLS."
    sessions = sum(more_bytes(one.row) for one in rows if one.share == TLS_SESSIONS)
    every = sum(map(more_bytes, of))
    return (
        f"Memory of TLS sessions: NEW holds {describe_part(sessions, more)}. "
        f"All memory of TLS: {describe_part(every, more)}"
        f"{describe_libraries(diff)}."
    )


def describe_part(part: int, more: int) -> str:
    """`118,000 B more (99.7 % of the difference)`; without a share where it goes the other way, or beyond."""
    if not part:
        return "as much"
    share = f" ({percent(part / more)} of the difference)" if more and 0 < part / more <= 1 else ""
    return f"{format_change(Fraction(part), ' B')}{share}"


def more_bytes(row: DiffRow) -> int:
    return row.new.bytes - row.old.bytes


def describe_libraries(diff: Diff) -> str:
    """`: OpenSSL 3.0.19 (libssl.so.3)`; of both sides where they differ, and nothing where none is known."""
    old, new = (", ".join(list_libraries(side)) for side in (diff.old, diff.new))
    if old == new or not (old and new):
        return f": {old or new}" if old or new else ""
    return f". OLD has {old}, NEW has {new}"


def list_libraries(side: DiffSide) -> list[str]:
    rows = [row for row in tls_table.shares_at(side.profile, side.moment) if row.share in TLS and row.library]
    named = [row for row in rows if row.share == TLS_SESSIONS] or rows
    return list(dict.fromkeys(row.library for row in named if row.library))


def find_share_rows(diff: Diff) -> Iterator[ShareRow]:
    """Yield what each side holds of a share and owner, in the order of the table."""
    sides = [sum_shares(side, list_owners(diff)) for side in (diff.old, diff.new)]
    nothing = LiveHeap(0, 0)
    for share in tls_table.ORDER:
        for owner in OWNERS:
            if any((share, owner) in held for held in sides):
                part: Owner = owner if share == TLS_SESSIONS and diff.old.sessions and owner in SESSIONS else "harness"
                old, new = (held.get((share, owner), nothing) for held in sides)
                yield ShareRow(share, owner, DiffRow(part, "not joined", (), frozenset(), old, new))


def list_owners(diff: Diff) -> Iterable[Owner]:
    """Whose memory both sides tell."""
    return SESSIONS if compares_sessions_only(diff.old.profile, diff.new.profile) else OWNERS


def sum_shares(side: DiffSide, owners: Iterable[Owner]) -> dict[tuple[Share, Owner], LiveHeap]:
    rows = tls_table.shares_at(side.profile, side.moment)
    keys = dict.fromkeys((row.share, row.owner) for row in rows if row.owner in owners)
    return {key: tls_table.sum_rows(row for row in rows if (row.share, row.owner) == key) for key in keys}


def change_table(diff: Diff) -> Table:
    """How much more or less NEW holds of each share; without sessions, the rows add up to the difference."""
    rows = list(find_share_rows(diff))
    shares = dict.fromkeys(one.share for one in rows)
    about = describe_captioned_sides(diff) + (PER_SESSION if diff.old.sessions else "")
    about += "".join(f" {share[0].upper()}{share[1:]}: {MEANINGS[share]}." for share in shares)
    columns = [Heading("what", "what", left=True), Heading("owner", "of", left=True, usual="harness"), *FIGURES]
    columns += [] if diff.old.sessions else [Heading("share", "of the difference")]
    table = Table("diff-tls", "How much of the difference is TLS", about, columns)
    every = sum(more_bytes(one.row) for one in rows)
    for one in rows:
        cells = [text_cell(one.share), text_cell(one.owner), *figure_cells(diff, one.row)]
        table.rows.append(cells if diff.old.sessions else [*cells, share_cell(more_bytes(one.row), every)])
    return table


def share_cell(part: int, every: int) -> Cell:
    """The share of the difference; missing where it goes the other way, or is larger than all of it."""
    if not every:
        return missing_cell("both hold as much")
    if 0 <= part / every <= 1:
        return Cell(percent(part / every), part / every)
    return missing_cell("it is larger than the whole difference, or goes the other way")
