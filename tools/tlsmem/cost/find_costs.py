"""Finds what is recorded of a stack's cost: in the suite that was named, or in the stack's usual one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.phase_names import PEAK_OF
from tlsmem.config import choices
from tlsmem.config.recording_command import Advice, advise_recording
from tlsmem.config.suite_variants import LIBRARY, name_variant
from tlsmem.plan.recorded_states import RecordedState, RecordedSuite
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.harness_output import Window
from tlsmem.schema.recorded_arguments import has_full_records
from tlsmem.schema.roles import Role
from tlsmem.stats import recorded_stacks
from tlsmem.stats.configured_stack import AT_REST, CONFIGURATIONS, IN_USE, Configuration, ConfiguredStack
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, RSS_AT_REST, RSS_COSTS, Cost
from tlsmem.stats.missing import NOT_RECORDED, Missing
from tlsmem.stats.session_cost import SessionPeak, session_peaks
from tlsmem.store import recordings
from tlsmem.store.record import Record

SUITE = choices.PLAN_SUITE
EVERY_COST = (COSTS[0], LIVE_AT_REST, *COSTS[1:])  # of states that are not as servers run the stack, too


@dataclass(frozen=True)
class StackCosts:
    """What is recorded of a stack in a suite, in one state; without a state every figure is missing."""

    recorded: RecordedSuite
    state: RecordedState | None

    @property
    def stack(self) -> str:
        """The stack's name."""
        return self.recorded.stack

    @property
    def suite(self) -> str:
        """The suite of the runs."""
        return self.recorded.suite

    @property
    def recording(self) -> Path | None:
        """The recording that has the runs; None where none has."""
        return self.state.recording if self.state else None

    @property
    def roles(self) -> dict[Role, ConfiguredStack]:
        """The stack by role; none where nothing is recorded."""
        return self.state.roles if self.state else {}

    def describe_state(self) -> str:
        """Return the state of the sessions in words."""
        return self.state.describe() if self.state else NOT_RECORDED

    @property
    def records(self) -> tuple[Record, ...]:
        """The runs that the figures are from."""
        return next((one.selection.records for one in self.roles.values()), ())

    def figure(self, role: Role, cost: Cost, configuration: Configuration = "default") -> float | Missing:
        """Return one of the costs of a session of the role, in bytes."""
        stack = self.roles.get(role)
        if not self.state or not stack:
            return Missing(f"not recorded; {self.recorded.advice.sentence}")
        if not self.state.is_in_use and cost not in (LIVE_AT_REST, RSS_AT_REST):
            return Missing("not recorded in use")
        if self.state.setting.roles != "split" and cost in RSS_COSTS:
            return Missing("not recorded for one role: one process held both")
        if not stack.series(configuration).records:
            return Missing(f"not recorded; {self.recorded.advice.sentence}")
        return cost.figure(stack, configuration)

    def sizes(self, role: Role, configuration: Configuration = "default") -> dict[Cost, float]:
        """Return those of the three costs that are recorded, in bytes."""
        figures = {cost: self.figure(role, cost, configuration) for cost in COSTS}
        return {cost: size for cost, size in figures.items() if not isinstance(size, Missing)}

    def has_rss(self, configuration: Configuration) -> bool:
        """Return whether RSS of any role is recorded in the configuration."""
        figures = (self.figure(role, cost, configuration) for role in self.roles for cost in RSS_COSTS)
        return any(not isinstance(one, Missing) for one in figures)

    @property
    def sessions(self) -> list[int]:
        """The numbers of sessions of a role that lines of RSS go through."""
        runs = (run for run in self.records if run.meter == "rss" and run.window == self.window)
        return sorted({run.sessions // 2 for run in runs})

    @property
    def window(self) -> int | str | None:
        """How many handshakes were under way at a time; None where nothing is recorded."""
        return self.state.setting.window if self.state else None


def find_costs(stack: str, suite: str, among: Sequence[Path]) -> StackCosts:
    """Return what the newest recording has of the stack as servers run it, in this suite and no other.

    Raises ValueError with a sentence when no recording has the stack."""
    if not any(recordings.load_stack(path, stack) for path in among):
        raise ValueError(recorded_stacks.describe_unknown(stack, among))
    recorded = RecordedSuite(stack, suite, among)
    return StackCosts(recorded, recorded.deployed)


def find_costs_or_like(stack: str, suite: str, among: Sequence[Path]) -> StackCosts:
    """Return the costs in the suite; where they are not recorded, in the stack's usual one.

    Call it only if no suite was named; the output must mark the other suite."""
    found = find_costs(stack, suite, among)
    if found.state:
        return found
    usual = find_costs(stack, recorded_stacks.usual_suite(stack, among), among)
    return usual if usual.state else found


def find_chosen_costs(stack: str, suite: str | None, among: Sequence[Path]) -> StackCosts:
    """Return the costs in the suite that was named, or in the one that its words mean for the stack, and in no other;
    in the usual one where none was named."""
    if not suite:
        return find_costs_or_like(stack, SUITE, among)
    return find_costs(stack, recorded_stacks.match_suite(stack, suite, among), among)


class StateCosts(NamedTuple):
    """Costs in one configuration, in a state other than as servers run the stack."""

    costs: StackCosts
    configuration: Configuration


def find_other_states(costs: StackCosts) -> list[StateCosts]:
    """Return the same suite in states other than as servers run the stack, each with a figure that no earlier one has.
    Live heap depends neither on concurrent handshakes nor on the number of processes."""
    found: list[StateCosts] = []
    known: set[tuple[Role, Cost, Configuration, Window | None]] = set()
    for state in costs.recorded.states:
        one = StackCosts(costs.recorded, state)
        for configuration in () if state.is_as_deployed else state.configurations:
            figures = {
                (role, cost, configuration, state.setting.window if cost in RSS_COSTS else None)
                for role in one.roles
                for cost in EVERY_COST
                if not isinstance(one.figure(role, cost, configuration), Missing)
            }
            if not figures <= known:
                found.append(StateCosts(one, configuration))
                known |= figures
    return found


def find_parts(stack: str, suite: str, role: Role, among: Sequence[Path], phase: str = IN_USE) -> dict[str, float]:
    """Return the bytes of a session by bucket at the end of the phase; empty where no call stacks are recorded."""
    variant = name_variant(suite, tickets=LIBRARY)
    return sum_parts(stack, role, phase, among, lambda run: run.suite == variant and has_full_records(run))


def find_parts_at_rest(stack: str, suite: str, role: Role, among: Sequence[Path]) -> dict[str, float]:
    """Return the bytes of an established session by bucket, by its call stacks; empty where none are recorded."""
    return sum_parts(stack, role, AT_REST, among, lambda run: run.suite == suite and not has_full_records(run))


class Peak(NamedTuple):
    """A peak of the live heap of a session above `contexts`, in bytes, and its phase."""

    phase: str
    size: float


class Peaks(NamedTuple):
    """Peaks of a session that was used: of one session alone, with its bytes by bucket, and the most that one more of
    many adds, which may be in another phase."""

    alone: Peak | Missing
    one_more: Peak | Missing
    parts: dict[str, float]


def find_peaks(
    stack: str, suite: str, role: Role, among: Sequence[Path], configuration: Configuration = "default"
) -> Peaks:
    """Return the peaks of the first run in use that has call stacks at peaks; else of the first with call stacks, whose
    fullest phase is what one more of many adds."""
    variant = name_variant(suite, *CONFIGURATIONS[configuration])
    older: Peaks | None = None
    for path in among:
        for run in recordings.load_stack(path, stack):
            if not (is_measured_sites_run(run) and run.suite == variant and has_full_records(run)):
                continue
            if peaks := [one for one in session_peaks(run, role) if one.one_more]:
                return read_peaks(run, role, peaks)
            older = older or read_fullest_phase(run, role, stack, suite)
    why = Missing(f"not recorded; {advise_parts(stack, suite).sentence}")
    return older or Peaks(why, why, {})


def read_peaks(run: Record, role: Role, peaks: Sequence[SessionPeak]) -> Peaks:
    """Return the largest of the peaks of a run that has call stacks at them."""
    alone = max(peaks, key=lambda peak: peak.alone)
    more = {peak.phase: peak.one_more.integer_part for peak in peaks if peak.one_more}
    fullest = max(more, key=more.__getitem__)
    parts = sum_buckets(run, f"{PEAK_OF}{alone.phase}", role)
    return Peaks(Peak(alone.phase, alone.alone), Peak(fullest, more[fullest]), parts)


def read_fullest_phase(run: Record, role: Role, stack: str, suite: str) -> Peaks | None:
    """Return what a run of a schema before 9 has; None where it has no session of the role."""
    sums = BucketSums(sites_reader.profile_from_record(run))
    if role not in sums.roles() or not (phase := sums.fullest(role)):
        return None
    size = sums.live_total(phase, role).bytes / sums.sessions
    why = "not recorded, since sites runs of schemas before 9 have no call stacks at peaks"
    return Peaks(Missing(f"{why}; {advise_parts(stack, suite).sentence}"), Peak(phase, size), {})


def advise_parts(stack: str, suite: str) -> Advice:
    """Return how the call stacks of a session in use are recorded."""
    return advise_recording("in-use-sites", stack, suite, meter="sites")


def sum_parts(
    stack: str, role: Role, phase: str, among: Sequence[Path], is_wanted: Callable[[Record], bool]
) -> dict[str, float]:
    """Return bytes by bucket at the end of the phase, of the first measured run with call stacks that is wanted."""
    for path in among:
        for run in recordings.load_stack(path, stack):
            if is_measured_sites_run(run) and is_wanted(run):
                return sum_buckets(run, phase, role)
    return {}


def is_measured_sites_run(run: Record) -> bool:
    """Return whether the run has call stacks."""
    return run.has_sites and run.status == "measured"


def sum_buckets(run: Record, moment: str, role: Role) -> dict[str, float]:
    """Return the bytes of one session by bucket at a moment of a sites run."""
    sums = BucketSums(sites_reader.profile_from_record(run))
    by_bucket = sums.live_by_bucket(moment, role)
    return {bucket: sum_bytes / sums.sessions for bucket, (sum_bytes, _) in by_bucket.items()}
