"""Who allocated, by call site: what is live at a moment, or what was allocated over the run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tlsmem.config.choices import LIVE, OF_RUN, ROWS, By, Live, OfRun
from tlsmem.explore import profile_selection, short_function_names
from tlsmem.explore.profile_selection import Pattern
from tlsmem.profile import frames
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import BASE, END, SITE_FRAMES, CallstackTree, LiveHeap, Profile, sum_live
from tlsmem.schema.roles import Owner
from tlsmem.tables.table import (
    Cell,
    Heading,
    Table,
    format_bytes_in_blocks,
    integer_cell,
    missing_cell,
    percent,
    quotient_cell,
    text_cell,
)

NO_CALLSTACK = "no call stack is known"
CALLERS_COLUMN = Heading("callers", "by", left=True)

Amounts = tuple[int, ...]


class Site(NamedTuple):
    """Whose memory, and who called the allocator, innermost first."""

    owner: Owner
    frames: tuple[Frame, ...]


def sum_by_site(stacks: CallstackTree, by_stack: Iterable[tuple[int, Amounts]]) -> dict[Site, Amounts]:
    parts: dict[tuple[Owner, tuple[int, ...]], list[Amounts]] = defaultdict(list)
    sites: dict[tuple[Owner, tuple[int, ...]], Site] = {}
    for stack, amounts in by_stack:
        key = (stacks.owner(stack), stacks.inner_places(stack, SITE_FRAMES))
        parts[key].append(amounts)
        if key not in sites:
            sites[key] = Site(key[0], stacks.callers(stack, SITE_FRAMES))
    found: dict[Site, list[Amounts]] = defaultdict(list)
    for key, amounts_of_key in parts.items():
        found[sites[key]].append(add_amounts(amounts_of_key))
    return {site: add_amounts(sums) for site, sums in found.items()}


def sum_live_by_site(stacks: CallstackTree, live: Mapping[int, LiveHeap]) -> dict[Site, Amounts]:
    return sum_by_site(stacks, ((stack, (one.bytes, one.blocks or 0)) for stack, one in live.items()))


def add_amounts(parts: Iterable[Amounts], width: int = 2) -> Amounts:
    return tuple(map(sum, zip(*parts, strict=True))) or (0,) * width


def rank_sites(sites: Mapping[Site, Amounts], at: int, rows: int) -> list[tuple[list[Site], Amounts]]:
    """The largest, each by itself, then all others together."""
    order = sorted(sites, key=lambda site: (-sites[site][at], site.owner, *map(str, site.frames)))
    parts = [[site] for site in order[:rows]] + ([order[rows:]] if order[rows:] else [])
    return [(names, add_amounts(sites[name] for name in names)) for names in parts]


def site_cells(names: list[Site]) -> list[Cell]:
    """Whose, and by whom."""
    owners = list(dict.fromkeys(name.owner for name in names))
    if len(names) > 1:
        return [text_cell(owners[0] if len(owners) == 1 else "any"), text_cell(f"{len(names):,} others")]
    (_, stack) = names[0]
    path = " < ".join(
        [*map(short_function_names.describe_frame, stack[:1]), *map(short_function_names.frame_name, stack[1:])]
    )
    return [
        text_cell(owners[0]),
        Cell(path or NO_CALLSTACK, " < ".join(frames.format_frame(one, whole=True) for one in stack) or NO_CALLSTACK),
    ]


def share(part: int, all_of_it: int) -> Cell:
    return (
        Cell(percent(part / all_of_it), part / all_of_it)
        if all_of_it
        else missing_cell("nothing is a share of nothing")
    )


BLOCKS_NOT_COUNTED = "{} does not count blocks"
NOBODY = "memory of the harness and the contexts belongs to no session"
HOW_MANY = "the number of sessions is not known; give it with --sessions N"
NO_SUPPRESSIONS = (
    "Suppressions are off: heaptrack_print leaves known leaks of libraries out of what is live at the end."
)
OF_ONE = "one session of each role"  # of which a sites run tells


def top_sites_table(
    profile: Profile,
    moment: str,
    owner: Owner | None = None,
    by: By = "bytes",
    rows: int = ROWS,
    pattern: Pattern = None,
    sessions: int | None = None,
) -> Table:
    """The largest sites, and one row with all others: its rows add up to what the caption says.

    Raises ValueError with a sentence for what the tool does not tell, or a pattern that finds nothing."""
    if by == "bytes" or by == "blocks":
        return live(profile, moment, owner, by, rows, pattern, sessions)
    return run_sites_table(profile, owner, by, rows, pattern)


def live(
    profile: Profile, moment: str, owner: Owner | None, by: Live, rows: int, pattern: Pattern, sessions: int | None
) -> Table:
    held = profile_selection.live_by_stack(profile, moment, owner, pattern)
    if by == "blocks" and sum_live(held).blocks is None:
        raise ValueError(
            f"{profile.file}: {BLOCKS_NOT_COUNTED.format(profile_selection.describe_tool(profile))}; take --by bytes"
        )
    per = profile_selection.sessions_per_role(profile, sessions)
    of_sessions = profile_selection.held_by_sessions(profile, moment, owner, pattern)
    now = sum_live_by_site(profile.stacks, held)
    above = now if of_sessions == held else sum_live_by_site(profile.stacks, of_sessions)
    now = dict.fromkeys(above, (0, 0)) | now  # what went since `contexts` too, that the last column adds up
    figures = LiveColumns(profile, moment, per, sum_live(held))
    made = [
        [
            *figures.live_cells(sizes),
            *figures.each(names, add_amounts(above.get(name, (0, 0)) for name in names)),
            *site_cells(names),
        ]
        for names, sizes in rank_sites(now, LIVE.index(by), rows)
    ]
    return Table("sites", title(moment), caption(profile, moment, owner, sum_live(held), per), figures.columns(), made)


class LiveColumns:
    """The figures of a row of what is live."""

    def __init__(self, profile: Profile, moment: str, per: int | None, every: LiveHeap) -> None:
        self.profile, self.moment, self.per, self.every = profile, moment, per, every
        self.roles, self.counts = profile_selection.has_roles(profile), every.blocks is not None

    def columns(self) -> list[Heading]:
        found = [Heading("bytes", "bytes"), Heading("blocks", "blocks"), Heading("share", "share")]
        found += [Heading("per_session", "per session")] if not self.profile.of_one_pair else []
        return [*found, Heading("owner", "of", left=True, usual="harness"), CALLERS_COLUMN]

    def live_cells(self, sizes: Amounts) -> list[Cell]:
        blocks = (
            integer_cell(sizes[1])
            if self.counts
            else missing_cell(BLOCKS_NOT_COUNTED.format(profile_selection.describe_tool(self.profile)))
        )
        return [integer_cell(sizes[0]), blocks, share(sizes[0], self.every.bytes)]

    def each(self, names: list[Site], sizes: Amounts) -> list[Cell]:
        """Bytes and blocks of one session, where not all figures are."""
        if self.profile.of_one_pair:
            return []
        if why := self.none_each({name.owner for name in names}):
            return [missing_cell(why)]
        return [missing_cell(HOW_MANY) if self.per is None else per_session_cell(sizes, self.per, self.counts)]

    def none_each(self, owners: set[Owner]) -> str | None:
        """Why none of these owners has a figure of one session. Others together have one where they are of one role."""
        if none := profile_selection.why_no_sessions(self.profile, self.moment):
            return none
        if self.roles and not owners & {*profile_selection.ROLES}:
            return NOBODY
        if self.roles and len(owners) > 1:
            return "not of one role"
        return None


def per_session_cell(sizes: Amounts, per: int, counts: bool) -> Cell:
    if not any(sizes):
        return Cell("0", {"bytes": 0, "blocks": 0} if counts else {"bytes": 0})
    parts = {"bytes": quotient_cell(sizes[0], per)} | ({"blocks": quotient_cell(sizes[1], per)} if counts else {})
    return Cell(" in ".join(one.text for one in parts.values()), {key: one.value for key, one in parts.items()})


def run_sites_table(profile: Profile, owner: Owner | None, by: OfRun, rows: int, pattern: Pattern) -> Table:
    """Blocks and bytes allocated from the first to the last, and those freed before anything else was allocated."""
    tool = profile_selection.describe_tool(profile)
    if profile.allocated is None:
        raise ValueError(
            f"{profile.file}: {tool} does not tell what was allocated over the run, only what lived{TEMPORARY_BY[by]}"
        )
    found = {
        stack: one
        for stack, one in profile_selection.filter_stacks(profile.stacks, profile.allocated, pattern).items()
        if owner in (None, profile.stacks.owner(stack))
    }
    if pattern is not None and not found:
        raise profile_selection.PatternNotFound(
            f"{profile.file}: no call stack that allocated has a frame that --filter finds"
        )
    counts = all(one.temporary is not None for one in profile.allocated.values())
    if by == "temporary" and not counts:
        raise ValueError(f"{profile.file}: {tool} does not tell which allocations were temporary{TEMPORARY_BY[by]}")
    sites = sum_by_site(
        profile.stacks,
        ((stack, (one.blocks, one.bytes, one.temporary or 0, one.lifetime or 0)) for stack, one in found.items()),
    )
    every = add_amounts(sites.values(), 4)
    at = OF_RUN.index(by)
    unknown = missing_cell(f"{tool} does not tell which allocations were temporary")
    lives = profile.lifetime_unit is not None
    made = [
        [
            integer_cell(s[0]),
            integer_cell(s[1]),
            integer_cell(s[2]) if counts else unknown,
            *([lifetime_cell(s[3], s[0])] if lives else []),
            share(s[at], every[at]),
            *site_cells(names),
        ]
        for names, s in rank_sites(sites, at, rows)
    ]
    words = words_of_run(profile)
    columns = [
        Heading("allocations", words.events),
        Heading("allocated_bytes", "bytes" if words.unit == "B" else words.unit),
        Heading("temporary", "temporary"),
    ]
    columns += [Heading("mean_lifetime", f"mean lifetime ({profile.lifetime_unit})")] if lives else []
    columns += [Heading("share", "share"), Heading("owner", "of", left=True, usual="harness"), CALLERS_COLUMN]
    of = f" of {owner}" if owner else ""
    about = f"Over the whole run{of}: {every[0]:,} {words.events}, {every[1]:,} {words.unit}. "
    share_of = {"allocations": words.events, "allocated": "bytes" if words.unit == "B" else words.unit}.get(
        by, UNITS[by]
    )
    if counts:
        part = f" ({percent(every[2] / every[0])})" if every[0] else ""
        about += f"{every[2]:,} of them{part} are temporary: {profile.temporary_means}. "
    return Table("sites", f"What was {words.done} most, by call site", about + f"Share: of {share_of}.", columns, made)


TEMPORARY_BY: dict[OfRun, str] = {
    "allocations": "",
    "allocated": "",
    "temporary": "; heaptrack does (heaptrack PROGRAM), and DHAT by mean lifetimes (valgrind --tool=dhat PROGRAM)",
}


def lifetime_cell(total: int, blocks: int) -> Cell:
    """The mean lifetime of a site's blocks, rounded."""
    return integer_cell(round(total / blocks)) if blocks else missing_cell("nothing was allocated")


