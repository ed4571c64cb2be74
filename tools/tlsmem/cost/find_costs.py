"""Finds what is recorded of a stack's cost: the newest recording that has it in use, and its call stacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.config import choices
from tlsmem.config.suite_variants import LIBRARY, name_variant, split_variant
from tlsmem.plan import recordings
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.harness_arguments import has_full_records
from tlsmem.schema.records import Record
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import AT_REST, IN_USE, Configuration, ConfiguredStack, base_settings
from tlsmem.stats.costs import COSTS, Cost
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import select
from tlsmem.stats.series import Setting

SUITE = choices.PLAN_SUITE


@dataclass(frozen=True)
class StackCosts:
    """What is recorded of a stack in a suite; without runs in use every figure is missing."""

    stack: str
    suite: str
    recording: Path | None  # None: no recording has it in use
    roles: dict[Role, ConfiguredStack]
    records: tuple[Record, ...]  # that the figures are from

    def figure(self, role: Role, cost: Cost, configuration: Configuration = "default") -> float | Missing:
        """Return one of the three costs of a session of the role, in bytes."""
        stack = self.roles.get(role)
        return cost.figure(stack, configuration) if stack else Missing(f"not recorded: {self.command}")

    def sizes(self, role: Role, configuration: Configuration = "default") -> dict[Cost, float]:
        """Return those of the three costs that are recorded, in bytes."""
        figures = {cost: self.figure(role, cost, configuration) for cost in COSTS}
        return {cost: size for cost, size in figures.items() if not isinstance(size, Missing)}

    @property
    def command(self) -> str:
        """The command that records what is missing."""
        return f"tools/measure.py deployed-config --stacks {self.stack}"

    @property
    def sessions(self) -> list[int]:
        """The numbers of sessions of a role that lines of RSS go through."""
        runs = (run for run in self.records if run.meter == "rss" and run.window == self.window)
        return sorted({run.sessions // 2 for run in runs})

    @property
    def window(self) -> int | str | None:
        """How many handshakes were under way at a time; None where nothing is recorded."""
        return next((one.setting.window for one in self.roles.values()), None)


def find_costs(stack: str, suite: str, among: Sequence[Path]) -> StackCosts:
    """Return what the newest recording has of the stack in use, in the suite and its variants.

    Raises ValueError with a sentence when no recording has the stack."""
    known = [path for path in among if recordings.load_stack(path, stack)]
    if not known:
        raise ValueError(recordings.describe_unknown(stack, among))
    for path in known:
        runs = [run for run in recordings.load_stack(path, stack) if is_in_use(run, suite)]
        setting = choose_setting(runs)
        if setting:
            selection = select(runs, [stack])
            roles = {role: ConfiguredStack(selection, stack, setting, role) for role in setting.processes}
            return StackCosts(stack, suite, path, roles, selection.records)
    return StackCosts(stack, suite, None, {}, ())


def find_costs_or_like(stack: str, suite: str, among: Sequence[Path]) -> StackCosts:
    """Return the costs in the suite; where they are not recorded, in the stack's usual one."""
    found = find_costs(stack, suite, among)
    if found.recording:
        return found
    usual = find_costs(stack, recordings.usual_suite(stack, among), among)
    return usual if usual.recording else found


def is_in_use(run: Record, suite: str) -> bool:
    """Return whether the run is of memory, in a variant of the suite, and its sessions carried full records."""
    return run.scenario == "memory" and split_variant(run.suite)[0] == suite and has_full_records(run)


def choose_setting(runs: Sequence[Record]) -> Setting | None:
    """Return the setting with a process for each role and few handshakes at a time; None where there is none."""
    if not any(run.status == "measured" for run in runs):
        return None
    found = [one for one in base_settings(select(runs)) if one.roles == "split" and one.window != "all"]
    plain = [one for one in found if (one.allocator, one.env, one.cpu) == ("system", "lab", "all")]
    return plain[0] if plain else None


def find_parts(stack: str, suite: str, role: Role, among: Sequence[Path], phase: str = IN_USE) -> dict[str, float]:
    """Return the bytes of a session by bucket at the end of the phase; empty where no call stacks are recorded."""
    variant = name_variant(suite, tickets=LIBRARY)
    return sum_parts(stack, role, phase, among, lambda run: run.suite == variant and has_full_records(run))


def find_parts_at_rest(stack: str, suite: str, role: Role, among: Sequence[Path]) -> dict[str, float]:
    """Return the bytes of an established session by bucket, by its call stacks; empty where none are recorded."""
    return sum_parts(stack, role, AT_REST, among, lambda run: run.suite == suite and not has_full_records(run))


def sum_parts(
    stack: str, role: Role, phase: str, among: Sequence[Path], is_wanted: Callable[[Record], bool]
) -> dict[str, float]:
    """Return bytes by bucket at the end of the phase, of the first measured run with call stacks that is wanted."""
    for path in among:
        for run in recordings.load_stack(path, stack):
            if run.has_sites and run.status == "measured" and is_wanted(run):
                sums = BucketSums(sites_reader.profile_from_record(run))
                by_bucket = sums.live_by_bucket(phase, role)
                return {bucket: sum_bytes / sums.sessions for bucket, (sum_bytes, _) in by_bucket.items()}
    return {}
