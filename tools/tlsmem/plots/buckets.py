"""The picture of what a session's bytes are for: by bucket, at the moments of a session: new, at its
largest, at rest, in use, and idle."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import bucket_panel
from tlsmem.plots.frame import INK, Style, add_frame, create_rows, describe_records, list_rows, points, write_beside
from tlsmem.plots.picture import save
from tlsmem.plots.stack_colours import library_colour
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import Profile, profiler_name
from tlsmem.schema.roles import ROLES, Owner, Role
from tlsmem.tables.buckets import load_profiles

CREATED, PEAK, ESTABLISHED = "created", "at the peak", "established"
ONE_MORE = f"{PEAK}, one more of many"  # a sites run has it as the end of the fullest phase
USES = {"full reply": "in use, after 16 KiB each way", "reply": "in use, after 1 KiB each way"}  # by phase
IDLE, FREED = "idle", "idle, after it was asked to free its buffers"
NEAR = 1.05  # a ratio below it is said as a difference
AROUND, HEADING = 1.7, 0.9  # inches above and below the rows; the room of a heading, in rows
OFFSET = 0.3  # of a row: the first bar of a moment is so far below its place


def find_role(several: Sequence[BucketSums], role: Role | None) -> Role:
    """Return whose sessions are drawn: those asked for, else servers where there are any. Raises ValueError for
    none."""
    there = [name for name in ROLES if any(name in sums.roles() for sums in several)]
    if not there:
        raise ValueError("no call stack is a session's: this is no profile of a harness")
    if role and role not in there:
        raise ValueError(f"there are no {role} sessions: --role {there[0]}")
    return role or ("server" if "server" in there else there[0])


class BucketMoment(NamedTuple):
    """A moment, and the bytes of a session of each stack by bucket; of a stack without it there are none."""

    name: str
    sizes: tuple[dict[str, float], ...]

    @property
    def totals(self) -> tuple[float, ...]:
        """The bytes of a session of each stack."""
        return tuple(sum(parts.values()) for parts in self.sizes)


def describe_finding(stacks: Sequence[str], moment: BucketMoment, role: Role) -> str:
    """Return the finding: how many times the smallest session the largest one is."""
    ends = sorted(zip(moment.totals, stacks, strict=True))
    (least, smaller), (most, larger), when = ends[0], ends[-1], moment.name.partition(",")[0]
    if least == most:
        return f"A {role} session of {stack_title(larger)} holds {most:,.0f} B {when}"
    takes = (
        f"{most / least:.1f} times the live heap of {stack_title(smaller)}"
        if most / least >= NEAR
        else f"{most - least:,.0f} B more live heap than {stack_title(smaller)}"
    )
    return f"{stack_title(larger)} takes {takes}: a {role} session {when}"


def figure(shown: list[Profile], role: Role | None = None) -> Figure:
    """Draw a bar for each stack at each moment. Raises ValueError with a sentence when they differ in more than the
    stack."""
    suites = dict.fromkeys(profile.run.suite for profile in shown if profile.run)
    if len(suites) > 1:
        raise ValueError(f"there are several suites, and a picture is of one: --suite {' or '.join(suites)}")
    sums = [BucketSums(profile) for profile in shown]
    role = find_role(sums, role)
    sums = [one for one in sums if role in one.roles()]  # a process of the other role alone has a profile too
    moments = find_moments(sums, role)
    stacks = [one.stack for one in sums]
    made, (axes,) = create_rows(len(moments) * (len(stacks) + HEADING), AROUND)
    widest = draw_moments(axes, moments, stacks)
    title = describe_finding(stacks, choose_moment(moments), role)
    handles = bucket_panel.list_buckets([parts for moment in moments for parts in moment.sizes], widest)
    runs = [profile.run for profile in shown if profile.run]
    subtitle = f"Live heap of a {role} session, by what the bytes are for. {describe_run(shown[0])}."
    add_frame(made, title, subtitle, describe_records(runs) if runs else "", handles)
    return made


def draw_moments(axes: Axes, moments: Sequence[BucketMoment], stacks: Sequence[str]) -> float:
    """Draw a heading for each moment and below it a bar for each stack, named in the colour of its library; return the
    length of the longest bar."""
    widest = max((total for moment in moments for total in moment.totals), default=1.0) or 1.0
    rows: list[float] = []
    for number, moment in enumerate(moments):
        top = number * (len(stacks) + HEADING)
        words: Style = {"va": "center", "weight": "bold", "fontsize": points(0.95), "color": INK}
        axes.text(0.004 * widest, top + OFFSET - HEADING / 2 - 0.2, moment.name, **words)
        for at, (parts, total) in enumerate(zip(moment.sizes, moment.totals, strict=True)):
            rows.append(top + at + OFFSET)
            bucket_panel.draw_parts(axes, rows[-1], bucket_panel.sort_buckets(parts), widest)
            write_beside(axes, total, rows[-1], f"{total:,.0f} B" if parts else "– not recorded", bold=bool(parts))
    names = [stack_title(stack) for stack in stacks] * len(moments)
    list_rows(axes, names)
    axes.set_yticks(rows, names)
    axes.set_ylim(rows[-1] + 0.6, OFFSET - HEADING - 0.3)
    for label, stack in zip(axes.get_yticklabels(), list(stacks) * len(moments), strict=True):
        label.set_color(library_colour(stack))
    axes.set_xlim(0, 1.13 * widest)
    return widest


def describe_run(profile: Profile) -> str:
    """Return the suite as people write it, and what counted the bytes."""
    run = profile.run
    if not run:
        return f"{profiler_name(profile.tool)}: {profile.file}"
    return suite_title(run.suite)


def draw_from_arguments(given: argparse.Namespace) -> Sequence[Path]:
    """Draw what was asked for; return the files. Raises ValueError with a sentence."""
    profiles = list(load_profiles(given.source, given.stack, [given.suite] if given.suite else None))
    return save(figure(profiles, given.role), given.output)


def find_phases(sums: BucketSums, role: Owner) -> dict[str, str | None]:
    """Return the phase or moment of the profile for each moment that it has."""
    phases = sums.phases()
    used = next((phase for phase in USES if phase in phases), "")
    found = {CREATED: phases[0] if phases else None, ONE_MORE if sums.profile.of_one_pair else PEAK: sums.fullest(role)}
    found |= {name: phase for name, phase in ((ESTABLISHED, ESTABLISHED), (FREED, IDLE)) if phase in phases}
    return found | ({USES[used]: used} if used else {})


def sizes_by_bucket(sums: BucketSums, role: Owner, moment: str | None) -> dict[str, float]:
    """Return the bytes of one session by bucket."""
    if not moment:
        return {}
    return {bucket: float(sums.each(heap)) for bucket, heap in sums.live_by_bucket(moment, role).items()}


def find_moments(several: Sequence[BucketSums], role: Owner) -> list[BucketMoment]:
    """Return the moments that any stack has, in order of time."""
    phases = [find_phases(sums, role) for sums in several]
    there = {name for found in phases for name in found}
    return [
        BucketMoment(
            name,
            tuple(sizes_by_bucket(sums, role, found.get(name)) for sums, found in zip(several, phases, strict=True)),
        )
        for name in (CREATED, ONE_MORE, PEAK, ESTABLISHED, *reversed(USES.values()), FREED)
        if name in there
    ]


def choose_moment(moments: Sequence[BucketMoment]) -> BucketMoment:
    """Return the moment of the title, which every stack has: in use, else established, else the first.

    Raises ValueError where sessions hold nothing at any moment."""
    known = {moment.name: moment for moment in moments if all(moment.totals)}
    if not known:
        raise ValueError("there is no moment at which sessions of all these stacks hold memory")
    return next((known[name] for name in (*USES.values(), ESTABLISHED) if name in known), next(iter(known.values())))
