"""Whether roles apart are what they are together: the live heap of split runs adds up to that of one process."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tlsmem.schema.harness_output import Role
from tlsmem.schema.records import Record
from tlsmem.stats import session_cost
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Setting
from tlsmem.stats.session_cost import Quotient

KEPT = "established"  # the phase in which a run that frees the peers holds what others do; it has no payload after it
Figures = dict[Role, tuple[Quotient, Quotient]]  # live bytes and blocks per session of the role


def live_by_role(selection: Selection, stack: str, setting: Setting, phase: str) -> Figures:
    """At the phase's end, of the roles that stay; empty where no heap runs at two N reached it."""
    found = {}
    for role, process in setting.processes.items():
        pair = selection.series(stack, setting, process).heap_pair()
        if not pair or any(phase not in {one.phase for one in run.phases} for run in pair):
            return {}
        cost = session_cost.live_cost(*pair, role, phase)
        found[role] = (cost.bytes, cost.blocks)
    return found


def less(one: Quotient, other: Quotient) -> Quotient:
    """Exact, though they be of different numbers of sessions."""
    if one.sessions == other.sessions:
        return Quotient(one.amount - other.amount, one.sessions)
    return Quotient(one.amount * other.sessions - other.amount * one.sessions, one.sessions * other.sessions)


def extra_when_split(
    selection: Selection, stack: str, setting: Setting, phase: str
) -> tuple[Quotient, Quotient] | None:
    """Bytes and blocks that both roles of a pair have live more apart than together; None without heap runs of both."""
    apart = live_by_role(selection, stack, setting, phase)
    whole = live_by_role(selection, stack, replace(setting, roles="together"), phase)
    if not apart or not whole:
        return None
    differences = [[less(*both) for both in zip(apart[role], whole[role], strict=True)] for role in apart]
    return tuple(less(one, Quotient(-other.amount, other.sessions)) for one, other in zip(*differences, strict=True))


def exceeds(one: Quotient, other: Quotient) -> bool:
    """Beyond what is left over: signatures differ in length by some bytes among thousands of sessions."""
    off = less(one, other)
    return abs(off.amount) >= off.sessions if one.remainder or other.remainder else off.amount != 0


def between(this: Figures, other: Figures) -> Iterator[str]:
    """Each role that is not the same in both, as `server 52,000 B in 150 blocks, not 51,936 B in 149`."""
    for role in this.keys() & other.keys():
        if any(exceeds(*both) for both in zip(this[role], other[role], strict=True)):
            (size, blocks), (whole, whole_blocks) = this[role], other[role]
            yield f"{role} {size} B in {blocks} blocks, not {whole} B in {whole_blocks}"


def comparable_phases(selection: Selection, stack: str, setting: Setting) -> list[str]:
    metered = [one for one in selection.records if (one.stack, one.meter) == (stack, "heap")]
    names = [phase.phase for one in metered if Setting.from_record(one) == setting for phase in one.phases]
    reached = dict.fromkeys(names)
    return [name for name in reached if setting.roles == "split" or name == KEPT]


def reference_settings(setting: Setting) -> list[Setting]:
    """What the roles must be equal to, the first that is there. What is established does not depend on the window."""
    if setting.roles == "split":
        return [replace(setting, roles="together")]
    windows = dict.fromkeys((setting.window, "all"))
    return [replace(setting, roles=roles, window=width) for roles in ("split", "together") for width in windows]


def check_split_sums(records: Iterable[Record]) -> list[str]:
    """A sentence for each stack and setting whose roles cost something else apart than together, at the first phase's
    end where they do; none when all is well, or nothing can be compared.

    Each role is compared, which is more than their sum; roles kept without their peers with a split run's first."""
    selection = select(records)
    said = []
    for setting in selection.settings:
        if setting.roles != "together" and setting.peer is None:
            said += [one for stack in selection.stacks for one in check_setting(selection, stack, setting)]
    return said


def check_setting(selection: Selection, stack: str, setting: Setting) -> list[str]:
    for phase in comparable_phases(selection, stack, setting):
        known = (live_by_role(selection, stack, one, phase) for one in reference_settings(setting))
        those = next(filter(None, known), {})
        if off := sorted(between(live_by_role(selection, stack, setting, phase), those)):
            where = f"{stack}, {setting.suite}, {setting.roles}, at the end of `{phase}`"
            return [f"split: {where}: live per session of the {'; of the '.join(off)}"]
    return []
