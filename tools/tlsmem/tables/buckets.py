"""A session's bytes by what they are for, by role and phase: the table of buckets, of any heap profile."""

import math
from collections.abc import Iterator, Sequence

from tlsmem.profile import sites_reader
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.reasons import explain_pairs
from tlsmem.profile.buckets.rules import OTHER, find_bucket
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.frames import Owner
from tlsmem.profile.heap_profile import PEAK, LiveHeap, Profile
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import is_same_stack_pair
from tlsmem.stats.session_cost import Quotient
from tlsmem.tables.table import Cell, Column, Table, missing_cell, quotient_cell, text_cell

__all__ = ["bucket_table", "bucket_table_from_selection", "explain_pairs", "find_bucket", "profiles_from_selection"]

MOST = "most"  # the column of the moment at which most is live, which is another one for each role
BEFORE, AFTER = (
    {"sessions": "created"},
    {"established": "established", "reply": "after 1 KiB each way"},
)
AFTER |= {"idle": "idle", "closed": "closed"}
VARYING = ("suite", "roles", "window", "env")  # of a run, shown where profiles differ in it
TITLE = "A session's bytes by bucket"
CAPTION = (
    "Bytes{} that one session of the role holds at the end of a phase, above what was there before any session, by "
    "what they are for; docs/buckets.md says how that is known. Most: {}. Covered: what a rule knows the purpose of."
)
AT_PEAK, AT_FULLEST = "the peak of the process", "the end of the phase at which the role holds most"


def bucket_table(profiles: Sequence[Profile], blocks: bool = False) -> Table:
    """Rows by stack, role and bucket; `total` is what the sessions hold, whatever the rules say. With `blocks` cells
    are `bytes (blocks)`; their values have both always."""
    varying = [key for key in VARYING if len({run_aspect(profile, key) for profile in profiles}) > 1]
    stacks = {BucketSums(profile).stack for profile in profiles}
    of_one = stacks.pop() if len(stacks) == 1 else None
    named = [Column(key, key, left=True) for key in varying]
    named += [Column("stack", "stack", left=True, usual=of_one)]  # then it stands in the title
    named += [Column(key, key, left=True) for key in ("role", "bucket")]
    most = [Column(MOST, "most"), Column(f"{MOST}_in", "most in", left=True, usual=PEAK)]
    columns = [*named, *phase_columns(BEFORE), *most, *phase_columns(AFTER)]
    peak = any(PEAK in BucketSums(profile).moments for profile in profiles)
    caption = CAPTION.format(" and (blocks)" if blocks else "", AT_PEAK if peak else AT_FULLEST)
    made = Table("buckets", TITLE + (f": {of_one}" if of_one else ""), caption + without_rules(profiles), columns)
    for profile in profiles:
        sums = BucketSums(profile)
        names = [text_cell(run_aspect(profile, key)) for key in varying] + [text_cell(sums.stack)]
        for role in sums.roles():
            made.rows += [[*names, text_cell(role), *row] for row in rows(sums, role, blocks)]
    return made


def without_rules(profiles: Sequence[Profile]) -> str:
    missing = {BucketSums(one).family for one in profiles} - set(rules.families())
    said = " memtest/buckets.toml has no rules for {}, so all is `{}`."
    return "".join(said.format(family, OTHER) for family in sorted(missing))


def phase_columns(headings: dict[str, str]) -> list[Column]:
    return [Column(key, heading) for key, heading in headings.items()]


def run_aspect(profile: Profile, key: str) -> str:
    return str(getattr(profile.run, key)) if profile.run else profile.file


def rows(sums: BucketSums, role: Owner, blocks: bool) -> Iterator[list[Cell]]:
    """Bucket, figures. Buckets that hold nothing at any of the moments have no row, but `other` has."""
    fullest = sums.fullest(role)
    moments = [*BEFORE, fullest, *AFTER]
    found = [sums.live_by_bucket(name, role) if name in sums.moments else None for name in moments]
    wholes = [sums.live_total(name, role) if name in sums.moments else None for name in moments]

    def row(name: str, cells: list[Cell]) -> list[Cell]:
        return [text_cell(name), *cells[: len(BEFORE) + 1], text_cell(fullest or "–"), *cells[len(BEFORE) + 1 :]]

    for bucket in rules.buckets():
        held = [None if of is None else of.get(bucket, LiveHeap(0, 0)) for of in found]
        if bucket == OTHER or any(one and one.bytes for one in held):
            yield row(bucket, [figure(one, sums.sessions, blocks) for one in held])
    yield row("total", [figure(one, sums.sessions, blocks) for one in wholes])
    yield row("covered", [covered(of, whole) for of, whole in zip(found, wholes, strict=True)])


def figure(held: LiveHeap | None, sessions: int, blocks: bool) -> Cell:
    """Of one session; in hundredths where it is not whole, which is to be seen."""
    if held is None:
        return missing_cell("the profile has no such moment")

    def each(amount: int) -> str:
        return quotient_cell(amount, sessions).text

    size = Quotient(held.bytes, sessions)
    value = {"bytes": size.integer_part, "bytes_remainder": size.remainder}
    if held.blocks is None:
        return Cell(each(held.bytes), value | {"blocks": None, "over_sessions": sessions})
    count = Quotient(held.blocks, sessions)
    value |= {"blocks": count.integer_part, "blocks_remainder": count.remainder, "over_sessions": sessions}
    return Cell(f"{each(held.bytes)} ({each(held.blocks)})" if blocks else each(held.bytes), value)


def covered(found: dict[str, LiveHeap] | None, whole: LiveHeap | None) -> Cell:
    """Never rounded up: 100.0 % is all."""
    if whole is None or not whole.bytes:
        return missing_cell("the profile has no such moment" if whole is None else "nothing is live")
    share = 1 - (found[OTHER].bytes if found and OTHER in found else 0) / whole.bytes
    return Cell(f"{math.floor(share * 1000) / 10:.1f} %", share)


def profiles_from_selection(selection: Selection) -> Iterator[Profile]:
    """Of the largest sites run of every stack in each setting; of mixed pairs none, whose ends are of two families."""
    for setting in filter(is_same_stack_pair, selection.settings):
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                for run in selection.series(stack, setting, process).runs("sites")[-1:]:
                    yield sites_reader.profile_from_record(run)


def bucket_table_from_selection(selection: Selection) -> Table:
    return bucket_table(list(profiles_from_selection(selection)))
