"""The runs of a timed campaign: how much work each does, with repeats interleaved over the stacks."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tlsmem.config import definitions
from tlsmem.config.campaigns import TimedCampaign
from tlsmem.config.choices import TIME_MULTIPLIER
from tlsmem.config.definitions import Suite
from tlsmem.config.run import EVERY_FEATURE, SYSTEM, Run
from tlsmem.schema.harness_output import Cpu, Role, Scenario, Window
from tlsmem.schema.machine import allowed_cpus
from tlsmem.store.record import Record

FULL, RESUMED = 512, 4096  # handshakes
TRANSFER_BYTES = 2**30
ROUND_BYTES = 65536  # of small writes: as many as fit in; memtest/transfers.c's own
MOST_WRITES = 2**20
SECONDS = 5  # at most: what is slow does fewer


def multiplier() -> float:
    return float(os.environ.get(TIME_MULTIPLIER) or 1)


def writes_per_round(size_bytes: int) -> int:
    """Of one round."""
    return max(1, ROUND_BYTES // size_bytes)


def rounds(suite: Suite, size_bytes: int | None) -> int:
    """Handshakes, or transfers of writes of this size."""
    return max(1, round(multiplier() * (transfers_per_run(size_bytes) if size_bytes else handshakes(suite))))


def seconds_per_run() -> int:
    """After which a run ends, however many rounds it has done."""
    return max(1, round(multiplier() * SECONDS))


def handshakes(suite: Suite) -> int:
    return RESUMED if suite.resume == "on" else FULL


def transfers_per_run(size_bytes: int) -> int:
    return min(TRANSFER_BYTES // size_bytes, MOST_WRITES) // writes_per_round(size_bytes)


ASPECTS = {"stack": "the stacks", "suite": "the suites", "size_bytes": "writes, in bytes,", "threads": "threads"}
ASPECTS |= {"allocator": "the allocators", "cpu": "the CPU’s features"}
COUNTED_BYTES = 2**24  # of a write, at most: one of a GiB would take callgrind an hour
WINDOW_ALL: Window = "all"  # of a record: a timed run has none


@dataclass(frozen=True)
class TimedRun(Run):
    """`sessions` are two a thread, again and again. Meter: time; or instructions, of one thread, once."""

    threads: int = 1
    size_bytes: int | None = None  # of a write: throughput
    rounds: int = field(default=1, compare=False)  # longer ones ask for the same
    seconds: int | None = field(default=None, compare=False)  # after which it ends with fewer

    @property
    def limit_s(self) -> float:
        """Generous: a library of 2 MB/s would do, and 5 handshakes a second.

        Warm-up, rounds, faults and cipher each end with a round, and none takes longer than what is timed."""
        size = self.size_bytes
        round_s = self.threads * (writes_per_round(size) * (size / 2e6 + 1e-4) if size else 0.2)
        return 60 + 4 * ((self.seconds or self.rounds * round_s) + round_s)

    def harness_keys(self, suite: dict[str, object], role: Role) -> dict[str, object]:
        size = {"size": self.size_bytes} if self.size_bytes else {}
        ends = {"rounds": self.rounds} | ({"seconds": self.seconds} if self.seconds else {})
        return {**ends, **size, **suite, "threads": self.threads}

    def what(self) -> list[str]:
        words: list[str] = [self.scenario] if self.meter == "time" else [self.scenario, self.meter]
        words += [f"{self.size_bytes:,} bytes"] if self.size_bytes else []
        words += [f"{self.threads} threads"] * (self.threads > 1)
        return words


def timed_runs(campaign: TimedCampaign) -> list[TimedRun]:
    """By repeat, then by what is compared; stacks last: A B A B. Instructions, which nothing disturbs, at the end."""
    known, suites = definitions.stacks(), definitions.suites()
    runs: dict[TimedRun, None] = {}
    for repeat in range(1, campaign.repeats + 1):
        for one in compared(campaign):
            for stack in campaign.stacks:
                suite = one.suite if known[stack].tls else "none"
                run = TimedRun(
                    stack=stack,
                    suite=suite,
                    allocator=one.allocator,
                    window=WINDOW_ALL,
                    sessions=2 * one.threads,
                    meter="time",
                    repeat=repeat,
                    cpu=one.cpu,
                    scenario=campaign.scenario,
                    threads=one.threads,
                    size_bytes=one.size_bytes,
                    rounds=rounds(suites[suite], one.size_bytes),
                    seconds=seconds_per_run(),
                )
                runs.setdefault(run)
    return [*runs, *instruction_runs(run for run in runs if run.suite in campaign.instructions)]


class TimedSettings(NamedTuple):
    """In what all stacks are measured."""

    suite: str
    size_bytes: int | None
    threads: int
    allocator: str
    cpu: Cpu


def compared(campaign: TimedCampaign) -> Iterator[TimedSettings]:
    """What may stand beside each other in a table, threads and configurations, is made one after the other."""
    sizes: list[int | None] = [*campaign.sizes] or [None]
    aspects = (campaign.configurations, sizes, thread_counts(campaign), campaign.allocators, campaign.cpus)
    return itertools.starmap(TimedSettings, itertools.product(*aspects))


def thread_counts(campaign: TimedCampaign) -> list[int]:
    if campaign.threads != "cpus":
        return list(dict.fromkeys(campaign.threads))
    most = len(allowed_cpus())
    powers = (2**power for power in range(3, most.bit_length()))
    return sorted({*range(1, min(most, 4) + 1), *powers, most})


def instruction_runs(timed: Iterable[TimedRun]) -> list[TimedRun]:
    """Each stack, suite and size once."""
    small = (run for run in timed if (run.size_bytes or 0) <= COUNTED_BYTES)
    alone = (replace(run, meter="instructions", repeat=1, threads=1, sessions=2) for run in small)
    return list(dict.fromkeys(alone))


def probe_run(stack: str, suite: str, scenario: Scenario, rounds: int) -> TimedRun:
    """That shows whether a stack can do a suite, of writes of 1 KiB."""
    size = 1024 if scenario == "throughput" else None
    return TimedRun(stack, suite, SYSTEM, WINDOW_ALL, 2, "time", 1, scenario=scenario, size_bytes=size, rounds=rounds)


def run_from_record(record: Record) -> TimedRun:
    return TimedRun(
        stack=record.stack,
        suite=record.suite,
        allocator=record.allocator.name,
        window=record.window,
        sessions=record.sessions,
        meter=record.meter,
        repeat=record.repeat,
        roles=record.roles,
        env=record.env,
        cpu=record.cpu_features.name if record.cpu_features else EVERY_FEATURE,
        scenario=record.scenario,
        threads=record.threads or 1,
        size_bytes=record.size_bytes,
        rounds=record.rounds or 1,
    )


def select_campaign(records: Iterable[Record], campaign: TimedCampaign) -> list[Record]:
    """What it asks for, however often that was repeated, in its order of stacks: the first is the base of factors.

    Raises ValueError when there is none of it, with what there is instead."""
    asked = dict.fromkeys(timed_runs(campaign.model_copy(update={"repeats": 1})))
    there = [one for one in records if one.scenario == campaign.scenario]
    timed = [one for one in there if replace(run_from_record(one), repeat=1) in asked]
    if not timed:
        raise ValueError(f"no run of this campaign: {instead(asked, [*map(run_from_record, there)])}")
    return sorted(timed, key=lambda one: campaign.stacks.index(one.stack))


def instead(asked: Iterable[TimedRun], there: Sequence[TimedRun]) -> str:
    """Of the first aspect of which nothing is there: what was asked for, and what there is."""
    if not there:
        return f"no run of the scenario {next(iter(asked)).scenario} is there"
    for name, said in ASPECTS.items():
        wanted, found = ([*dict.fromkeys(str(getattr(run, name)) for run in runs)] for runs in (asked, there))
        if not set(wanted) & set(found):
            return f"of {said} it asks for {', '.join(wanted)}; there are {', '.join(found)}, shown without --campaign"
    return "each of its settings is there, but not together; without --campaign all runs are shown"
