"""Why two profiles are not to be compared: what differs between them beside what is to be found out."""

import posixpath
from collections.abc import Callable, Iterator

from tlsmem.explore.diff.match_callstacks import STACK_VERSION
from tlsmem.profile.heap_profile import BASE, END, PEAK, Profile, called
from tlsmem.schema.records import Record
from tlsmem.tables.table import clean

ESTABLISHED = "established"
USUAL = (ESTABLISHED, PEAK, END)
ASPECTS: dict[str, Callable[[Record], str]] = {
    "suite": lambda run: run.suite,
    "N": lambda run: f"{run.sessions:,}",
    "roles": lambda run: run.roles,
    "window": lambda run: str(run.window),
    "environment": lambda run: run.env,
}


def default(old: Profile, new: Profile, force: bool = False) -> str:
    """`established`, which is the same point of every connection and holds for as long as it is idle; the peak may
    lie in another phase of each, and is told where phases are not known. ValueError when no moment is in both."""
    for name in USUAL:
        if name in old.moments and name in new.moments:
            return name
    if force and old.moments:
        return nearest(old, ESTABLISHED)
    raise ValueError(
        f"not compared: OLD ({old.file}) and NEW ({new.file}) have none of {', '.join(USUAL)} in common; "
        "--phase chooses a moment, with --force one that is not in both"
    )


def nearest(profile: Profile, name: str) -> str:
    """The moment of this name, or what stands for it. ValueError when there is none at all."""
    there = (other for other in (name, *USUAL, *reversed(profile.moments)) if other in profile.moments)
    return profile.moment(next(there, name)).name


def differences(old: Profile, new: Profile, moment: str) -> Iterator[str]:
    """Clauses, each of which is reason enough to refuse."""
    if old.tool != new.tool:
        alone = "; a sites run tells of sessions alone, so others are left out" if sessions_alone(old, new) else ""
        named = f"OLD is by {called(old.tool)}, NEW by {called(new.tool)}"
        yield f"{named}, which name functions each in its own way{alone}"
    for side, profile, other in (("OLD", old, new), ("NEW", new, old)):
        if profile.run is None and other.run is not None:
            yield f"{side} ({profile.file}) has no record of a run: it may be of any program"
        if moment not in profile.moments:
            there = ", ".join(profile.moments) or "none"
            yield f"{side} ({profile.file}) has no moment {moment}; there are {there}"
        if per_session(other) and profile.run is not None and not per_session(profile):
            yield f"of {side} ({profile.file}) the figures per session are not known, so whole processes are compared"
    if old.run is None and new.run is None and program(old) != program(new):
        yield f"OLD is of the program {program(old) or '?'}, NEW of {program(new) or '?'}"
    if old.run is not None and new.run is not None:
        for name, of in ASPECTS.items():
            if of(old.run) != of(new.run):
                yield f"OLD has {name} {of(old.run)}, NEW {of(new.run)}"


def program(profile: Profile) -> str:
    """Its name, without the directory, and without the version of a stack's harness."""
    return STACK_VERSION.sub("", clean(posixpath.basename((profile.command.split() or [""])[0])))


def per_session(profile: Profile) -> bool:
    return profile.sessions_of_role is not None and BASE in profile.moments


def sessions_alone(old: Profile, new: Profile) -> bool:
    """Whether one of them cannot tell what anybody else holds."""
    return old.of_one_pair != new.of_one_pair
