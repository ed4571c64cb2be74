"""Which bytes of a profile are TLS: a sentence, a table by share and library, and one of unnamed blocks by size."""

from collections.abc import Iterable
from typing import NamedTuple

from tlsmem.base.cache_file import digest_code
from tlsmem.explore import profile_selection
from tlsmem.explore.top_sites import format_held, per_session_cell, share
from tlsmem.profile.frames import skip_allocators
from tlsmem.profile.heap_profile import LiveHeap, Profile, add_live, describe_unit
from tlsmem.profile.tls_shares import (
    CONTEXTS,
    CRYPTO,
    EITHER,
    LOAD,
    MEANINGS,
    OTHER,
    PROCESS,
    SESSIONS,
    TLS,
    UNKNOWN,
    Library,
    Share,
    TlsShares,
)
from tlsmem.schema.roles import OWNERS, Owner
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, percent, text_cell

ORDER: tuple[Share, ...] = (SESSIONS, CONTEXTS, PROCESS, EITHER, CRYPTO, LOAD, OTHER, UNKNOWN)
NO_LIBRARY = "no TLS library is in these call stacks"
WHICH = "the call stacks do not tell which library"
HOW_TO_NAME = (
    "Names come with the library's -dbgsym package of Debian, or with debuginfod (DEBUGINFOD_URLS), when the profile "
    "is taken."
)


class Row(NamedTuple):
    """What is live of one share, library (None: none, or not known) and owner."""

    share: Share
    library: str | None
    owner: Owner
    held: LiveHeap


def shares_at(profile: Profile, moment: str) -> list[Row]:
    """Return what is live at a moment, by share, in the order of the table; the rows add up to all call stacks."""

    def compute() -> list[list[object]]:
        shares = TlsShares(profile)
        found: dict[tuple[Share, str | None, Owner], LiveHeap] = {}
        for (held, owner), live in shares.sums(moment).items():
            key = held.share, shares.describe_library(held.library), owner
            found[key] = add_live(found[key], live) if key in found else live
        return [[*key, live] for key, live in found.items()]

    code = digest_code(("explore/tls_table.py",))
    recalled = profile.recall("TLS shares", [moment], code, compute)
    rows = [Row(what, library, owner, LiveHeap(*held)) for what, library, owner, held in recalled]
    order = [*OWNERS]
    return sorted(rows, key=lambda row: (ORDER.index(row.share), row.library or "", order.index(row.owner)))


def sum_rows(rows: Iterable[Row]) -> LiveHeap:
    held = LiveHeap(0, 0)
    for row in rows:
        held = add_live(held, row.held)
    return held


def describe_shares(profile: Profile, moment: str, sessions: int | None = None) -> str:
    """Return in a few sentences how much TLS sessions hold at a moment, of which library, and all of TLS; and what the
    bytes are where they are not requested bytes."""
    told = describe_live_shares(profile, moment, sessions)
    is_usual = profile.unit == "requested" and profile.sampled_every_bytes is None
    return told if is_usual else f"{told} {describe_unit(profile)}"


def describe_live_shares(profile: Profile, moment: str, sessions: int | None) -> str:
    rows = shares_at(profile, moment)
    all_of_it = sum_rows(rows).bytes
    tls = [row for row in rows if row.share in TLS]
    when = profile_selection.describe_moment(moment)
    if not tls:
        crypto = sum_rows(row for row in rows if row.share == CRYPTO).bytes
        also = f"; cryptography without TLS holds {crypto:,} B ({fraction(crypto, all_of_it)})" if crypto else ""
        return f"TLS holds 0 B of {all_of_it:,} B {when}{also}."
    of = [row for row in tls if row.share == SESSIONS]
    held, every = sum_rows(of), sum_rows(tls).bytes
    names = ", ".join(dict.fromkeys(row.library for row in of or tls if row.library))
    text = f"TLS sessions hold {held.bytes:,} B of {all_of_it:,} B ({fraction(held.bytes, all_of_it)}) {when}"
    text += f": {names}." if names else "."
    if per := each(profile, moment, of, sessions):
        text += f" Per session: {per}."
    text += f" All of TLS: {every:,} B ({fraction(every, all_of_it)})"
    unclear = sum_rows(row for row in tls if row.share == EITHER).bytes
    return f"{text}, of which {unclear:,} B may be sessions' or contexts'." if unclear else f"{text}."


def fraction(part: int, all_of_it: int) -> str:
    return percent(part / all_of_it) if all_of_it else "0 %"


