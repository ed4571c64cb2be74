"""What a session of a stack holds as servers run it: at rest, in use, and with the library's ways to hold less.

Bytes are live heap that one more session of the role adds, or the slope of RSS, from runs with full records."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Literal

from tlsmem.config import definitions
from tlsmem.config.campaigns import Campaign
from tlsmem.config.recording_command import AS_DEPLOYED, Advice, advise_recording_together
from tlsmem.config.suite_variants import LIBRARY, LOW_MEMORY, name_variant, split_variant
from tlsmem.schema.roles import Role
from tlsmem.stats.live_heap import SessionHeap
from tlsmem.stats.missing import NOT_RECORDED, Missing, keep_present, map_present
from tlsmem.stats.rss_line import RssLine, fit_rss
from tlsmem.stats.runtime_heap import LiveFigure, RuntimeHeap, bytes_per_session, heap_of_role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_same_stack_pair
from tlsmem.stats.session_cost import Quotient

Configuration = Literal["no tickets", "default", "low memory"]
CONFIGURATIONS: dict[Configuration, tuple[str, str | None]] = {  # options and tickets; None: as the suite has them
    "no tickets": ("default", None),
    "default": ("default", LIBRARY),
    "low memory": (LOW_MEMORY, LIBRARY),
}
AT_REST, IN_USE, IDLE = "established", "blocked", "idle"  # phases
FULL_RECORDS = ("reply", "full reply")  # the phases at whose ends a full record has not been sent each way, and has


def base_settings(selection: Selection) -> list[Setting]:
    """Return the settings of runs with full records, each once, by the suite that its variants have in common."""
    recorded = (one for one in selection.settings if one.data == "full" and is_same_stack_pair(one))
    bases = (replace(one, suite=split_variant(one.suite)[0]) for one in recorded if not one.roles.startswith("keep"))
    return list(dict.fromkeys(bases))


@dataclass(frozen=True)
class ConfiguredStack:
    """A role of a stack in the configurations of a setting."""

    selection: Selection
    stack: str
    setting: Setting  # with the suite itself
    role: Role

    def series(self, configuration: Configuration) -> Series:
        """Return the runs in the configuration; of none where it is not recorded."""
        setting = replace(self.setting, suite=name_variant(self.setting.suite, *CONFIGURATIONS[configuration]))
        return self.selection.series(self.stack, setting, setting.processes[self.role])

    def measured(self, configuration: Configuration) -> Series | Missing:
        """Return the runs in the configuration; Missing where none was measured."""
        series = self.series(configuration)
        if not series.records:
            return self.describe_unrecorded(configuration)
        measured = any(one.status == "measured" for one in series.records)
        return series if measured else Missing(series.reason(series.records[0].meter))

    def describe_unrecorded(self, configuration: Configuration) -> Missing:
        """Say that there are no runs in the configuration. The command that makes such runs names every stack that has
        none; there is no command where the campaign has no such runs."""
        setting = self.series(configuration).setting
        if not has_setting(setting):
            return Missing(NOT_RECORDED)
        others = (replace(self, stack=stack) for stack in self.selection.stacks)
        lacking = tuple(one.stack for one in others if not one.series(configuration).records)
        return Missing(f"not recorded; {advise(lacking, setting.suite)[self.stack].sentence}")

    @property
    def is_measured(self) -> bool:
        """Whether it was measured in any configuration."""
        return bool(keep_present(self.measured(one) for one in CONFIGURATIONS))

    @cached_property
    def heaps(self) -> dict[Configuration, SessionHeap | RuntimeHeap]:
        """Live heap in each configuration, by the meter that sees it."""
        return {one: heap_of_role(self.series(one), self.role) for one in CONFIGURATIONS}

    def live(self, configuration: Configuration, phase: str) -> LiveFigure | Missing:
        """Return the live heap of a session at the end of the phase."""
        return map_present(lambda _: self.heaps[configuration].live(phase), self.measured(configuration))

    def allocations(self, configuration: Configuration) -> Quotient | Missing:
        """Return the blocks that a session allocates while it receives a full record and sends one."""
        heaps = self.heaps
        return map_present(lambda _: heaps[configuration].allocations(*FULL_RECORDS), self.measured(configuration))

    def rss(self, configuration: Configuration, phase: str) -> RssLine | Missing:
        """Return the slope of RSS over sessions at the end of the phase."""
        return map_present(lambda series: fit_rss(series, phase), self.measured(configuration))


def has_setting(setting: Setting) -> bool:
    """Return whether the campaign of stacks as servers run them has runs in the setting."""
    campaign = definitions.campaigns().get(AS_DEPLOYED)
    if not isinstance(campaign, Campaign):
        return False
    kind = setting.window in campaign.windows and setting.roles in campaign.roles and setting.data == campaign.data
    place = setting.allocator in campaign.allocators and setting.env in campaign.envs and setting.cpu in campaign.cpus
    return setting.suite in campaign.configurations and kind and place


@cache
def advise(stacks: tuple[str, ...], suite: str) -> dict[str, Advice]:
    """Return how each stack is recorded in the suite as servers run it: every cell of a table asks."""
    return advise_recording_together(AS_DEPLOYED, stacks, suite)


@dataclass(frozen=True)
class Place:
    """The places of a stack among all: 1 holds the least. None where it has no figure."""

    stack: ConfiguredStack
    before: int | None  # established, without tickets, nothing written
    in_use: int | None  # as the library is by default


def rank_in_use(selection: Selection, setting: Setting, role: Role) -> list[Place]:
    """Return each measured stack with its places, those that hold least in use first."""
    found = [ConfiguredStack(selection, stack, setting, role) for stack in selection.stacks]
    measured = [one for one in found if one.is_measured]

    before = {one.stack: bytes_per_session(one.live("no tickets", AT_REST)) for one in measured}
    in_use = {one.stack: bytes_per_session(one.live("default", IN_USE)) for one in measured}
    places_before, places_in_use = count_smaller(before), count_smaller(in_use)
    ordered = sorted(measured, key=lambda one: in_use[one.stack])
    return [Place(one, places_before.get(one.stack), places_in_use.get(one.stack)) for one in ordered]


def count_smaller(sizes: dict[str, float]) -> dict[str, int]:
    """Return the place of each that has a size: one more than there are smaller ones."""
    known = {name: size for name, size in sizes.items() if size < float("inf")}
    return {name: 1 + sum(other < size for other in known.values()) for name, size in known.items()}
