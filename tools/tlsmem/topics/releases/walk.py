"""A library release by release: what a session of each holds in live heap, stage by stage and bucket by bucket."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from tlsmem.config import releases
from tlsmem.config.choices import RELEASE_SUITES, STAGE_PHASES
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.harness_output import Role
from tlsmem.schema.roles import ROLES
from tlsmem.stats import process_tables, session_cost
from tlsmem.stats.comparability import machine_identity
from tlsmem.stats.live_heap import why_no_heap_cost
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import HeapCost
from tlsmem.store.record import Record
from tlsmem.store.recordings import load_recording
from tlsmem.tables.settings import describe_machine

UNEXPLAINED = "unexplained"  # what the slope has and no call stack of the pair


@dataclass(frozen=True)
class SitesRun:
    """A sites run, and what its blocks are for."""

    record: Record

    @cached_property
    def sums(self) -> BucketSums:
        return BucketSums(sites_reader.profile_from_record(self.record))


@dataclass(frozen=True)
class Release:
    stack: str
    role: Role
    series: Series

    @property
    def version(self) -> str:
        return releases.version(self.stack)

    @cached_property
    def pair(self) -> tuple[Record, Record] | None:
        found = self.series.heap_pair()
        return found and process_tables.remove_tables(found)

    def cost(self, stage: str) -> HeapCost | None:
        """Of one session, exact; None without heap runs of two N."""
        if not self.pair:
            return None
        if stage == "peak":
            return session_cost.peak_cost(*self.pair, self.role)
        return session_cost.live_cost(*self.pair, self.role, STAGE_PHASES[stage])

    def size(self, stage: str) -> Fraction | None:
        found = self.cost(stage)
        return None if found is None else Fraction(found.bytes.amount, found.bytes.sessions)

    @property
    def reason(self) -> str:
        """Why there is no cost."""
        return why_no_heap_cost(self.series)

    @cached_property
    def sites(self) -> SitesRun | None:
        """The sites run, the largest."""
        return next(map(SitesRun, reversed(self.series.runs("sites"))), None)

    def buckets(self, stage: str) -> dict[str, Fraction]:
        """Bytes of one session by bucket, those that hold something. They add up to the stage's size; without a sites
        run there are none."""
        if not self.sites:
            return {}
        sums = self.sites.sums
        held = sums.live_by_bucket(STAGE_PHASES[stage], self.role)
        found = {bucket: sums.each(one) for bucket, one in held.items() if one.bytes}
        whole = self.size(stage)
        rest = Fraction(0) if whole is None else whole - sum(found.values())
        return found | ({UNEXPLAINED: rest} if rest else {})


@dataclass(frozen=True)
class ReleaseWalk:
    """The releases that have runs of one suite and role, in order; and the others, each with the reason."""

    suite: str
    role: Role
    setting: Setting
    releases: tuple[Release, ...]
    absent: tuple[str, ...]
    stacks: tuple[str, ...] = ()  # all that were asked for, in order

    def is_between(self, old: str, stack: str, new: str) -> bool:
        """Whether a release that was asked for lies between two others."""
        at = self.stacks.index
        return stack in self.stacks and at(old) < at(stack) < at(new)


def sort_stacks(stacks: Iterable[str]) -> list[str]:
    """Of one library, by release."""
    return [stack for several in releases.group_by_library(stacks).values() for stack in several]


def select_runs(runs: Sequence[Record], stacks: Sequence[str], suites: Sequence[str] | None) -> Selection:
    """Their runs in these suites; where none are asked for in RELEASE_SUITES, or where there is none of these in all.

    Raises ValueError with a sentence when there are no runs of one."""
    of_library = [run for run in runs if run.stack in stacks]
    there = {run.suite for run in of_library}
    usual = [suite for suite in RELEASE_SUITES if suite in there]
    return select(of_library, stacks, suites or usual or None)


def build_walks(
    selection: Selection, stacks: Sequence[str], roles: Sequence[Role] = ROLES, arrangement: str | None = None
) -> list[ReleaseWalk]:
    """By suite and role; with an `arrangement` of both roles in processes (together or split) of that alone.

    Raises ValueError with a sentence when nothing was measured, or not on one machine."""
    usual = selection.where(laboratory)
    if arrangement:
        there = dict.fromkeys(setting.roles for setting in usual.settings)
        if arrangement not in there:
            raise ValueError(f"no run of {', '.join(stacks)} has roles {arrangement}; there are: {', '.join(there)}")
        usual = usual.where(lambda setting: setting.roles == arrangement)
    check_one_machine([one for one in usual.records if one.stack in stacks])
    suites = dict.fromkeys(setting.suite for setting in usual.settings)
    found = [walk(usual, suite, role, stacks) for suite in suites for role in roles]
    made = [one for one in found if one.releases]
    if not made:
        raise ValueError(f"no run of {', '.join(stacks)} was measured in {', '.join(suites) or 'any suite'}")
    return made


def load_walks(
    recording: Path,
    library: str,
    versions: Sequence[str] | None,
    suites: Sequence[str] | None,
    roles: Sequence[Role] = ROLES,
    arrangement: str | None = None,
) -> list[ReleaseWalk]:
    """Return the walks of a recording, as `build_walks`.

    Raises ValueError with a sentence when it has no runs, or too few, of what was asked for."""
    runs = load_recording(recording, "`make compare-versions` makes one")
    runs = [run for run in runs if run.scenario == "memory"]
    stacks = releases.select_stacks(library, dict.fromkeys(run.stack for run in runs), versions)
    return build_walks(select_runs(runs, stacks, suites), stacks, roles, arrangement)


def laboratory(setting: Setting) -> bool:
    usual = (setting.allocator, setting.window, setting.env, setting.cpu, setting.peer)
    return usual == ("system", "all", "lab", "all", None) and setting.roles in ("together", "split")


def check_one_machine(records: Sequence[Record]) -> None:
    machines = {machine_identity(one.machine): describe_machine(one) for one in records}
    if len(machines) > 1:
        said = "; ".join(dict.fromkeys(machines.values()))
        raise ValueError(f"these runs are of {len(machines)} machines ({said}), and a walk is of one: name a recording")


def walk(selection: Selection, suite: str, role: Role, stacks: Sequence[str]) -> ReleaseWalk:
    """In the setting of this suite that has most of these stacks: both roles in one process, or one each."""
    settings = [setting for setting in selection.settings if setting.suite == suite]
    of = {setting: [release(selection, setting, role, stack) for stack in stacks] for setting in settings}
    setting = max(settings, key=lambda one: (sum(map(completeness, of[one])), one.roles == "together"))
    there = tuple(one for one in of[setting] if any(run.status == "measured" for run in one.series.records))
    absent = [
        f"{one.stack} in {suite}: {elsewhere(one.stack, setting, of) or why(one.series)}"
        for one in of[setting]
        if one not in there
    ]
    return ReleaseWalk(suite, role, setting, there, tuple(absent), tuple(stacks))


def elsewhere(stack: str, chosen: Setting, of: dict[Setting, list[Release]]) -> str | None:
    """Why a release is not in the walk, where it was measured with the roles in other processes."""
    for setting, found in of.items():
        measured = [one for one in found if one.stack == stack and completeness(one)]
        if setting != chosen and measured:
            option = f"--roles {setting.roles}"
            return f"measured with roles {setting.roles}, and this walk is of roles {chosen.roles}; {option} has it"
    return None


def why(series: Series) -> str:
    """There is nothing of it."""
    found = [f"{one.status}: {' '.join(one.reason.split())}" for one in series.records if one.reason]
    return found[0] if found else "not measured"


def completeness(found: Release) -> int:
    return (found.pair is not None) + (found.sites is not None)


def release(selection: Selection, setting: Setting, role: Role, stack: str) -> Release:
    return Release(stack, role, selection.series(stack, setting, setting.processes[role]))