class RunWords(NamedTuple):
    """How sentences call what happened over the run, and its unit."""

    events: str
    unit: str
    done: str


def words_of_run(profile: Profile) -> RunWords:
    if profile.unit == "copied":
        return RunWords("copies", "B", "copied")
    return (
        RunWords("events", "units", "counted")
        if profile.unit == "counted"
        else RunWords("allocations", "B", "allocated")
    )


UNITS = {"allocations": "allocations", "allocated": "bytes", "temporary": "temporary ones"}


def title(moment: str) -> str:
    live = "What is still live" if moment == END else "What is live"
    return f"{live} {profile_selection.describe_moment(moment)}, by call site"


def format_held(held: LiveHeap) -> str:
    return f"{held.bytes:,} B" if held.blocks is None else format_bytes_in_blocks(held.bytes, held.blocks)


def caption(profile: Profile, moment: str, owner: Owner | None, held: LiveHeap, per: int | None) -> str:
    of = f" of {owner}" if owner else ""
    about = f"{format_held(held)}{of}. Callers of the allocator, innermost first."
    about += f" {NO_SUPPRESSIONS}" if profile.tool == "heaptrack" and moment == END else ""
    if profile.of_one_pair:
        return f"{about} Of {OF_ONE}."
    if per is None or profile_selection.why_no_sessions(profile, moment):
        return about
    above = f"what is above `{BASE}`, over " if BASE in profile.moments else "over "
    role = " of the role" if profile_selection.has_roles(profile) else ""
    return f"{about} Per session: bytes and blocks, {above}{per:,} sessions{role}."
