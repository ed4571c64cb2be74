"""What waves of sessions leave: live heap and RSS after each, and whether they grow.

The verdict is one on the slope over waves, by Theil and Sen: the median of the slopes between all pairs of waves, with
its 95 % confidence interval. One odd wave moves neither. The first quarter of the waves is left out, at least
WARM_UP_WAVES: until then allocators and libraries fill what they keep."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.config.scenarios import settings_in_argv
from tlsmem.schema.harness_output import Meter
from tlsmem.schema.roles import Process, Role
from tlsmem.stats.allocator_statistics import have_runtime_statistics
from tlsmem.stats.comparability import sort_by_start
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.runtime_parts import HEAP, runtime_statistics
from tlsmem.stats.session_cost import PhaseQuantity, heap_of, phases_of
from tlsmem.store.record import Phase, Record

SCENARIO = "churn"
ROLES: tuple[Role, ...] = ("server", "client")
WARM_UP_WAVES = 4  # at least: a straggler is gone by then
LEAST_WAVES = 4  # that a verdict is of
HEAP_TOLERANCE_BYTES = 1  # a wave: live heap is exact
RUNTIME_TOLERANCE_BYTES = 64  # the same of a runtime, which fills tables of its own for some hundred waves
RSS_TOLERANCE = 0.0005  # of the RSS, a wave: 5 % in 100 waves
CONFIDENCE = 0.95
Verdict = Literal["flat", "growing", "shrinking", "not decided"]


@dataclass(frozen=True)
class Trend:
    """A slope over waves in bytes a wave, its confidence interval, and what follows."""

    slope: float
    low: float
    high: float
    verdict: Verdict
    waves: int  # that it is of


def find_trend(values: Sequence[float], tolerance: float) -> Trend | Missing:
    """Return the trend of a value for each wave.

    Growing or shrinking: the interval lies beyond the tolerance. Flat: it lies within. Else it is not decided."""
    skipped = skipped_waves(len(values))
    used = values[skipped:]
    if len(used) < LEAST_WAVES:
        return Missing(f"{len(values)} waves: a verdict needs {WARM_UP_WAVES + LEAST_WAVES}")
    slope, low, high = fit_slope(used)
    verdict: Verdict = "not decided"
    if low > tolerance:
        verdict = "growing"
    elif high < -tolerance:
        verdict = "shrinking"
    elif -tolerance <= low and high <= tolerance:
        verdict = "flat"
    return Trend(slope, low, high, verdict, len(used))


def skipped_waves(waves: int) -> int:
    """Return how many of the first waves are left out."""
    return max(WARM_UP_WAVES, waves // 4)


def fit_slope(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the slope of Theil and Sen by position, with its confidence interval. Cached by the values and by code."""
    if len(set(values)) == 1:
        return 0.0, 0.0, 0.0

    def compute() -> tuple[float, float, float]:
        import scipy.stats  # takes as long to import as the table to make

        found = scipy.stats.theilslopes(values, alpha=CONFIDENCE)
        return float(found.slope), float(found.low_slope), float(found.high_slope)

    code = digest_code(("topics/churn/waves.py",))
    slope, low, high = memo.recall("slope of Theil and Sen", [CONFIDENCE, *map(float, values)], code, compute)
    return slope + 0.0, low + 0.0, high + 0.0  # which of -0.0 and 0.0 is the median depends on the processor


