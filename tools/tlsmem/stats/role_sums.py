"""Checks that roles have the same live heap in a process each as in one process together."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from tlsmem.schema.roles import Role
from tlsmem.stats import session_cost
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Setting, is_one_process, is_same_stack_pair
from tlsmem.stats.session_cost import Quotient
from tlsmem.store.record import Record

KEPT = "established"  # the phase in which a run that frees the peers holds what others do; it has no payload after it
Figures = dict[Role, tuple[Quotient, Quotient]]  # live bytes and blocks per session of the role


def live_by_role(selection: Selection, stack: str, setting: Setting, phase: str) -> Figures:
    """Return live bytes and blocks per session at the end of the phase, of the roles that stay.

    Empty where heap runs at two N did not reach it."""
    found = {}
    for role, process in setting.processes.items():
        pair = selection.series(stack, setting, process).heap_pair()
        if not pair or any(phase not in {one.phase for one in run.phases} for run in pair):
            return {}
        cost = session_cost.live_cost(*pair, role, phase)
        found[role] = (cost.bytes, cost.blocks)
    return found


def less(one: Quotient, other: Quotient) -> Quotient:
    """Return the exact difference, also of quotients over different numbers of sessions."""
    if one.sessions == other.sessions:
        return Quotient(one.amount - other.amount, one.sessions)
    return Quotient(one.amount * other.sessions - other.amount * one.sessions, one.sessions * other.sessions)


def add(one: Quotient, other: Quotient) -> Quotient:
    """Return the exact sum, also of quotients over different numbers of sessions."""
    return less(one, Quotient(-other.amount, other.sessions))


def extra_when_split(
    selection: Selection, stack: str, setting: Setting, phase: str
) -> tuple[Quotient, Quotient] | None:
    """Return how many more bytes and blocks a pair has live with its roles in two processes than in one.

    None where there are not heap runs of both. `setting` is that of the split runs."""
    apart = live_by_role(selection, stack, setting, phase)
    whole = live_by_role(selection, stack, replace(setting, roles="together"), phase)
    if not apart or not whole:
        return None
    extra_bytes = [less(apart[role][0], whole[role][0]) for role in apart]
    extra_blocks = [less(apart[role][1], whole[role][1]) for role in apart]
    return add(*extra_bytes), add(*extra_blocks)


def exceeds(one: Quotient, other: Quotient) -> bool:
    """Return whether the two differ by more than a remainder: by a whole byte or block a session where either has one.

    Signatures differ in length by some bytes among thousands of sessions."""
    off = less(one, other)
    return abs(off.amount) >= off.sessions if one.remainder or other.remainder else off.amount != 0


class RoleDifference(NamedTuple):
    """Live bytes and blocks per session of a role, and those of the reference, from which they differ."""

    role: Role
    live: tuple[Quotient, Quotient]
    reference: tuple[Quotient, Quotient]


class SplitDifference(NamedTuple):
    """The first phase of a stack in a setting whose roles have another live heap than in the reference setting."""

    stack: str
    setting: Setting
    phase: str
    roles: list[RoleDifference]


def find_differences(this: Figures, reference: Figures) -> Iterator[RoleDifference]:
    """Yield each role that differs, in order of their names."""
    for role in sorted(this.keys() & reference.keys()):
        if any(exceeds(*both) for both in zip(this[role], reference[role], strict=True)):
            yield RoleDifference(role, this[role], reference[role])


def comparable_phases(selection: Selection, stack: str, setting: Setting) -> list[str]:
    """Return the phases whose live heap must equal that of the reference settings, in the order of the run."""
    metered = [one for one in selection.records if (one.stack, one.meter) == (stack, "heap")]
    names = [phase.phase for one in metered if Setting.from_record(one) == setting for phase in one.phases]
    reached = dict.fromkeys(names)
    return [name for name in reached if setting.roles == "split" or name == KEPT]


def reference_settings(setting: Setting) -> list[Setting]:
    """Return the settings whose live heap the roles must equal; the first that was measured counts.

    Heap at the end of `established` does not depend on the window, so other windows serve too."""
    if setting.roles == "split":
        return [replace(setting, roles="together")]
    windows = dict.fromkeys((setting.window, "all"))
    return [replace(setting, roles=roles, window=width) for roles in ("split", "together") for width in windows]


def check_split_sums(records: Iterable[Record]) -> list[SplitDifference]:
    """Return each stack and setting whose roles have another live heap apart than together.

    The list is empty when all agree, or nothing can be compared.

    Each role is compared, not only their sum. Roles kept without their peers are compared with a split run first."""
    selection = select(records)
    settings = [one for one in selection.settings if not is_one_process(one) and is_same_stack_pair(one)]
    found = (check_setting(selection, stack, setting) for setting in settings for stack in selection.stacks)
    return [one for one in found if one]


def check_setting(selection: Selection, stack: str, setting: Setting) -> SplitDifference | None:
    """Return the difference of one stack in one setting; None where there is none."""
    for phase in comparable_phases(selection, stack, setting):
        known = (live_by_role(selection, stack, one, phase) for one in reference_settings(setting))
        those = next(filter(None, known), {})
        if roles := list(find_differences(live_by_role(selection, stack, setting, phase), those)):
            return SplitDifference(stack, setting, phase, roles)
    return None