def each(profile: Profile, moment: str, rows: list[Row], sessions: int | None) -> str:
    """Return what one session holds, of each role where there are roles: `server 10,837 in 11`; nothing where N is not
    known or what is live is no session's."""
    per = profile_selection.sessions_per_role(profile, sessions)
    if per is None or profile.of_one_pair or profile_selection.why_no_sessions(profile, moment):
        return ""
    parts = []
    for owner in dict.fromkeys(row.owner for row in rows):
        held = sum_rows(row for row in rows if row.owner == owner)
        size = held.bytes // per if held.bytes % per == 0 else held.bytes / per
        number = f"{size:,} B" if isinstance(size, int) else f"{size:,.2f} B"
        parts.append(f"{owner} {number}" if owner in profile_selection.ROLES else number)
    return ", ".join(parts)


def share_table(profile: Profile, moment: str, sessions: int | None = None) -> Table:
    """What is live at a moment by share and library, and per session. Raises ValueError as sessions_per_role."""
    rows = shares_at(profile, moment)
    all_of_it = sum_rows(rows)
    per = profile_selection.sessions_per_role(profile, sessions)
    columns = [Heading("what", "what", left=True), Heading("library", "library", left=True)]
    columns += [Heading("owner", "of", left=True, usual="harness")]
    columns += [Heading("bytes", "bytes"), Heading("blocks", "blocks"), Heading("share", "share")]
    columns += [] if profile.of_one_pair else [Heading("per_session", "per session")]
    shown = [share for share in ORDER if any(row.share == share for row in rows)]
    about = f"{describe_unit(profile)} "
    about += ". ".join(f"{text[0].upper()}{text[1:]}: {MEANINGS[text]}" for text in shown) + "."
    about += f" {HOW_TO_NAME}" if EITHER in shown else ""
    table = Table("tls", f"Which bytes are TLS, {profile_selection.describe_moment(moment)}", about, columns)
    for row in rows:
        cells = [text_cell(row.share), library_cell(row), text_cell(row.owner), *make_held_cells(profile, row.held)]
        cells.append(share(row.held.bytes, all_of_it.bytes))
        table.rows.append(cells if profile.of_one_pair else [*cells, per_cell(profile, moment, row, per)])
    return table


def library_cell(row: Row) -> Cell:
    if row.library:
        return text_cell(row.library)
    return missing_cell(NO_LIBRARY if row.share in (OTHER, UNKNOWN) else WHICH)


def make_held_cells(profile: Profile, held: LiveHeap) -> list[Cell]:
    none = f"{profile_selection.describe_tool(profile)} does not count blocks"
    return [integer_cell(held.bytes), missing_cell(none) if held.blocks is None else integer_cell(held.blocks)]


def per_cell(profile: Profile, moment: str, row: Row, per: int | None) -> Cell:
    if row.share != SESSIONS:
        return missing_cell("belongs to no session, or it is not known to which")
    if why := profile_selection.why_no_sessions(profile, moment):
        return missing_cell(why)
    if per is None:
        return missing_cell("the number of sessions is not known; give it with --sessions N")
    return per_session_cell((row.held.bytes, row.held.blocks or 0), per, row.held.blocks is not None)


def unnamed_blocks_table(profile: Profile, moment: str, rows: int) -> Table | None:
    """What recordings say of the blocks that functions without names allocated in TLS libraries, by size, the most
    bytes first; None where there are none."""
    shares = TlsShares(profile)
    found: dict[tuple[int, Share, Library], LiveHeap] = {}
    unknown = 0
    for stack, live in profile.live(moment).items():
        held = shares.share(stack, live)
        inner = skip_allocators(profile.stacks.frames(stack))
        if held.share not in TLS or held.library is None or (inner and inner[0].function) or not live.blocks:
            continue
        if shares.known_sizes(held.library, live):
            key = live.bytes // live.blocks, held.share, held.library
            found[key] = add_live(found[key], live) if key in found else live
        else:
            unknown += live.bytes
    if not found:
        return None
    columns = [Heading("size", "size (B)"), Heading("bytes", "bytes"), Heading("blocks", "blocks")]
    columns += [Heading("what", "what", left=True), Heading("by", "by its size, allocated by", left=True)]
    about = "Blocks of call stacks in TLS libraries whose caller of the allocator has no name. Recordings of the same "
    about += "release know blocks of these sizes by name, with their buckets. Other blocks without a name: "
    about += f"{unknown:,} B. {HOW_TO_NAME}"
    table = Table("tls-blocks", "Blocks without names, by size", about, columns)
    order = sorted(found, key=lambda key: (-found[key].bytes, *map(str, key)))
    for key in order[:rows]:
        size, what, library = key
        known = shares.known_sizes(library, LiveHeap(size, 1))
        by = "; ".join(f"{' or '.join(one.by)} ({series})" for series, one in known.items())
        cells = map(integer_cell, (size, found[key].bytes, found[key].blocks or 0))
        table.rows.append([*cells, text_cell(what), text_cell(by)])
    if left := order[rows:]:
        rest = sum_rows(Row(EITHER, None, "harness", found[key]) for key in left)
        of = "1 more size holds" if len(left) == 1 else f"{len(left):,} more sizes hold"
        table.more = f"{of} {format_held(rest)}."
    return table
