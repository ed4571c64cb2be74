"""Why two profiles are not to be compared: what differs between them beside what is to be found out."""

import posixpath
from collections.abc import Callable, Iterator

from tlsmem.base.printable import printable_text
from tlsmem.explore.diff.match_callstacks import STACK_VERSION
from tlsmem.profile.heap_profile import BASE, END, PEAK, Profile, profiler_name
from tlsmem.store.record import Record

ESTABLISHED = "established"
USUAL = (ESTABLISHED, PEAK, END)
ASPECTS: dict[str, Callable[[Record], str]] = {
    "suite": lambda run: run.suite,
    "N": lambda run: f"{run.sessions:,}",
    "roles": lambda run: run.roles,
    "window": lambda run: str(run.window),
    "environment": lambda run: run.env,
}


def default_moment(old: Profile, new: Profile, force: bool = False) -> str:
    """`established`, which is the same point of every connection and holds for as long as it is idle; the peak may lie
    in another phase of each, and is told where phases are not known. Raises ValueError when no moment is in both."""
    for name in USUAL:
        if name in old.moments and name in new.moments:
            return name
    if force and old.moments:
        return nearest_moment(old, ESTABLISHED)
    raise ValueError(
        f"not compared: OLD ({old.file}) and NEW ({new.file}) have none of {', '.join(USUAL)} in common; "
        "--phase chooses a moment, with --force one that is not in both"
    )


def nearest_moment(profile: Profile, name: str) -> str:
    """The moment of this name, or what stands for it. Raises ValueError when there is none at all."""
    there = (other for other in (name, *USUAL, *reversed(profile.moments)) if other in profile.moments)
    return profile.moment(next(there, name)).name


def describe_differences(old: Profile, new: Profile, moment: str) -> Iterator[str]:
    """Clauses, each of which is reason enough to refuse."""
    if old.tool != new.tool:
        alone = (
            "; a sites run tells of sessions alone, so others are left out" if compares_sessions_only(old, new) else ""
        )
        named = f"OLD is by {profiler_name(old.tool)}, NEW by {profiler_name(new.tool)}"
        yield f"{named}, which name functions each in its own way{alone}"
    for side, profile, other in (("OLD", old, new), ("NEW", new, old)):
        if profile.run is None and other.run is not None:
            yield f"{side} ({profile.file}) has no record of a run: it may be of any program"
        if moment not in profile.moments:
            there = ", ".join(profile.moments) or "none"
            yield f"{side} ({profile.file}) has no moment {moment}; there are {there}"
        if has_session_figures(other) and profile.run is not None and not has_session_figures(profile):
            yield f"of {side} ({profile.file}) the figures per session are not known, so whole processes are compared"
    if old.run is None and new.run is None and program(old) != program(new):
        yield f"OLD is of the program {program(old) or '?'}, NEW of {program(new) or '?'}"
    if old.run is not None and new.run is not None:
        for name, of in ASPECTS.items():
            if of(old.run) != of(new.run):
                yield f"OLD has {name} {of(old.run)}, NEW {of(new.run)}"


def program(profile: Profile) -> str:
    """Its name, without the directory, and without the version of a stack's harness."""
    return STACK_VERSION.sub("", printable_text(posixpath.basename((profile.command.split() or [""])[0])))


def has_session_figures(profile: Profile) -> bool:
    return profile.sessions_of_role is not None and BASE in profile.moments


def compares_sessions_only(old: Profile, new: Profile) -> bool:
    """Whether one of them cannot tell what anybody else holds."""
    return old.of_one_pair != new.of_one_pair
