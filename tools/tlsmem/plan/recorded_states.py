"""What is recorded of a stack in a suite: in which states and by which campaigns, or the command that records it.

One look-up for commands and pages: a figure of another suite is never an answer. States are of runs that say what a
session of the library itself holds: of the scenario memory, with glibc malloc, in the controlled environment, of one
stack at both ends, with the sessions of both roles kept."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlsmem.config import definitions
from tlsmem.config.campaigns import Campaign
from tlsmem.config.matrix import campaign_runs
from tlsmem.config.recording_command import AS_DEPLOYED, Advice, advise_recording
from tlsmem.config.run import SYSTEM, Run
from tlsmem.config.suite_variants import LIBRARY, name_variant, split_variant
from tlsmem.schema.harness_output import Meter
from tlsmem.schema.roles import Role
from tlsmem.stats.configured_stack import CONFIGURATIONS, Configuration, ConfiguredStack
from tlsmem.stats.selection import run_from_record, select
from tlsmem.stats.series import Setting, data_size
from tlsmem.store import recordings
from tlsmem.store.record import Record

EACH_CLIENT = (
    "chains-each",
    "chains-runtime-each",
)  # of clients with a certificate each: there are 100
IN_SHORT = "axes-"  # prefix of campaigns that are short versions of others


@dataclass(frozen=True)
class RecordedState:
    """Sessions of a stack in a suite, as one recording has them in one setting."""

    stack: str
    recording: Path
    setting: Setting  # of its runs, with the suite itself: without options and tickets
    runs: tuple[Record, ...]  # of the recording, in the suite and its variants, with as much data

    @property
    def suite(self) -> str:
        """The suite itself."""
        return self.setting.suite

    @property
    def is_in_use(self) -> bool:
        """Whether sessions carried full records; if not, they carried at most 1 KiB each way."""
        return self.setting.data == "full"

    @property
    def is_as_deployed(self) -> bool:
        """Whether it is the state of the three costs: in use, a process for each role, few handshakes at a time."""
        return self.is_in_use and self.setting.roles == "split" and self.setting.window != "all"

    @functools.cached_property
    def measured(self) -> tuple[Record, ...]:
        """Its measured runs."""
        return tuple(run for run in self.runs if run.status == "measured" and base_setting(run) == self.setting)

    @property
    def meters(self) -> list[Meter]:
        """The meters of its measured runs: `sites` where call stacks are recorded."""
        return sorted({run.meter for run in self.measured})

    @property
    def configurations(self) -> list[Configuration]:
        """Those of the configurations of library options and tickets that were measured."""
        there = {run.suite for run in self.measured}
        return [key for key, variant in CONFIGURATIONS.items() if name_variant(self.suite, *variant) in there]

    @functools.cached_property
    def roles(self) -> dict[Role, ConfiguredStack]:
        """The stack by role: what figures are computed from."""
        selection = select(self.runs, [self.stack])
        return {role: ConfiguredStack(selection, self.stack, self.setting, role) for role in self.setting.processes}

    @property
    def campaign(self) -> str | None:
        """The campaign of memtest/campaigns.toml that asks for the most such runs; None where none asks for any.

        If several do, it is the one with as many sessions, because a recording may have fewer (`--n`)."""
        exact = {run_from_record(run) for run in self.measured}
        alike = set(map(forget_number, exact))
        shared = {
            name: (not name.startswith(IN_SHORT), len(alike & set(map(forget_number, wanted))), len(exact & wanted))
            for name, wanted in runs_by_campaign(self.stack).items()
            if not alike.isdisjoint(map(forget_number, wanted))
        }
        return max(shared, key=shared.__getitem__, default=None)

    def describe(self) -> str:
        """Return the state in words: `in use, all handshakes concurrent, a process per role`."""
        window, roles = self.setting.window, self.setting.roles
        handshakes = "all handshakes concurrent" if window == "all" else f"{window} handshakes at a time"
        handshakes = "one handshake at a time" if window == 1 else handshakes
        processes = "a process per role" if roles == "split" else "both roles in one process"
        return f"{'in use' if self.is_in_use else 'at rest'}, {handshakes}, {processes}"

    @property
    def has_heap_and_rss(self) -> bool:
        """Whether both live heap and RSS were measured."""
        return {"heap", "rss"} <= set(self.meters)

    @property
    def order(self) -> tuple[bool | int, ...]:
        """Sorts states: that of the three costs first, in use before at rest, and one that has both live heap and RSS
        before one that has a part."""
        setting = self.setting
        kind = not self.is_as_deployed, not self.is_in_use, setting.roles != "split", setting.window == "all"
        return *kind, -len(set(self.meters) - {"sites"})


@dataclass(frozen=True)
class RecordedSuite:
    """What recordings have of a stack in a suite, and in no other one. Each part reads the recordings that it needs."""

    stack: str
    suite: str
    among: Sequence[Path]  # the newest first

    @functools.cached_property
    def states(self) -> tuple[RecordedState, ...]:
        """The states; that of the three costs first, of equal ones that of the newest recording."""
        found = [state for path in self.among for state in find_states(path, self.stack, self.suite)]
        return tuple(sorted(found, key=lambda state: state.order))

    @functools.cached_property
    def deployed(self) -> RecordedState | None:
        """The state of the three costs, the first of `states`; None where it is not recorded. No recording is read that
        is older than the newest with both live heap and RSS."""
        found: list[RecordedState] = []
        for path in self.among:
            found += [state for state in find_states(path, self.stack, self.suite) if state.is_as_deployed]
            if any(state.has_heap_and_rss for state in found):
                break
        return min(found, key=lambda state: state.order, default=None)

    @functools.cached_property
    def runs(self) -> list[Record]:
        """All runs, of other scenarios and of runs that were not measured too."""
        return [run for path in self.among for run in suite_runs(path, self.stack).get(self.suite, ())]

    @functools.cached_property
    def refusal(self) -> str | None:
        """What the stack said where it was run and does not do the suite."""
        refused = next((one for one in self.runs if (one.status, one.suite) == ("unsupported", self.suite)), None)
        return " ".join((refused.reason or "").split()) if refused and not self.states else None

    @functools.cached_property
    def advice(self) -> Advice:
        """How to record it as servers run it."""
        if self.refusal:
            return Advice(None, self.refusal)
        return advise(self.stack, self.suite, is_in_part=bool(self.states))

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """Other scenarios that have it, and `memory` in other settings, as other allocators."""
        return tuple(sorted({run.scenario for run in self.runs if is_elsewhere(run)}))


def recorded_suites(stack: str, among: Sequence[Path]) -> list[str]:
    """Return the suites that recordings have measured runs of the stack in, in any scenario; in the order of
    memtest/suites.toml."""
    runs = (suite_runs(path, stack).items() for path in among)
    there = {suite for found in runs for suite, some in found if any(run.status == "measured" for run in some)}
    known = list(definitions.suites())
    return sorted(there, key=lambda suite: (known.index(suite) if suite in known else len(known), suite))


def advise(stack: str, suite: str, is_in_part: bool) -> Advice:
    """Return how to record the stack in the suite as servers run it; for clients with a certificate each, as those are
    recorded, unless that is there already."""
    campaigns = (AS_DEPLOYED, *EACH_CLIENT) if not is_in_part else (AS_DEPLOYED,)
    several = [advise_recording(campaign, stack, suite) for campaign in campaigns]
    return next((one for one in several if one.command), several[0])


@functools.cache
def suite_runs(recording: Path, stack: str) -> dict[str, tuple[Record, ...]]:
    """Return the stack's runs by suite, those of a suite's variants with it."""
    found: dict[str, list[Record]] = {}
    for run in recordings.load_stack(recording, stack):
        found.setdefault(split_variant(run.suite)[0], []).append(run)
    return {suite: tuple(runs) for suite, runs in found.items()}


@functools.cache
def find_states(recording: Path, stack: str, suite: str) -> tuple[RecordedState, ...]:
    """Return the states that one recording has, each with a measured run."""
    runs = [run for run in suite_runs(recording, stack).get(suite, ()) if run.scenario == "memory"]
    settings = dict.fromkeys(base_setting(run) for run in runs if run.status == "measured" and not is_elsewhere(run))
    return tuple(
        RecordedState(stack, recording, setting, tuple(run for run in runs if data_size(run) == setting.data))
        for setting in settings
    )


def base_setting(run: Record) -> Setting:
    """Return the setting of a run, with the suite that its variants have in common."""
    setting = Setting.from_record(run)
    return replace(setting, suite=split_variant(setting.suite)[0])


def is_elsewhere(run: Record) -> bool:
    """Return whether the run was measured, and is in no state: of another scenario, allocator, environment or pair."""
    if run.status != "measured":
        return False
    setting = Setting.from_record(run)
    usual = (SYSTEM, None, "lab", "all")
    is_usual = (setting.allocator, setting.peer, setting.env, setting.cpu) == usual
    return run.scenario != "memory" or not is_usual or setting.roles.startswith("keep")


@functools.cache
def runs_by_campaign(stack: str) -> dict[str, frozenset[Run]]:
    """Return the runs of the stack in each campaign of memory."""
    known = {name: one for name, one in definitions.campaigns().items() if isinstance(one, Campaign)}
    of_stack = {name: one.restrict_to_stacks(lambda other: other == stack) for name, one in known.items()}
    return {name: frozenset(campaign_runs(one)) for name, one in of_stack.items() if one}


def forget_number(run: Run) -> Run:
    """Return the run as one of any number of sessions, and of any repeat."""
    return replace(run, sessions=2, repeat=1)


def describe_configuration(suite: str, configuration: Configuration) -> str:
    """Return a configuration of the suite in words: `default` has the library's tickets, `no tickets` the suite's."""
    tickets = definitions.suites()[suite].tickets
    if configuration != "no tickets" or tickets == 0:
        return configuration
    return "default" if tickets == LIBRARY else f"{tickets} ticket{'s' * (tickets != 1)}"
