"""What contexts hold: one more of them, one more root in a client's store, one more certificate by name in a server.

Of a stack with a runtime of its own, live heap is what that says of the whole process after a collection. Where only
one role has contexts of its own, what a pair more adds before there are sessions is a context of that role."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from tlsmem.config.scenarios import settings_in_argv
from tlsmem.schema.harness_output import Meter, Role
from tlsmem.stats.allocator_statistics import have_runtime_statistics, runtime_live_bytes, unmetered_reason
from tlsmem.stats.comparability import sort_by_start
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.session_cost import phase_of
from tlsmem.store.record import HeapCounts, Phase, Record

SCENARIO = "contexts"
ROOTS = (10, 150)  # of the two stores whose difference tells what a root costs
NAMES = ((100, 10_000), (1, 100))  # the same of names: the first two that there are
KEPT_GOROUTINES = Missing("includes records of ended goroutines, which its runtime keeps")
BOTH_ROLES = Missing("its runtime reports both roles together")


@dataclass(frozen=True)
class Case:
    """The settings of a run."""

    roots: int = 1
    names: int = 1
    sharing: str = "shared"

    @classmethod
    def from_record(cls, run: Record) -> "Case":
        """Return the settings in the argv of a run."""
        given = dict(settings_in_argv(SCENARIO, run.argv))
        return cls(int(given["cas"]), int(given["names"]), given["sharing"])


Runs = dict[Meter, list[Record]]  # by meter, and in each the fewest sessions first
Bytes = Fraction | Missing


@dataclass(frozen=True)
class Contexts:
    """The runs of one stack and suite."""

    stack: str
    suite: str
    runs: dict[Case, Runs] = field(hash=False, compare=False)

    @property
    def every_run(self) -> list[Record]:
        """All of them."""
        return [run for runs in self.runs.values() for some in runs.values() for run in some]

    def measured(self, case: Case, meter: Meter) -> list[Record] | Missing:
        """Return the runs of a case under a meter, which were measured; why there are none."""
        runs = self.runs.get(case, {}).get(meter, [])
        found = [run for run in runs if run.status == "measured"]
        refused = next((run.reason for run in runs if run.status == "unsupported"), None)
        return found or Missing(refused or f"no {meter} run with {describe_case(case)}")

    @property
    def by_runtime(self) -> bool:
        """Whether a runtime tells what is live, and no heap meter."""
        return not any("heap" in runs for runs in self.runs.values()) and have_runtime_statistics(
            run for run in self.every_run if run.status == "measured"
        )

    def metered(self, case: Case) -> list[Record] | Missing:
        """Return the runs of a case that tell what is live."""
        return self.measured(case, "rss" if self.by_runtime else "heap")

    def sites_run(self, case: Case) -> Record | Missing:
        """Return the largest run with call stacks."""
        if self.by_runtime:
            return Missing(unmetered_reason(self.every_run) or "")
        return map_present(lambda runs: runs[-1], self.measured(case, "sites"))

    def context(self, role: Role, roots: int = 1) -> "Cost":
        """One more context of a role, of clients with a store of so many roots."""
        case = Case(roots=roots, sharing=f"each-{role}")
        opened = self.heap_slope(case, role, "library", "opened")
        used = KEPT_GOROUTINES if self.by_runtime else self.heap_slope(case, role, "opened", "closed")
        return Cost(opened, self.rss_slope(case, "opened"), used, self.kept(case))

    def session(self, role: Role, sharing: str, roots: int = 1) -> "Cost":
        """One more established session, with what its own context holds if it has one."""
        case = Case(roots=roots, sharing=sharing)
        held = BOTH_ROLES if self.by_runtime else self.heap_slope(case, role, "library", "established")
        return Cost(held, Missing("RSS is of a client and a server together"), None, self.kept(case))

    def root(self) -> "Cost":
        """One more root in the store of one client context."""
        few, many = (self.context("client", roots) for roots in ROOTS)
        return divide(few, many, ROOTS[1] - ROOTS[0])

    def name(self) -> "Cost":
        """One more certificate, with its name, in one server."""
        found = [self.name_between(*numbers) for numbers in NAMES]
        return next((one for one in found if not isinstance(one.opened, Missing)), found[0])

    def name_between(self, few: int, many: int) -> "Cost":
        """Return what it costs by these two numbers of names."""
        return divide(self.served(few), self.served(many), many - few)

    def served(self, names: int) -> "Cost":
        """One server context with so many names."""
        case = Case(names=names)
        growth = largest(self.metered(case), lambda run: heap_growth(run, "server", "library", "opened"))
        resident = largest(self.measured(case, "rss"), lambda run: rss_growth(run, "opened"))
        return Cost(growth, resident, None, self.kept(case))

    def heap_slope(self, case: Case, role: Role, before: str, after: str) -> Bytes:
        """Live bytes of a role and its context for each pair more, from the end of one phase to that of another."""
        return map_present(
            lambda runs: slope(runs, lambda run: heap_growth(run, role, before, after)), self.metered(case)
        )

    def rss_slope(self, case: Case, after: str) -> Bytes:
        """RSS of both roles for each pair more, up to the end of a phase: it needs two numbers of sessions."""

        def find_slope(runs: list[Record]) -> Bytes:
            if len(runs) < 2:
                return Missing("RSS by context needs runs with two numbers of sessions")
            return slope(runs, lambda run: rss_growth(run, after))

        return map_present(find_slope, self.measured(case, "rss"))

    def kept(self, case: Case) -> Bytes:
        """Live bytes of the process that are not given back when all contexts are freed."""
        if self.by_runtime:
            return KEPT_GOROUTINES
        return largest(
            self.metered(case), lambda run: total_bytes(phase_of(run, "freed")) - total_bytes(phase_of(run, "library"))
        )


@dataclass(frozen=True)
class Cost:
    """Bytes of one more of something."""

    opened: Bytes  # live heap
    rss: Bytes
    used: Bytes | None  # that the library adds to it when a session uses it, and keeps
    kept: Bytes  # of the whole process, when all are freed


def slope(runs: list[Record], growth: Callable[[Record], int]) -> Fraction:
    """Return the growth for each pair more; of one run for each of its pairs."""
    first, last = runs[0], runs[-1]
    if first is last:
        return Fraction(growth(last), pairs(last))
    return Fraction(growth(last) - growth(first), pairs(last) - pairs(first))


def largest(runs: list[Record] | Missing, growth: Callable[[Record], int]) -> Bytes:
    """Return the growth in the run with the most sessions."""
    return map_present(lambda runs: Fraction(growth(runs[-1])), runs)


def divide(few: Cost, many: Cost, by: int) -> Cost:
    """Return the difference of two costs, for each of `by`."""

    def quotient(less: Bytes, more: Bytes) -> Bytes:
        return map_present(lambda less, more: (more - less) / by, less, more)

    return Cost(quotient(few.opened, many.opened), quotient(few.rss, many.rss), None, many.kept)


def pairs(run: Record) -> int:
    """Return how many sessions, and contexts, a role has."""
    return run.sessions // 2


def total_bytes(phase: Phase) -> int:
    """Return what is live in the process, by the heap meter or by the stack's runtime."""
    return phase.heap.total.live_bytes if phase.heap else runtime_live_bytes(phase)


