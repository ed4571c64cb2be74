"""What a session holds phase by phase: exact live heap with its peaks, by bucket where a sites run tells, and RSS.

Of one stack in one suite: heap runs, sites runs and RSS runs of all pairs in the handshake at once."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, NotRequired, TypedDict

from tlsmem.base.phase_names import PEAK_OF, order_key
from tlsmem.config.run import SYSTEM
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema.roles import ROLES, Process, Role
from tlsmem.stats import allocator_statistics, process_tables, session_cost
from tlsmem.stats.live_heap import why_no_heap_cost
from tlsmem.stats.remainders import Cause, find_cause
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting
from tlsmem.store.record import Record
from tlsmem.tables.environments import LAB
from tlsmem.tables.heap import CAUSES

BASE, LAST = "contexts", "closed"  # figures are above the one; what comes after the other is nobody's session
Holder = Role | Literal["pair"]
PAIR: Final = "pair"
UNMETERED = "heap is metered on glibc malloc, in the controlled environment, and this was not measured so"
METERED: dict[Holder, str] = {"client": "client", "server": "server", PAIR: "total"}


class StackInSuite(NamedTuple):
    """A stack in a suite, with the settings its figures are from: `metered` of the heap, `resident` by what differs."""

    stack: str
    suite: str
    metered: Setting | None
    together: Setting | None  # the same of a pair
    resident: dict[str, list[Setting]]  # by allocator and environment; split runs first


class BucketAmount(NamedTuple):
    """What one session holds in a bucket."""

    bucket: str
    bytes: int
    blocks: int


Slopes = TypedDict(
    "Slopes",
    {
        "of": str,  # how roles are arranged
        "why": NotRequired[str],  # why there are no slopes
        "bytes": NotRequired[list[float | None]],  # by phase
        "from": NotRequired[str],  # the numbers of sessions
        "note": NotRequired[str],
    },
)
Figures = TypedDict(
    "Figures",
    {
        "why": str,  # why nothing is known of live heap
        "sessions": int,  # what amounts are of
        "from": str,  # the numbers of sessions
        "live": list[list[int] | None],  # bytes and blocks by phase
        "peak": list[list[int] | None],  # what one more of many adds
        "notes": list[str | None],
        "one_pair": str,  # why it is no more than what one pair holds
        "buckets": list[list[BucketAmount]],  # by phase
        "alone_buckets": list[list[BucketAmount]],
        "alone": list[list[int] | None],  # the peak of one session alone, where call stacks at peaks are recorded
        "rss": dict[str, Slopes],  # by setting
    },
    total=False,
)


def stacks_in_suites(selection: Selection) -> Iterator[StackInSuite]:
    plain = [one for one in selection.settings if is_plain(one)]
    for suite in dict.fromkeys(one.suite for one in plain):
        for stack in selection.stacks:
            there = [one for one in plain if one.suite == suite and (stack, one) in selection.runs_of]
            if there:
                yield stack_in_suite(selection, stack, suite, there)


def is_plain(setting: Setting) -> bool:
    """Whether its phases are those of all sessions at once, with the same stack at both ends."""
    whole = setting.roles in ("together", "split") and setting.window == "all"
    return whole and setting.peer is None and setting.cpu == "all"


def stack_in_suite(selection: Selection, stack: str, suite: str, settings: Sequence[Setting]) -> StackInSuite:
    """Heap is metered in the controlled environment, on glibc malloc."""

    def tells(setting: Setting) -> tuple[bool, bool, bool]:
        meters = {run.meter for run in selection.runs_of[stack, setting] if run.status == "measured"}
        return "sites" in meters, "heap" in meters, setting.roles == "split"

    metered = [one for one in settings if (one.allocator, one.env) == (SYSTEM, LAB)]
    resident: dict[str, list[Setting]] = {}
    for one in sorted(settings, key=lambda one: (one.env != LAB, one.allocator != SYSTEM, one.roles != "split")):
        resident.setdefault(called(one), []).append(one)
    both = [one for one in metered if one.roles == "together"]
    return StackInSuite(
        stack, suite, max(metered, key=tells, default=None), max(both, key=tells, default=None), resident
    )


def called(setting: Setting) -> str:
    return setting.allocator if setting.env == LAB else f"{setting.allocator}, {setting.env}"


def sites_run(selection: Selection, at: StackInSuite) -> Record | None:
    """Of the largest N."""
    runs = selection.runs_of.get((at.stack, at.metered), ()) if at.metered else ()
    measured = [run for run in runs if run.meter == "sites" and run.status == "measured" and run.has_sites]
    return max(measured, key=lambda run: run.sessions, default=None)


def runs_of(selection: Selection, at: StackInSuite) -> list[Record]:
    """Return the runs that the figures of this place are of, setting by setting."""
    settings = dict.fromkeys([*(one for some in at.resident.values() for one in some), at.metered, at.together])
    return [run for setting in settings if setting for run in selection.runs_of.get((at.stack, setting), ())]


def phases(selection: Selection, at: StackInSuite) -> list[str]:
    """Those after BASE up to LAST, in order of time."""
    names = dict.fromkeys(name for run in runs_of(selection, at) for name in run.phase_names)
    known = [name for name in names if name != BASE]
    known = known[: known.index(LAST) + 1] if LAST in known else known
    return sorted(known, key=lambda name: (order_key(name), name == LAST))


def figures(
    selection: Selection, at: StackInSuite, role: Holder, names: Sequence[str], profile: Profile | None
) -> Figures:
    """Return live heap with its peaks, buckets, and RSS, by phase."""
    found = live(selection, at, role, names, profile)
    if profile and role != PAIR:
        sums = BucketSums(profile)
        found["buckets"] = [buckets(sums, name, role) for name in names]
        if sums.has_peaks:
            found["alone_buckets"] = [buckets(sums, peak_of(name), role) for name in names]
            found["alone"] = [add_up(parts) for parts in found["alone_buckets"]]
    rss = {name: resident(selection, at.stack, settings, role, names) for name, settings in at.resident.items()}
    found["rss"] = {name: one for name, one in rss.items() if one}
    return found


def live(
    selection: Selection, at: StackInSuite, role: Holder, names: Sequence[str], profile: Profile | None
) -> Figures:
    metered = at.together if role == PAIR else at.metered
    if metered is None:
        return {"why": UNMETERED}
    series = selection.series(at.stack, metered, process_of_role(metered, role))
    pair = series.heap_pair()
    if not pair:
        return (
            one_pair_figures(BucketSums(profile), role, names, why_no_heap_cost(series))
            if profile
            else {"why": unmetered(series)}
        )
    pair, own = process_tables.remove_tables(pair), METERED[role]
    reached = {*pair[0].phase_names} & {*pair[1].phase_names}
    kept = [session_cost.live_cost(*pair, own, name) if name in reached else None for name in names]
    most = [session_cost.phase_peak_cost(*pair, own, name) if name in reached else None for name in names]
    return {
        "sessions": pair[1].sessions // 2 - pair[0].sessions // 2,
        "from": " and ".join(f"{run.sessions:,}" for run in pair),
        "live": [amounts(one) for one in kept],
        "peak": [amounts(one) for one in most],
        "notes": [describe_cause(find_cause(pair, own, one)) if one else None for one in kept],
    }


def describe_cause(cause: Cause | None) -> str | None:
    return cause and CAUSES[cause]


def unmetered(series: Series) -> str:
    """Where nothing at all was measured, why that is."""
    why = why_no_heap_cost(series)
    return series.reason("rss") if not series.with_meter("heap") and not series.runs("rss") else why


def process_of_role(setting: Setting, role: Holder) -> Process:
    return "both" if role == PAIR else setting.processes.get(role, "both")


def amounts(cost: session_cost.HeapCost | None) -> list[int] | None:
    return None if cost is None else [cost.bytes.amount, cost.blocks.amount]


def one_pair_figures(sums: BucketSums, role: Holder, names: Sequence[str], why: str) -> Figures:
    """Without a slope: what the one pair holds whose call stacks were kept, and why it is no more than that."""
    roles = ROLES if role == PAIR else (role,)
    wholes = [[sums.live_total(name, one) for one in roles] if name in sums.profile.moments else [] for name in names]
    held = [[sum(one.bytes for one in some), sum(one.blocks or 0 for one in some)] if some else None for some in wholes]
    return {"sessions": 1, "live": held, "peak": [None] * len(names), "notes": [None] * len(names), "one_pair": why}


def peak_of(phase: str) -> str:
    """Return the name of the moment within a phase at which one session alone holds most."""
    return f"{PEAK_OF}{phase}"


def add_up(parts: Sequence[BucketAmount]) -> list[int] | None:
    """Return bytes and blocks of all buckets; None where there are none."""
    return [sum(one.bytes for one in parts), sum(one.blocks for one in parts)] if parts else None


def buckets(sums: BucketSums, name: str, role: Role) -> list[BucketAmount]:
    held = sums.live_by_bucket(name, role) if name in sums.moments else {}
    return [BucketAmount(bucket, one.bytes, one.blocks or 0) for bucket, one in held.items()]


def resident(
    selection: Selection, stack: str, settings: Sequence[Setting], role: Holder, names: Sequence[str]
) -> Slopes | None:
    """Slopes of RSS over N, at the end of each phase: of a role where it had a process of its own, of a pair where
    both had one together. None where no run tells."""
    for setting in settings:
        if (setting.roles == "together") == (role == PAIR):
            series = selection.series(stack, setting, process_of_role(setting, role))
            if runs := series.full("rss"):
                return slopes(setting, runs, names)
    return None


def slopes(setting: Setting, runs: list[Record], names: Sequence[str]) -> Slopes:
    counts = sorted({run.sessions for run in runs})
    if len(counts) < 2:
        return {"of": setting.roles, "why": f"only N = {counts[0]:,}, and a slope needs two"}
    reached = set.intersection(*(set(run.phase_names) for run in runs))
    lines = [
        session_cost.fit_line(session_cost.medians(runs, session_cost.rss_at_end(name))) if name in reached else None
        for name in names
    ]
    found: Slopes = {
        "of": setting.roles,
        "bytes": [round(2 * line.slope, 1) if line else None for line in lines],
        "from": ", ".join(f"{n:,}" for n in counts),
    }
    if note := allocator_statistics.returned_memory_note(runs):
        found["note"] = note
    return found