@dataclass(frozen=True)
class Churn:
    """The runs of one stack under one pattern and allocator, by meter; figures are those of one role."""

    stack: str
    suite: str
    allocator: str
    settings: tuple[tuple[str, str], ...]
    role: Role
    heap: Record | None = field(hash=False, compare=False)  # on the system's allocator: requested bytes are alike
    rss: Record | None = field(hash=False, compare=False)
    known: dict[tuple[Meter, str], list[int] | Missing] = field(
        default_factory=dict, hash=False, compare=False, repr=False
    )

    @property
    def pattern(self) -> str:
        """Which sessions end with a wave."""
        return dict(self.settings)["pattern"]

    @property
    def record(self) -> Record:
        """A run of it."""
        found = self.rss or self.heap
        assert found
        return found

    @property
    def refusal(self) -> str | None:
        """Why there are no figures; None where there are."""
        runs = [run for run in (self.heap, self.rss) if run]
        return None if any(run.status == "measured" for run in runs) else runs[0].reason

    @property
    def pairs(self) -> int:
        """Sessions of the role that are open at once."""
        return self.record.sessions // 2

    @property
    def by_runtime(self) -> bool:
        """Whether a runtime of the stack's own tells what is live, which no heap meter sees."""
        return not self.heap and bool(self.rss) and have_runtime_statistics([self.record])

    def heap_after(self, name: str) -> list[int] | Missing:
        """Live heap of the role and its context at the end of this phase of each wave, beyond that at `contexts`.

        Both together: what a context frees and allocates again in the call of a session is the session's from then on.

        Of a runtime its objects: goroutine stacks are counted by the span, in which they come and go."""
        return self.recall("heap", name, self.read_heap)

    def rss_after(self, name: str) -> list[int] | Missing:
        """Anonymous RSS of the role's process at the end of this phase of each wave, beyond that at `contexts`."""
        return self.recall("rss", name, self.read_rss)

    def recall(self, meter: Meter, name: str, read: Callable[[str], list[int] | Missing]) -> list[int] | Missing:
        """Return what is read after this phase: once, as there are hundreds of waves and several columns ask."""
        if (meter, name) not in self.known:
            self.known[meter, name] = read(name)
        return self.known[meter, name]

    def read_heap(self, name: str) -> list[int] | Missing:
        """Return what `heap_after` does, from the run."""
        if self.by_runtime:
            return values_of_waves(self.record, self.role, name, lambda phase: runtime_statistics(phase)[HEAP])
        if not self.heap or self.heap.status != "measured":
            return Missing(self.refusal or "no run under the heap meter")
        return values_of_waves(self.heap, self.role, name, lambda phase: owned_bytes(phase, self.role))

    def read_rss(self, name: str) -> list[int] | Missing:
        """Return what `rss_after` does, from the run."""
        if not self.rss or self.rss.status != "measured":
            return Missing(self.refusal or "no RSS run")
        if not self.rss.has_phases_apart:
            return Missing("both roles were in one process")
        return values_of_waves(self.rss, self.role, name, lambda phase: phase.rss_anon_bytes)

    @cached_property
    def heap_trend(self) -> Trend | Missing:
        """Of live heap when waves have ended."""
        tolerance = RUNTIME_TOLERANCE_BYTES if self.by_runtime else HEAP_TOLERANCE_BYTES
        return map_present(lambda values: find_trend(values, tolerance), self.heap_after("closed"))

    @cached_property
    def rss_trend(self) -> Trend | Missing:
        """Of RSS when all sessions of a wave are open: at equal load."""
        return map_present(lambda values: find_trend(values, RSS_TOLERANCE * values[-1]), self.rss_after("open"))

    @property
    def session_bytes(self) -> Fraction | Missing:
        """Live heap of a session that is open and has carried its data: what closing it gives back.

        Of a runtime what opening it takes, with what is kept for the next goroutine."""

        def each(opened: list[int], closed: list[int]) -> Fraction:
            if self.by_runtime:
                return Fraction(opened[0], self.pairs)
            return Fraction(opened[0] - closed[0], self.pairs - staying_pairs(self.pattern, self.pairs, 1))

        return map_present(each, self.heap_after("open"), self.heap_after("closed"))

    def left_bytes(self, wave: int) -> Fraction | Missing:
        """Live heap that a wave (0 is the first, -1 the last) left, without that of the sessions still open."""

        def subtract_open(values: list[int], each: Fraction) -> Fraction:
            return values[wave] - each * staying_pairs(self.pattern, self.pairs, wave % len(values) + 1)

        return map_present(subtract_open, self.heap_after("closed"), self.session_bytes)

    @property
    def peak_rss_bytes(self) -> int | Missing:
        """The most RSS of the role's process in any wave, in all."""
        if not self.rss or isinstance(self.rss_after("open"), Missing):
            return Missing("no RSS run of the role's process")
        return max(phase.peak_rss_bytes for phase in role_phases(self.rss, self.role) if phase.wave)

    def fragmentation(self, name: str, wave: int) -> float | Missing:
        """Resident bytes for each byte of live heap at the end of this phase of a wave, both beyond `contexts`."""

        def quotient(resident: list[int], live: list[int]) -> float | Missing:
            if name == "closed" and not staying_pairs(self.pattern, self.pairs, wave % len(live) + 1):
                return Missing("no session is open")
            return float(resident[wave]) / float(live[wave])

        return map_present(quotient, self.rss_after(name), self.heap_after(name))


