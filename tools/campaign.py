"""The matrix of a campaign: every run that it asks for, biggest first, and the arguments of each."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from definitions import Campaign, Suite
from lines import Env, Meter, Roles, Window

SYSTEM = "system"  # the allocator that heap runs are made on: requested bytes do not depend on it


@dataclass(frozen=True)
class Run:
    """One run as asked for; the whole of what distinguishes it within a campaign."""

    stack: str
    suite: str
    allocator: str
    window: Window
    sessions: int
    meter: Meter
    repeat: int
    roles: Roles = "together"
    peer: str | None = None  # the client's stack, when it is another
    env: Env = "lab"

    def __str__(self) -> str:
        words = [f"{self.peer} to {self.stack}" if self.peer else self.stack]
        words += [self.suite, f"{self.sessions:,} sessions", self.meter]
        words += [self.roles] * (self.roles != "together")
        words += [self.env] * (self.env != "lab")
        words += [self.allocator] * (self.allocator != SYSTEM)
        words += [f"window {self.window}"] * (self.window != "all")
        words += [f"repeat {self.repeat}"] * (self.repeat > 1)
        return " ".join(words)


def session_counts(campaign: Campaign) -> list[int]:
    """Fractions of n in whole pairs: even, at least 2, each once, increasing."""
    pairs = (round(Fraction(part) * campaign.n / 2) for part in campaign.sessions)
    return sorted({max(2, 2 * count) for count in pairs})


def matrix(campaign: Campaign) -> list[Run]:
    """Biggest first: no long run is left for the end, and memory is at its most at once, where it was forecast."""
    counts = session_counts(campaign)
    metered = counts if campaign.heap == "all" else counts[: campaign.heap]
    runs = {
        Run(stack, suite, allocator, window, sessions, meter, repeat): None
        for allocator in campaign.allocators
        for repeat in range(1, campaign.repeats + 1)
        for window in campaign.windows
        for stack in campaign.stacks
        for suite in (campaign.suites if tls(stack) else ["none"])
        for meter, of_meter in (("rss", counts), ("heap", metered if allocator == SYSTEM else []))
        for sessions in of_meter
    }
    return sorted(runs, key=lambda run: -run.sessions)


def unmetered(campaign: Campaign) -> list[str]:
    """Allocators that have no heap runs though the campaign has some."""
    return [name for name in campaign.allocators if name != SYSTEM] if campaign.heap else []


def tls(stack: str) -> bool:
    return stack.partition("@")[0] != "null"


def argv(run: Run, suite: Suite) -> list[str]:
    """Paths are relative to the root of the repository; the CPU is the slot's to add."""
    fields = suite.model_dump() | {"certs": suite.certs if suite.certs == "none" else f"memtest/certs/{suite.certs}"}
    asked = {"sessions": run.sessions, **fields, "window": run.window}
    return [f"build/harness/{run.stack}", "memory", *(f"{name}={value}" for name, value in asked.items())]


def distinct(field: str, runs: Iterable[Run]) -> list:
    """Values of a field (stack, suite, ...), each once, in order."""
    return list(dict.fromkeys(getattr(run, field) for run in runs))
