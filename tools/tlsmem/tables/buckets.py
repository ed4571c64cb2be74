"""A session's bytes by what they are for, by role and phase: the table of buckets, of any heap profile;
and where such profiles come from: recordings, directories of profiles, and files.

The columns of figures are made by `moment_columns`: a row has a figure by the key of each, and `figure_cell` writes
it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.phase_names import PEAK_OF
from tlsmem.config.suite_variants import expand_words
from tlsmem.profile import open_profile, profile_metadata, sites_reader
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.rules import OTHER
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import PEAK, LiveHeap, Profile
from tlsmem.schema.recording_files import is_recording, require_recording
from tlsmem.schema.roles import Owner
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import Selection, choose_values, select
from tlsmem.stats.series import is_same_stack_pair
from tlsmem.stats.session_cost import Quotient
from tlsmem.store import read_runs
from tlsmem.tables.table import Cell, Column, Table, quotient_cell

Names = Sequence[str] | None
MOST = "most"  # the moment at which most is live, which is another one for each role
ALONE = "alone"  # the moment at which one session alone holds most, within a phase
BEFORE, AFTER = (
    {"sessions": "created"},
    {"established": "established", "reply": "after 1 KiB each way", "idle": "idle", "closed": "closed"},
)
VARYING = ("suite", "roles", "window", "env")  # of a run, shown where profiles differ in it
TITLE = "A session's bytes by bucket"
CAPTION = (
    "Bytes{} that one session of the role holds at the end of a phase, above what was live before any session, by "
    "purpose (docs/explanation/buckets.md). Most: {}. Covered: the share of bytes that a rule matches."
)
AT_PEAK, AT_FULLEST = "the peak of the process", "the end of the phase at which the role holds most"
AT_ALONE = (
    f"{AT_FULLEST}, which one more of many adds to the peak. Alone: the peak of one session alone, within a phase"
)


NO_MOMENT = Missing("the profile has no such moment")
NOTHING_LIVE = Missing("nothing is live")


class BucketFigure(NamedTuple):
    """What all sessions of a role hold, and how many they are."""

    held: LiveHeap
    sessions: int


@dataclass(frozen=True)
class BucketRow:
    """A bucket of a role, all that the role holds, or the share of it that a rule knows the purpose of."""

    sums: BucketSums
    role: Owner
    name: str
    fullest: str | None  # the moment of MOST
    figures: Mapping[str, BucketFigure | float | Missing]  # a share is a float; by the key of the column


def bucket_table(profiles: Sequence[Profile], blocks: bool = False) -> Table:
    """Rows by stack, role and bucket; `total` is what the sessions hold, whatever the rules say. With `blocks` cells
    are `bytes (blocks)`; their values have both always."""
    varying = [key for key in VARYING if len({run_aspect(profile, key) for profile in profiles}) > 1]
    stacks = {BucketSums(profile).stack for profile in profiles}
    single = stacks.pop() if len(stacks) == 1 else None
    names = [Column(key, key, left=True, value=aspect_value(key)) for key in varying]
    # Where there is one stack, it stands in the title.
    names.append(Column("stack", "stack", left=True, usual=single, value=lambda row: row.sums.stack))
    names.append(Column("role", "role", left=True, value=lambda row: row.role))
    names.append(Column("bucket", "bucket", left=True, value=lambda row: row.name))
    peak = any(PEAK in BucketSums(profile).moments for profile in profiles)
    alone = all(BucketSums(profile).has_peaks for profile in profiles)
    caption = CAPTION.format(" and (blocks)" if blocks else "", AT_PEAK if peak else AT_ALONE if alone else AT_FULLEST)
    title = TITLE + (f": {single}" if single else "")
    made = Table("buckets", title, caption + without_rules(profiles), [*names, *moment_columns(blocks, alone)])
    for sums in map(BucketSums, profiles):
        for role in sums.roles():
            made.add_rows(rows(sums, role))
    return made


def without_rules(profiles: Sequence[Profile]) -> str:
    """Name the families of stacks that have no rules."""
    missing = {BucketSums(one).family for one in profiles} - set(rules.families())
    said = " memtest/buckets.toml has no rules for {}, so all is `{}`."
    return "".join(said.format(family, OTHER) for family in sorted(missing))


def run_aspect(profile: Profile, key: str) -> str:
    """Return an aspect of the profile's run; the file's name where the run is not known."""
    return str(getattr(profile.run, key)) if profile.run else profile.file


def aspect_value(key: str) -> Callable[[BucketRow], str]:
    """Return a function that takes the aspect of a row."""
    return lambda row: run_aspect(row.sums.profile, key)


def moment_columns(blocks: bool, alone: bool) -> Iterator[Column]:
    """Yield a column for each moment, and one that names the fullest, and that of the peak of one session alone."""
    for key, heading in (BEFORE | {MOST: MOST} | ({ALONE: ALONE} if alone else {}) | AFTER).items():
        yield Column(key, heading, value=figure_value(key), form=partial(figure_cell, blocks=blocks))
        if key == MOST:
            yield Column(f"{MOST}_in", "most in", left=True, usual=PEAK, value=lambda row: row.fullest or NOTHING_LIVE)
        if key == ALONE:
            yield Column(f"{ALONE}_in", "alone in", left=True, value=lambda row: phase_of_peak(row) or NOTHING_LIVE)


def phase_of_peak(row: BucketRow) -> str | None:
    """Return the phase with the peak of one session alone."""
    moment = row.sums.alone_peak(row.role)
    return moment and moment.removeprefix(PEAK_OF)


def figure_value(key: str) -> Callable[[BucketRow], BucketFigure | float | Missing]:
    """Return a function that takes a row's figure in the column of this key."""
    return lambda row: row.figures[key]


