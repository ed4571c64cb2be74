"""Tables of a heap profile: what it is, a session by phase, who holds the memory at a moment, sizes of blocks."""

import posixpath
import textwrap
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from tlsmem.base.phase_names import PEAK_OF
from tlsmem.base.printable import printable_text
from tlsmem.config.choices import ROWS
from tlsmem.explore import profile_selection, top_sites
from tlsmem.explore.top_sites import HOW_MANY, format_held, per_session_cell, share, top_sites_table
from tlsmem.profile.heap_profile import (
    BASE,
    DUMP,
    END,
    PEAK,
    AllocationTotals,
    LiveHeap,
    Moment,
    Profile,
    describe_unit,
    locate_untraced_peak,
    sum_live,
)
from tlsmem.schema.roles import Owner
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

if TYPE_CHECKING:
    from tlsmem.store.record import Record

WIDEST = 100  # of a command
COLUMNS: dict[str, tuple[Owner, ...]] = {
    "client": ("client",),
    "server": ("server",),
    "contexts": ("client context", "server context"),
    "harness": ("harness",),
}


def overview(
    profile: Profile,
    moment: str | None = None,
    owner: Owner | None = None,
    rows: int = ROWS,
    sessions: int | None = None,
) -> list[Table]:
    """What it is; a session by phase where phases are known; the top sites at `moment`, or where most is live."""
    found = [summary(profile, sessions)]
    if profile_selection.known_phases(profile) and profile_selection.has_roles(profile):
        found.append(by_phase(profile, sessions))
    if profile.why_no_moments and moment is None:
        return [*found, top_sites_table(profile, "", owner, "allocated", rows)]
    at = profile_selection.select_moment(profile, moment).name
    return [*found, top_sites_table(profile, at, owner, rows=rows, sessions=sessions)]


def summary(profile: Profile, sessions: int | None = None) -> Table:
    """One row for each thing that is known; the value is in bytes, seconds or a share."""
    columns = [Heading("what", "", left=True), Heading("value", "", left=True)]
    about = f"A profile by {profile_selection.describe_tool(profile)}. {describe_unit(profile)}"
    about += f" {top_sites.NO_SUPPRESSIONS}" if profile.tool == "heaptrack" else ""
    return Table("summary", title(profile), about, columns, list(facts(profile, sessions)))


def title(profile: Profile) -> str:
    """Of what, and by which tool."""
    of = run(profile.run) if profile.run else printable_text(posixpath.basename(profile.file))
    return f"{of}, by {profile_selection.describe_tool(profile)}"


def facts(profile: Profile, sessions: int | None) -> Iterator[list[Cell]]:
    yield [text_cell("file"), Cell(printable_text(posixpath.basename(profile.file)), profile.file)]
    yield [
        text_cell("command"),
        Cell(textwrap.shorten(printable_text(profile.command), WIDEST, placeholder=" …"), profile.command),
    ]
    if (per := profile_selection.sessions_per_role(profile, sessions)) and not profile.of_one_pair:
        yield [text_cell("sessions of each role"), integer_cell(per)]
    if profile.untraced_peak:
        yield [text_cell(LABELS[PEAK]), Cell(locate_untraced_peak(profile), profile.untraced_peak.bytes)]
    for moment in extremes(profile):
        yield [text_cell(LABELS.get(moment.name) or most(moment.name)), held_cell(moment)]
    if profile.allocated is not None:
        yield from churn(profile)
    yield from (fact(what, note) for what, note in profile.notes.items())
    if profile.runtime_s is not None:
        yield [text_cell("runtime"), Cell(f"{profile.runtime_s:,.1f} s", profile.runtime_s)]
    if profile.mode not in (None, "heap"):
        yield fact("mode", profile.mode)
    if profile.why_no_moments:
        yield fact("peak", profile.why_no_moments)
    else:
        yield fact("moments", ", ".join(profile.moments))


LABELS = {PEAK: "peak", END: "live at the end", DUMP: "live when it was written"}


def most(name: str) -> str:
    return (
        f"most at `{name}`" if profile_selection.UNNAMED_MOMENT.fullmatch(name) else f"most at a phase's end, `{name}`"
    )


def fact(what: str, value: str) -> list[Cell]:
    return [text_cell(what), Cell(printable_text(value), value)]


def run(record: "Record") -> str:
    roles = "" if record.roles == "together" else f", {record.roles}"
    return f"{record.stack}, {record.suite}, N = {record.sessions:,}{roles}"


def extremes(profile: Profile) -> list[Moment]:
    """The peak, the fullest phase, the end: those that there are."""
    names = [PEAK, *([profile_selection.fullest(profile)] if profile_selection.phase_names(profile) else []), END, DUMP]
    return [profile.moments[name] for name in names if name in profile.moments]


def held_cell(moment: Moment) -> Cell:
    return Cell(format_held(LiveHeap(moment.bytes, sum_live(moment.live).blocks)), moment.bytes)


def churn(profile: Profile) -> Iterator[list[Cell]]:
    found: Collection[AllocationTotals] = (profile.allocated or {}).values()
    words = top_sites.words_of_run(profile)
    blocks, size = sum(one.blocks for one in found), sum(one.bytes for one in found)
    yield [text_cell(words.events), Cell(f"{blocks:,}, of {size:,} {words.unit} in all", blocks)]
    temporary = [one.temporary for one in found if one.temporary is not None]
    if blocks and len(temporary) == len(found):
        yield [text_cell("of them temporary"), share(sum(temporary), blocks)]


def by_phase(profile: Profile, sessions: int | None = None) -> Table:
    """What one session of each role holds at each moment, bytes and blocks; without N, what all of them hold."""
    per = profile_selection.sessions_per_role(profile, sessions)
    each = "One session" if per else f"All sessions ({HOW_MANY})"
    about = f"{each}, above `{BASE}`: bytes in blocks."
    if any(name.startswith(PEAK_OF) for name in profile.moments):
        about += " A phase's name stands for its end. A peak is that of one session alone; the two need not coincide."
    about += "" if profile.of_one_pair else " Contexts, harness, process: bytes of all."
    shown = profile_selection.ROLES if profile.of_one_pair else (*COLUMNS, "process")
    columns = [Heading("moment", "moment", left=True), *(Heading(one, one) for one in shown)]
    table = Table("by-phase", "A session by phase", about, columns)
    for name, moment in profile.moments.items():
        table.rows.append([text_cell(name), *(role_cell(profile, name, role, per) for role in profile_selection.ROLES)])
        if not profile.of_one_pair:
            table.rows[-1] += [*other_cells(profile, name), integer_cell(moment.bytes)]
    return table


def role_cell(profile: Profile, name: str, role: Owner, per: int | None) -> Cell:
    if none := profile_selection.why_no_sessions(profile, name):
        return missing_cell(none)
    found: LiveHeap = sum_live(profile.live_of_sessions(name, role))
    return per_session_cell((found.bytes, found.blocks or 0), per or 1, found.blocks is not None)


def other_cells(profile: Profile, name: str) -> Iterator[Cell]:
    """What is no session's, whole."""
    for column, owners in COLUMNS.items():
        if column not in profile_selection.ROLES:
            yield integer_cell(sum(sum_live(profile.live(name, owner)).bytes for owner in owners))