def count_owners(run: Record, owner: str) -> int:
    """Return how many sessions, contexts or names of an owner a process has: those of which a sites run shows one."""
    if run.scenario != SCENARIO or not owner.endswith("context"):
        return pairs(run)
    case = Case.from_record(run)
    return pairs(run) if owner.startswith(case.sharing.removeprefix("each-")) else max(case.names - 1, 1)


def owned(run: Record, role: str, phase: str) -> list[HeapCounts]:
    """Return the counts of a role's sessions and of its contexts."""
    heap = phase_of(run, phase).heap
    assert heap  # a run under the heap meter has it
    return [heap.client, heap.client_context] if role == "client" else [heap.server, heap.server_context]


def heap_growth(run: Record, role: str, before: str, after: str) -> int:
    """Return the live bytes that a role's sessions and contexts gained between the ends of two phases.

    A runtime tells those of both roles."""
    if not phase_of(run, before).heap:
        return total_bytes(phase_of(run, after)) - total_bytes(phase_of(run, before))
    first, last = (sum(counts.live_bytes for counts in owned(run, role, name)) for name in (before, after))
    return last - first


def rss_growth(run: Record, after: str) -> int:
    """Return the resident bytes that the process gained since the library was warmed up."""
    return phase_of(run, after).rss_bytes - phase_of(run, "library").rss_bytes


def describe_case(case: Case) -> str:
    """Return the settings in words."""
    return f"cas={case.roots} names={case.names} sharing={case.sharing}"


def find_contexts(records: Iterable[Record]) -> list[Contexts]:
    """Return the stacks and suites of a recording, as they were recorded: of each case the last run of each N."""
    found: dict[tuple[str, str], dict[Case, dict[Meter, dict[int, Record]]]] = {}
    for run in sort_by_start(one for one in records if one.scenario == SCENARIO and one.status != "failed"):
        cases = found.setdefault((run.stack, run.suite), {})
        cases.setdefault(Case.from_record(run), {}).setdefault(run.meter, {})[run.sessions] = run
    return [Contexts(stack, suite, order_runs(cases)) for (stack, suite), cases in found.items()]


def order_runs(cases: dict[Case, dict[Meter, dict[int, Record]]]) -> dict[Case, Runs]:
    """Return the runs of each case, the fewest sessions first."""
    return {
        case: {meter: [runs[count] for count in sorted(runs)] for meter, runs in meters.items()}
        for case, meters in cases.items()
    }