def owned_bytes(phase: Phase, role: Role) -> int:
    """Return the live heap of a role's sessions and its context."""
    return sum(heap_of(phase, owner).live_bytes for owner in (role, f"{role}_context"))


def role_phases(run: Record, role: Role) -> list[Phase]:
    """Return the phases of the process that holds the role."""
    process: Process = role if run.has_phases_apart else "both"
    return phases_of(run, process)


def values_of_waves(run: Record, role: Role, name: str, quantity: PhaseQuantity) -> list[int]:
    """Return what a quantity is at the end of this phase of each wave, less what it is at the end of `contexts`."""
    phases = role_phases(run, role)
    before = quantity(phases[0])
    return [quantity(phase) - before for phase in phases if phase.phase == name]


def staying_pairs(pattern: str, pairs: int, wave: int) -> int:
    """Return how many pairs are open when a wave has ended, from 1: as memtest/churn.c chooses them."""
    if pattern == "sawtooth":
        return max(1, pairs // 100) * min(wave, 3)
    return pairs - max(1, pairs // 4) if pattern == "lifetimes" else 0


def find_churn(records: Iterable[Record]) -> list[Churn]:
    """Return the stacks, patterns and allocators of a recording, each with both roles, in the order of recording."""
    heaps: dict[tuple[object, ...], Record] = {}
    runs: dict[tuple[object, ...], dict[str, Record]] = {}
    for run in sort_by_start(one for one in records if one.scenario == SCENARIO and one.status != "failed"):
        settings = settings_in_argv(SCENARIO, run.argv)
        alike = (run.stack, run.suite, run.sessions, run.window, settings)
        if run.meter == "heap":
            heaps[alike] = run
        if run.meter in ("heap", "rss"):
            runs.setdefault((*alike, run.allocator.name), {})[run.meter] = run
    return [
        Churn(run.stack, run.suite, run.allocator.name, settings_in_argv(SCENARIO, run.argv), role, heap, by.get("rss"))
        for (*alike, _), by in runs.items()
        for run in [next(iter(by.values()))]
        for heap in [by.get("heap") or heaps.get(tuple(alike))]
        for role in ROLES
    ]


HARNESS_ALONE = "null"  # stacks without a library: what they keep is the harness's


def find_growth(found: Iterable[Churn]) -> str | None:
    """Return a sentence about the first that is not flat; None where all are.

    Live heap must be flat in every stack, RSS in those without a library."""
    for one in found:
        meters = {"live heap": one.heap_trend}
        if one.stack.startswith(HARNESS_ALONE):
            meters["RSS"] = one.rss_trend
        for meter, trend in meters.items():
            where = f"{one.stack}, {one.pattern}, {one.role}: {meter}"
            if isinstance(trend, Missing):
                return f"{where} has no verdict: {trend.reason}"
            if trend.verdict != "flat":
                return f"{where} is {trend.verdict}, by {trend.slope:,.1f} B a wave"
    return None
