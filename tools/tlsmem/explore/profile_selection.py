"""What of a heap profile is looked at: which moment, whose memory, which call stacks, over how many sessions."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.phase_names import PEAK_OF
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import (
    BASE,
    DUMP,
    END,
    PEAK,
    AllocationTotals,
    CallstackTree,
    LiveHeap,
    Moment,
    Profile,
    describe_untraced_peak,
    is_phase_end,
    profiler_name,
)
from tlsmem.schema.roles import Owner

LIMIT_S = 5.0
ROLES: tuple[Owner, ...] = ("client", "server")
AFTER = ("freed", END)
EXTREMES = {PEAK: "at the peak", END: "at the end of the run", DUMP: "when the profile was written"}
UNNAMED_MOMENT = re.compile(r"(mark|snapshot) [0-9]+")  # moments of which nobody says which phase ended there

Pattern = re.Pattern[str] | str | None
Value = TypeVar("Value")


class PatternNotFound(UserError, ValueError):
    """No call stack has a frame that the pattern finds."""


def pattern(text: str) -> re.Pattern[str]:
    """Raises ValueError with a sentence when it is none."""
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"--filter {text}: invalid regular expression: {error}") from None


def select_moment(profile: Profile, name: str | None = None) -> Moment:
    """As named, else the peak, else the fullest phase. Raises ValueError with a sentence."""
    refuse_without_moments(profile)
    if name and name not in profile.moments:
        if why := why_no_peaks(profile, name):
            raise ValueError(why)
        if name == PEAK and profile.untraced_peak:
            raise ValueError(f"{profile.file}: {describe_untraced_peak(profile)}")
        there = ", ".join(profile.moments) or "none at all"
        raise ValueError(f"{profile.file}: no moment {name} among {there}{suggest_nearest(name, profile.moments)}")
    if not profile.moments:
        raise ValueError(f"{profile.file}: nothing was recorded: the profile has no moment to look at")
    return profile.moments[name or (PEAK if PEAK in profile.moments else fullest(profile))]


def refuse_without_moments(profile: Profile) -> None:
    """Raise ValueError with a sentence where nothing is known of what was live."""
    if profile.why_no_moments:
        raise ValueError(f"{profile.file}: {profile.why_no_moments}")


def why_no_peaks(profile: Profile, name: str) -> str | None:
    """Say that call stacks at peaks were not recorded, and how to record them; None where they were, or where the
    moment is no peak."""
    if not profile.of_one_pair or not name.startswith(PEAK) or any(one.startswith(PEAK_OF) for one in profile.moments):
        return None
    assert profile.run
    from tlsmem.config.recording_command import advise_recording
    from tlsmem.schema.recorded_arguments import has_full_records

    campaign = "in-use-sites" if has_full_records(profile.run) else "mem"
    advice = advise_recording(campaign, profile.run.stack, profile.run.suite, "sites")
    return (
        f"{profile.file}: call stacks at peaks are not recorded: this sites run is of schema {profile.run.schema_}, "
        f"and they are kept from 9 on; {advice.sentence}"
    )


def describe_tool(profile: Profile) -> str:
    """For sentences."""
    return "a sites run" if profile.of_one_pair else profiler_name(profile.tool)


def phase_names(profile: Profile) -> list[str]:
    return [name for name in profile.moments if is_phase_end(name)]


def known_phases(profile: Profile) -> list[str]:
    """Phases by name."""
    return [name for name in phase_names(profile) if not UNNAMED_MOMENT.fullmatch(name)]


def fullest(profile: Profile) -> str:
    """The first of equals."""
    return max(phase_names(profile) or profile.moments, key=lambda name: profile.moments[name].bytes)


def describe_moment(name: str) -> str:
    """For captions."""
    if name in EXTREMES:
        return EXTREMES[name]
    if name.startswith(PEAK_OF):
        return f"at the peak of each session in `{name.removeprefix(PEAK_OF)}`"
    return f"at {name}" if UNNAMED_MOMENT.fullmatch(name) else f"at the end of `{name}`"


def live_by_stack(
    profile: Profile, name: str, owner: Owner | None = None, wanted: Pattern = None
) -> dict[int, LiveHeap]:
    """By stack, as Profile.live. Raises PatternNotFound with a sentence when there is a pattern and it finds no
    stack."""
    held = filter_stacks(profile.stacks, profile.live(name, owner), wanted)
    if wanted is not None and not held:
        raise PatternNotFound(
            f"{profile.file}: no call stack that holds memory {describe_moment(name)} has a frame that --filter finds"
        )
    return held


def choose(
    profile: Profile, only: str | None, owner: Owner | None, wanted: Pattern
) -> tuple[dict[str, dict[int, LiveHeap]], dict[int, AllocationTotals]]:
    """Return what is live at every moment, or at one, by moment and stack, and what was allocated over the run.

    Raises PatternNotFound with a sentence when there is a pattern and it finds no stack at any of these moments."""
    names = [only] if only else [*profile.moments]
    live = {name: filter_stacks(profile.stacks, profile.live(name, owner), wanted) for name in names}
    if names and not any(live.values()):
        live_by_stack(profile, names[0], owner, wanted)  # says so when it is the pattern's fault
    allocated = filter_stacks(profile.stacks, profile.allocated or {}, wanted)
    return live, {stack: one for stack, one in allocated.items() if owner in (None, profile.stacks.owner(stack))}


def filter_stacks(stacks: CallstackTree, by_stack: dict[int, Value], wanted: Pattern) -> dict[int, Value]:
    """Those with a frame whose function, file or module the pattern finds; all without a pattern."""
    if wanted is None:
        return by_stack
    found = places(stacks, len(stacks.places), wanted)
    return {stack: value for stack, value in by_stack.items() if any(found[at] for at in stacks.walk(stack))}


@lru_cache(maxsize=2)  # of each side of a diff once, however many moments are asked for
def places(stacks: CallstackTree, count: int, wanted: re.Pattern[str] | str) -> list[bool]:
    """Which of the first `count` the pattern finds. Raises ValueError with a sentence when that takes too long."""
    with limit_search_time(wanted):
        return [any(frame_matches(frame, wanted) for frame in frames) for frames in stacks.places[:count]]


def frame_matches(frame: Frame, wanted: re.Pattern[str] | str) -> bool:
    return any(text and re.search(wanted, text) for text in (frame.function, frame.file, frame.module))


def has_roles(profile: Profile) -> bool:
    return any(owner in ROLES for name in profile.moments for owner in profile.owners(name))


def sessions_per_role(profile: Profile, sessions: int | None = None) -> int | None:
    """How many sessions share what one role holds, of N together; all of N in a program without roles.

    None: not known. Raises ValueError with a sentence when N cannot be."""
    recorded = profile.run and profile.run.sessions
    if sessions is not None and sessions < 1:
        raise ValueError(f"--sessions {sessions}: at least one")
    if sessions is not None and recorded and sessions != recorded:
        raise ValueError(f"--sessions {sessions}: the record of {profile.file} says {recorded}; leave --sessions out")
    if profile.sessions_of_role is not None or sessions is None:
        return profile.sessions_of_role
    if not has_roles(profile):
        return sessions
    if sessions % 2:
        raise ValueError(f"--sessions {sessions}: sessions come in pairs of client and server, so N is even")
    return sessions // 2


def why_no_sessions(profile: Profile, name: str) -> str | None:
    """Why what is live above BASE is no session's; None where it is."""
    if name == BASE:
        return f"what is live at `{BASE}` belongs to no session"
    if name in AFTER and BASE in profile.moments:
        return f"the sessions are freed, and so is what was live at `{BASE}`"
    return None


def held_by_sessions(
    profile: Profile, name: str, owner: Owner | None = None, wanted: Pattern = None
) -> dict[int, LiveHeap]:
    """By stack, what sessions hold: of the roles, above BASE; all in a program without roles; nothing where none is."""
    if why_no_sessions(profile, name):
        return {}
    above = filter_stacks(profile.stacks, profile.live_of_sessions(name, owner), wanted)
    roles = has_roles(profile)
    return {stack: held for stack, held in above.items() if not roles or profile.stacks.owner(stack) in ROLES}


@contextmanager
def limit_search_time(wanted: re.Pattern[str] | str) -> Iterator[None]:
    """Raise ValueError with a sentence when the block takes longer than LIMIT_S seconds.

    Python's `re` looks at signals while it searches."""
    if threading.current_thread() is not threading.main_thread():  # which alone has signals
        yield
        return

    text = wanted if isinstance(wanted, str) else wanted.pattern

    def late(*_: object) -> None:
        raise ValueError(f"--filter {text}: not matched within {LIMIT_S:g} s; it tries too many ways: make it simpler")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