def rows(sums: BucketSums, role: Owner) -> Iterator[BucketRow]:
    """Buckets that hold nothing at any of the moments have no row, but `other` has."""
    fullest = sums.fullest(role)
    moments = {key: key for key in (*BEFORE, *AFTER)} | {MOST: fullest, ALONE: sums.alone_peak(role)}
    recorded = {key: moment for key, moment in moments.items() if moment in sums.moments}
    live = {key: sums.live_by_bucket(moment, role) for key, moment in recorded.items()}
    totals = {key: sums.live_total(moment, role) for key, moment in recorded.items()}

    def row(name: str, figures: Mapping[str, BucketFigure | float | Missing]) -> BucketRow:
        return BucketRow(sums, role, name, fullest, {key: figures.get(key, NO_MOMENT) for key in moments})

    for bucket in rules.buckets():
        held = {key: buckets.get(bucket, LiveHeap(0, 0)) for key, buckets in live.items()}
        if bucket == OTHER or any(one.bytes for one in held.values()):
            yield row(bucket, {key: BucketFigure(one, sums.sessions) for key, one in held.items()})
    yield row("total", {key: BucketFigure(one, sums.sessions) for key, one in totals.items()})
    yield row("covered", {key: covered_share(live[key], total) for key, total in totals.items()})


def covered_share(live: Mapping[str, LiveHeap], total: LiveHeap) -> float | Missing:
    """Return the share of the bytes that a rule knows the purpose of, 0 to 1."""
    return 1 - live.get(OTHER, LiveHeap(0, 0)).bytes / total.bytes if total.bytes else NOTHING_LIVE


def figure_cell(figure: BucketFigure | float, blocks: bool) -> Cell:
    """Bytes of one session, or a share."""
    return share_cell(figure) if isinstance(figure, float) else live_cell(figure, blocks)


def live_cell(figure: BucketFigure, blocks: bool) -> Cell:
    """Of one session; in hundredths where it is not whole, which is to be seen."""
    held, sessions = figure

    def each(amount: int) -> str:
        return quotient_cell(amount, sessions).text

    size = Quotient(held.bytes, sessions)
    value = {"bytes": size.integer_part, "bytes_remainder": size.remainder}
    if held.blocks is None:
        return Cell(each(held.bytes), value | {"blocks": None, "over_sessions": sessions})
    count = Quotient(held.blocks, sessions)
    value |= {"blocks": count.integer_part, "blocks_remainder": count.remainder, "over_sessions": sessions}
    return Cell(f"{each(held.bytes)} ({each(held.blocks)})" if blocks else each(held.bytes), value)


def share_cell(share: float) -> Cell:
    """Never rounded up: 100.0 % is all."""
    return Cell(f"{math.floor(share * 1000) / 10:.1f} %", share)


def profiles_from_selection(selection: Selection) -> Iterator[Profile]:
    """Of the largest sites run of every stack in each setting; of mixed pairs none, whose ends are of two families."""
    for setting in filter(is_same_stack_pair, selection.settings):
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                for run in selection.series(stack, setting, process).runs("sites")[-1:]:
                    yield sites_reader.profile_from_record(run)


def bucket_table_from_selection(selection: Selection) -> Table:
    """The table of the largest sites run of every stack in each setting."""
    return bucket_table(list(profiles_from_selection(selection)))


def load_profiles(paths: Sequence[Path], stacks: Names = None, suites: Names = None) -> Iterator[Profile]:
    """Of recordings the largest sites run of each stack. Raises ValueError or Unreadable with a sentence."""
    for name in paths:
        path = require_recording(name, "recording or profile")
        if path.is_dir() and not is_recording(path) and (path / "profiles").is_dir():
            yield from profiles_from_folder(path / "profiles", stacks, suites)
        elif path.is_dir() or is_recording(path):
            yield from profiles_from_recording(path, stacks, suites)
        else:
            yield open_profile.open_profile(path, suite=suites[0] if suites and len(suites) == 1 else None)


def profiles_from_recording(path: Path, stacks: Names, suites: Names) -> Iterator[Profile]:
    """Yield the largest sites run of each stack. Raises ValueError where there is none."""
    records = read_runs.load(path)
    suites = expand_words(suites, (one.suite for one in records if one.scenario == "memory"))
    found = list(profiles_from_selection(select(records, stacks, suites)))
    if not found:
        raise ValueError(f"{path}: the recording has no sites run; `make mem` records some")
    yield from found


def profiles_from_folder(folder: Path, stacks: Names, suites: Names) -> Iterator[Profile]:
    """What `make profile` kept: of each stack and suite the profile of most sessions, by one tool."""
    kept = {file: profile_metadata.load(file).run for file in sorted(folder.glob("*.json"))}
    if not kept:
        raise ValueError(f"{folder}: no profile with a record; `make profile` makes some")
    stacks = choose_values(stacks, (run.stack for run in kept.values()), "the stack")
    suites = choose_values(suites, (run.suite for run in kept.values()), "the suite")
    order = sorted(kept, key=lambda file: kept[file].sessions)
    largest = {(kept[file].suite, kept[file].stack): file for file in order}
    for suite in suites:
        for stack in stacks:
            if file := largest.get((suite, stack)):
                yield open_profile.open_profile(file)
