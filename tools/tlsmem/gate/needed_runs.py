"""The runs that budgets need: as few and as small as their meters allow."""

from collections.abc import Iterable, Iterator

from tlsmem.compare.places import EXACT, TIMED
from tlsmem.config.campaigns import TimedCampaign
from tlsmem.config.matrix import matrix
from tlsmem.config.run import SYSTEM, Run
from tlsmem.gate.budget import Budget
from tlsmem.schema.harness_output import Roles

METERED = (20, 200)  # sessions: counts are exact, so the least difference of two N is enough
PARTS = (10, 2, 1)  # of the largest N of RSS
REPEATS, TIMED_REPEATS = 3, 7
WRITE_BYTES = 2**20


def rss_sessions(most: int) -> list[int]:
    """Whole pairs, increasing."""
    return sorted({max(2, 2 * round(most / part / 2)) for part in PARTS})


def roles_of(budget: Budget) -> Roles:
    """Heap is told apart by role in one process; RSS of a role needs a process of its own."""
    apart = budget.place.meter in ("rss", "peak-rss") and budget.place.role in ("client", "server")
    return "split" if apart else "together"


def runs(budgets: Iterable[Budget], sessions: int, repeats: int | None) -> list[Run]:
    """Of memory the biggest first; of time repeat by repeat."""
    budgets = list(budgets)
    memory = (run for budget in budgets for run in of_memory(budget, sessions, repeats or REPEATS))
    return sorted(dict.fromkeys(memory), key=lambda run: -run.sessions) + timed(budgets, repeats or TIMED_REPEATS)


def of_memory(budget: Budget, most: int, repeats: int) -> Iterator[Run]:
    def run(sessions: int, meter: str, repeat: int = 1) -> Run:
        return Run(budget.stack, budget.place.suite, SYSTEM, "all", sessions, meter, repeat, roles_of(budget))

    if budget.place.meter in EXACT:
        yield from (run(sessions, "heap") for sessions in METERED)
        yield run(METERED[-1], "sites")  # to say where, should a limit be exceeded
    elif budget.place.meter not in TIMED:
        yield from (run(count, "rss", repeat + 1) for repeat in range(repeats) for count in rss_sessions(most))


def timed(budgets: Iterable[Budget], repeats: int) -> list[Run]:
    """Stacks take turns, so that none has the machine's better moments."""
    budgets = list(budgets)
    made: list[Run] = []
    for scenario, meters, sizes in (("handshake", TIMED[:1], []), ("throughput", TIMED[1:], [WRITE_BYTES])):
        wanted = dict.fromkeys((one.place.suite, one.stack) for one in budgets if one.place.meter in meters)
        for suite in dict.fromkeys(suite for suite, _ in wanted):
            stacks = [stack for of, stack in wanted if of == suite]
            asked = {"stacks": stacks, "suites": [suite], "allocators": [SYSTEM], "sizes": sizes, "repeats": repeats}
            made += matrix(TimedCampaign(scenario=scenario, **asked))
    return made
