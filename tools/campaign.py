"""The matrix of a campaign: every run that it asks for, biggest first, and the arguments of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from definitions import Campaign, Suite, stacks
from lines import Env, Meter, Role, Roles, Window

SYSTEM = "system"  # the allocator that heap runs are made on: requested bytes do not depend on it
THREADS = 4  # of a run as deployed
EVERY_FEATURE = "all"  # of the CPU


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
    cpu: str = EVERY_FEATURE  # the features of it that the library may use

    @property
    def keeps(self) -> bool:
        """Whether one role's sessions are freed on the way."""
        return self.roles.startswith("keep-")

    @property
    def stacks(self) -> tuple[str, ...]:
        """The server's first."""
        return (self.stack, self.peer) if self.peer else (self.stack,)

    def __str__(self) -> str:
        words = [f"{self.peer} to {self.stack}" if self.peer else self.stack]
        words += [self.suite, f"{self.sessions:,} sessions", self.meter]
        words += [self.roles] * (self.roles != "together")
        words += [self.env] * (self.env != "lab")
        words += [self.allocator] * (self.allocator != SYSTEM)
        words += [f"CPU {self.cpu}"] * (self.cpu != EVERY_FEATURE)
        words += [f"window {self.window}"] * (self.window != "all")
        words += [f"repeat {self.repeat}"] * (self.repeat > 1)
        return " ".join(words)


def session_counts(campaign: Campaign) -> list[int]:
    """Fractions of n in whole pairs: even, at least 2, each once, increasing."""
    return sorted({sessions(campaign, part) for part in campaign.sessions})


def sessions(campaign: Campaign, part: str) -> int:
    return max(2, 2 * round(Fraction(part) * campaign.n / 2))


def matrix(campaign: Campaign) -> list[Run]:
    """Biggest first: no long run is left for the end, and memory is at its most at once, where it was forecast."""
    known = stacks()
    own = {name for name, stack in known.items() if stack.brings}
    nulls = {name for name, stack in known.items() if not stack.tls}
    runs = {
        Run(stack, suite, allocator, window, count, meter, repeat, roles, peer, env, cpu): None
        for allocator in campaign.allocators
        for env in campaign.envs
        for cpu in campaign.cpus
        for repeat in range(1, campaign.repeats + 1)
        for roles in campaign.roles
        for window in campaign.windows
        for stack, peer in ends(campaign, nulls)
        for suite in (["none"] if stack in nulls else campaign.suites)
        for meter, count in metered(campaign, (allocator, env) == (SYSTEM, "lab") and not own & {stack, peer})
        if meter != "sites" or (repeat, window) == (1, campaign.windows[0])
    }
    return sorted(runs, key=lambda run: -run.sessions)


def ends(campaign: Campaign, nulls: set[str]) -> Iterator[tuple[str, str | None]]:
    """Server and client, which is None where it is of the same stack; nothing speaks to a null stack but another."""
    for server in campaign.stacks:
        for client in campaign.peers or [server]:
            if (server in nulls) == (client in nulls):
                yield server, None if client == server else client


def metered(campaign: Campaign, requested: bool) -> Iterator[tuple[Meter, int]]:
    """Meters and sessions; those of requested bytes where they tell something new."""
    counts = session_counts(campaign)
    yield from (("rss", count) for count in counts)
    if requested:
        yield from (("heap", count) for count in (counts if campaign.heap == "all" else counts[: campaign.heap]))
        yield from (("sites", sessions(campaign, part)) for part in [campaign.sites] if part)


def unmetered(campaign: Campaign) -> str | None:
    """Why some runs have no heap runs beside them though the campaign has some."""
    own = [name for name in dict.fromkeys([*campaign.stacks, *campaign.peers]) if stacks()[name].brings]
    if not campaign.heap:
        return None
    if set(campaign.allocators) - {SYSTEM}:
        return f"on the {SYSTEM} allocator only: requested bytes are alike"
    if set(campaign.envs) - {"lab"}:
        return "in the laboratory only: requested bytes are alike"
    return f"without {own[0]}: the heap meter does not see the allocator that it brings along" if own else None


def tls(stack: str) -> bool:
    return stacks()[stack].tls


def argv(run: Run, suite: Suite, role: Role = "server") -> list[str]:
    """As declared, of two processes that of `role`; the CPU and the descriptors are the slot's to add.

    Paths are relative to the root of the repository."""
    fields = suite.model_dump() | {"certs": suite.certs if suite.certs == "none" else f"memtest/certs/{suite.certs}"}
    asked = {"sessions": run.sessions, **fields, "window": run.window}
    if run.roles == "split":
        asked["role"] = role
    if run.keeps:
        asked["keep"] = run.roles.removeprefix("keep-")
    if run.env != "lab":
        asked |= {"aslr": "on", "thp": "host", "threads": THREADS}
    stack = run.peer if run.peer and role == "client" else run.stack
    return [f"build/harness/{stack}", "memory", *(f"{name}={value}" for name, value in asked.items())]


def distinct(field: str, runs: Iterable[Run]) -> list:
    """Values of a field (stack, suite, ...), each once, in order."""
    return list(dict.fromkeys(getattr(run, field) for run in runs))
