"""The runs that budgets need, as few and as small as their meters allow, made here and now."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tlsmem.compare.figure_places import EXACT_METERS, TIMED_METERS
from tlsmem.config import definitions
from tlsmem.config.campaigns import TimedCampaign, TimedScenario
from tlsmem.config.matrix import campaign_runs, distinct_stacks
from tlsmem.config.run import SYSTEM, Run
from tlsmem.gate import scenario_meters
from tlsmem.gate.budget import Budget
from tlsmem.gate.scenario_meters import METERS
from tlsmem.run import exclusive, heap_page, preflight
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import Provenance, read_manifest
from tlsmem.run.runner import Runner
from tlsmem.schema.harness_output import Meter, Roles
from tlsmem.schema.machine import allowed_cpus
from tlsmem.store import read_runs
from tlsmem.store.record import Record

JOBS = 2  # of memory: they do not disturb each other's figures


def measure(runs: Sequence[Run], recording: Path, limit_s: float | None = None) -> list[Record]:
    """What was recorded, of each run the newest, in a recording that was claimed. Raises UserError where nothing
    can be measured."""
    for stack in distinct_stacks(runs):
        read_manifest(stack)
    timed = [run for run in runs if run.is_timed]
    heap_page.remove_stale_pages()
    runner = Runner(Provenance(definitions.suites(), definitions.allocators()), limit_s)
    memory = [run for run in runs if run not in timed]

    async def work() -> None:
        if memory:
            cpus = allowed_cpus()[:JOBS]
            most = max(run.sessions for run in memory)
            jobs = preflight.limit_jobs(await runner.forecast(memory, cpus), len(cpus), most)
            await runner.record_all(memory, cpus[:jobs], recording)
        if timed:
            await runner.record_all(timed, exclusive.cores_first()[:1], recording)

    run_to_completion(work(), "stopped; nothing was judged")
    asked = set(map(runner.provenance.key, runs))
    newest = {record.key: record for record in read_runs.load_existing(recording) if record.key in asked}
    return list(newest.values())


METERED = (20, 200)  # sessions: counts are exact, so the least difference of two N is enough
PARTS = (10, 2, 1)  # of the largest N of RSS
REPEATS, TIMED_REPEATS = 3, 7
WRITE_BYTES = 2**20


def rss_sessions(most: int) -> list[int]:
    """Whole pairs, increasing."""
    return sorted({max(2, 2 * round(most / part / 2)) for part in PARTS})


def choose_roles(budget: Budget) -> Roles:
    """Heap is told apart by role in one process; RSS of a role needs a process of its own."""
    apart = budget.place.meter in ("rss", "peak-rss") and budget.place.role in ("client", "server")
    return "split" if apart else "together"


def needed_runs(budgets: Iterable[Budget], sessions: int, repeats: int | None) -> list[Run]:
    """Of memory the biggest first; of time repeat by repeat."""
    budgets = list(budgets)
    memory = (run for budget in budgets for run in memory_runs(budget, sessions, repeats or REPEATS))
    return sorted(dict.fromkeys(memory), key=lambda run: -run.sessions) + timed(budgets, repeats or TIMED_REPEATS)


def memory_runs(budget: Budget, most: int, repeats: int) -> Iterator[Run]:
    place = budget.place
    scenario, settings = scenario_meters.scenario(place.meter), place.settings

    def run(sessions: int, meter: Meter, repeat: int = 1) -> Run:
        return Run(
            stack=budget.stack,
            suite=place.suite,
            allocator=SYSTEM,
            window="all",
            sessions=sessions,
            meter=meter,
            repeat=repeat,
            roles=choose_roles(budget),
            scenario=scenario,
            settings=settings,
        )

    if own := METERS.get(place.meter):
        for meter, count in own.runs:
            for repeat in range(repeats if meter == "rss" else 1):
                yield run(count, meter, repeat + 1)
    elif place.meter in EXACT_METERS:
        yield from (run(sessions, "heap") for sessions in METERED)
        yield run(METERED[-1], "sites")  # to say where, should a limit be exceeded
    elif place.meter not in TIMED_METERS:
        yield from (run(count, "rss", repeat + 1) for repeat in range(repeats) for count in rss_sessions(most))


def timed(budgets: Iterable[Budget], repeats: int) -> list[Run]:
    """Stacks take turns, so that none has the machine's better moments."""
    budgets = list(budgets)
    made: list[Run] = []
    meters: dict[TimedScenario, Sequence[str]] = {"handshake": TIMED_METERS[:1], "throughput": TIMED_METERS[1:]}
    for scenario, its in meters.items():
        sizes = [WRITE_BYTES] if scenario == "throughput" else []
        wanted = dict.fromkeys((one.place.suite, one.stack) for one in budgets if one.place.meter in its)
        for suite in dict.fromkeys(suite for suite, _ in wanted):
            stacks = [stack for of, stack in wanted if of == suite]
            campaign = TimedCampaign(
                scenario=scenario, stacks=stacks, suites=[suite], allocators=[SYSTEM], sizes=sizes, repeats=repeats
            )
            made += campaign_runs(campaign)
    return made
