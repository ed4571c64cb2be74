"""The tables of a walk over releases: by stage, by bucket, and what changed from each release to the next."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from tlsmem.compare.site_changes import SiteComparison
from tlsmem.config.choices import RELEASE_STAGES, RELEASE_TABLES, STAGE_PHASES
from tlsmem.explore.diff.site_text import format_amount, format_callers
from tlsmem.profile.buckets.rules import buckets, find_bucket
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, text_cell
from tlsmem.topics.releases.walk import UNEXPLAINED, Release, ReleaseWalk

NO_SITES = "no sites run, so its total is all that is known"
NO_SITE = "no single call site changed in that direction"
CALLERS = 2
SKIPPED = "{} lies between them and is not shown, so a change may come from it"
OF_THE_SLOPE = "no call stack of the recorded pair covers them"
SAME = "no change"
CAPTION = (
    "Live heap of one session of {}, in bytes, from heap runs, exact; in brackets the change from the release before. "
    "Peak: what one more of many sessions adds to the peak of all, and the phase in which it adds most."
)
BY_BUCKET = (
    "Live heap of one session of {}, {}, in bytes, by what they are for (docs/explanation/buckets.md), from sites runs."
)
CHANGED = (
    "Change of the live heap of one session of {}, {}, from the release before, in bytes, by what they are for; the "
    "largest change first. Beside it, the call site that changed most in the same direction, with its caller."
)


def build_tables(
    walks: Sequence[ReleaseWalk], library: str, stage: str, names: Sequence[str] | None = None
) -> list[Table]:
    made = {"versions": stage_table, "buckets": bucket_table, "changes": change_table}
    return [made[name](walks, library, stage) for name in names or RELEASE_TABLES]


def heads() -> list[Heading]:
    return [Heading(name, name, left=True) for name in ("suite", "role")]


def walk_cells(walk: ReleaseWalk) -> list[Cell]:
    return [text_cell(walk.suite), text_cell(walk.role)]


def without(walks: Sequence[ReleaseWalk]) -> list[str]:
    """What no walk has, once for both roles."""
    return list(dict.fromkeys(said for walk in walks for said in walk.absent))


def stage_table(walks: Sequence[ReleaseWalk], library: str, _: str) -> Table:
    columns = [*heads(), Heading("release", "release", left=True)]
    for stage, heading in RELEASE_STAGES.items():
        columns.append(Heading(stage, heading))
        columns += [Heading("peak_in", "in", left=True)] if stage == "peak" else []
    title, caption = f"{library}, release by release", CAPTION.format(library)
    made = Table("versions", title, caption, columns, without=without(walks), headed=2)
    for walk in walks:
        before: list[Release | None] = [None, *walk.releases]
        for old, new in zip(before, walk.releases, strict=False):
            made.rows.append([*walk_cells(walk), text_cell(new.version), *stages(old, new)])
    return made


def stages(old: Release | None, new: Release) -> Iterator[Cell]:
    for stage in RELEASE_STAGES:
        cost, size = new.cost(stage), new.size(stage)
        yield missing_cell(new.reason) if size is None else sized(old.size(stage) if old else None, size)
        if stage == "peak":
            yield missing_cell(new.reason) if cost is None else text_cell(cost.phase)


def sized(before: Fraction | None, now: Fraction) -> Cell:
    value = {"bytes": plain_number(now), "more_bytes": None if before is None else plain_number(now - before)}
    return Cell(format_amount(now) + ("" if before is None else f" ({format_difference(now - before)})"), value)


def plain_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def format_difference(size: Fraction) -> str:
    return f"{format_amount(abs(size))} {'more' if size > 0 else 'less'}" if size else SAME


def order(walks: Sequence[ReleaseWalk], stage: str) -> list[str]:
    """Of the buckets that any release has."""
    there = {bucket for walk in walks for one in walk.releases for bucket in one.buckets(stage)}
    return [bucket for bucket in (*buckets(), UNEXPLAINED) if bucket in there]


def bucket_table(walks: Sequence[ReleaseWalk], library: str, stage: str) -> Table:
    """A column a release, and what has no sites run a total."""
    stacks = [*dict.fromkeys(one.stack for walk in walks for one in walk.releases)]
    columns = [*heads(), Heading("bucket", "bucket", left=True)]
    columns += [Heading(stack, stack.partition("@")[2]) for stack in stacks]
    title = f"{library}, {RELEASE_STAGES[stage]}: what a session's bytes are for, release by release"
    made = Table(
        "buckets", title, BY_BUCKET.format(library, RELEASE_STAGES[stage]), columns, without=without(walks), headed=2
    )
    for walk in walks:
        there = {one.stack: one for one in walk.releases}
        held = {stack: one.buckets(stage) for stack, one in there.items()}
        gone = next((said for said in walk.absent), "not measured")
        for bucket in order([walk], stage):
            cells = [part(held.get(stack), bucket, gone) for stack in stacks]
            made.rows.append([*walk_cells(walk), text_cell(bucket), *cells])
        wholes = [there[stack].size(stage) if stack in there else None for stack in stacks]
        total = [missing_cell(gone) if one is None else Cell(format_amount(one), plain_number(one)) for one in wholes]
        made.rows.append([*walk_cells(walk), text_cell("total"), *total])
    return made


def part(held: dict[str, Fraction] | None, bucket: str, gone: str) -> Cell:
    if not held:
        return missing_cell(gone if held is None else NO_SITES)
    size = held.get(bucket, Fraction(0))
    return Cell(format_amount(size), plain_number(size))


def change_table(walks: Sequence[ReleaseWalk], library: str, stage: str) -> Table:
    keys = {"release": "release", "bucket": "bucket", "before": "before", "now": "now", "more": "change"}
    left = ("release", "bucket", "site")
    columns = [*heads(), *(Heading(key, name, left=key in left) for key, name in keys.items())]
    columns.append(Heading("site", "most of it in", left=True))
    title, caption = f"{library}, {RELEASE_STAGES[stage]}: what changed", CHANGED.format(library, RELEASE_STAGES[stage])
    made = Table("changes", title, caption, columns, headed=2)
    for walk in walks:
        for old, new in pairwise(walk.releases):
            named = release_cell(old, new, walk)
            made.rows += [[*walk_cells(walk), named, *row] for row in changed(old, new, stage)]
    return made


def release_cell(old: Release, new: Release, walk: ReleaseWalk) -> Cell:
    """The release; and since which one it changed, where others between the two are not in the walk."""
    between = [one for one in walk.stacks if walk.is_between(old.stack, one, new.stack)]
    if not between:
        return text_cell(new.version)
    skipped = ", ".join(one.partition("@")[2] for one in between)
    return Cell(f"{new.version} (since {old.version})", new.version, SKIPPED.format(skipped))


def changed(old: Release, new: Release, stage: str) -> Iterator[list[Cell]]:
    """Bucket, before, now, change, site. Where one side has no sites run, the total alone."""
    known = bool(old.sites and new.sites)
    held = [one.buckets(stage) if known else total(one, stage) for one in (old, new)]
    nothing = Fraction(0)
    sides = {bucket: [of.get(bucket, nothing) for of in held] for bucket in {**held[0], **held[1]}}
    differing = {bucket: now - before for bucket, (before, now) in sides.items() if before != now}
    if not all(held):
        return
    if not differing:
        now = sum(held[1].values(), nothing)
        yield [text_cell("all"), sized(None, now), sized(None, now), Cell(SAME, 0), text_cell("")]
    sites = behind(old, new, stage, differing) if differing else {}
    for bucket in sorted(differing, key=lambda one: (-abs(differing[one]), one)):
        why = OF_THE_SLOPE if bucket == UNEXPLAINED else NO_SITES if not known else NO_SITE
        cells = [Cell(format_amount(size), plain_number(size)) for size in sides[bucket]]
        change = Cell(format_difference(differing[bucket]), plain_number(differing[bucket]))
        yield [text_cell(bucket), *cells, change, sites.get(bucket) or missing_cell(why)]


def total(one: Release, stage: str) -> dict[str, Fraction]:
    size = one.size(stage)
    return {} if size is None else {"total": size}


def behind(old: Release, new: Release, stage: str, differing: dict[str, Fraction]) -> dict[str, Cell]:
    """By bucket the call site that changed most in its direction; none where one side has no sites run."""
    if not old.sites or not new.sites:
        return {}
    diff = SiteComparison(old.sites.record, new.sites.record).diff(STAGE_PHASES[stage])
    found: dict[str, list[tuple[Fraction, str]]] = {}
    for site in diff.sites(new.role):
        size, bucket = diff.figures(site).more, find_bucket(site.frames, new.sites.sums.family)
        if size * differing.get(bucket, 0) > 0:
            found.setdefault(bucket, []).append((size, " < ".join(format_callers(site).split(" < ")[:CALLERS])))
    tops = {bucket: max(sites, key=lambda one: (abs(one[0]), one[1])) for bucket, sites in found.items()}
    return {bucket: text_cell(f"{where}: {format_difference(size)}") for bucket, (size, where) in tops.items()}
