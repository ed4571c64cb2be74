"""The CPU time of runs under the heap meter over that of plain ones."""

import argparse
import asyncio
import resource
import statistics
import sys

from rich.console import Console
from rich.table import Table

from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run, argv
from tlsmem.run import harness, preload, stack_abilities
from tlsmem.schema.machine import allowed_cpus

LIMIT_S = 600
AIM = 1.05


def cpu_time(run: Run, cpu: int) -> float:
    """Seconds of user and system time of one run; exits with a sentence when it is no measurement."""
    arguments = [*argv(run, definitions.suites()[run.suite]), f"cpu={cpu}"]
    allocator = definitions.allocators()[run.allocator]
    variables = preload.run_variables(run.meter, preload.allocator_record(run.allocator, allocator), allocator)
    before = children()
    outcome = asyncio.run(harness.run(arguments, variables, LIMIT_S))
    if outcome.status != "measured":
        sys.exit(f"memtest: {run}: {outcome.status}: {outcome.reason}")
    return children() - before


def children() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ratios(stack: str, suite: str, sessions: int, repeats: int, cpu: int) -> list[float]:
    """Metered over plain, of neighbours in time: what slows the machine down slows both."""
    plain, metered = (Run(stack, suite, SYSTEM, "all", sessions, meter, 1) for meter in ("rss", "heap"))
    cpu_time(plain, cpu)  # the first run reads the binary from the disk
    return sorted(1 / (cpu_time(plain, cpu) / cpu_time(metered, cpu)) for _ in range(repeats))


def run(given: argparse.Namespace) -> None:
    """Measures, and prints the table."""
    cpu = allowed_cpus()[0]
    table = Table("suite", "stack", "metered/plain", "smallest", "largest", f"at most {AIM}", box=None)
    with Console(stderr=True).status("measuring, one run at a time") as status:
        for stack, suite in stack_abilities.select_supported(
            stack_abilities.select_stacks(given.stacks, given.prefix), given.suites
        ):
            status.update(f"{suite} {stack}: {given.repeats} pairs of runs")
            found = ratios(stack, suite, given.n, given.repeats, cpu)
            middle = statistics.median(found)
            cells = [f"{value:.3f}" for value in (middle, found[0], found[-1])]
            table.add_row(suite, stack, *cells, "yes" if middle <= AIM else "no")
    Console(highlight=False, width=100).print(table)
