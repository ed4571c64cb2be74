"""One run as asked for, of any scenario; the whole of what distinguishes it within a campaign."""

from dataclasses import dataclass

from tlsmem.config.certificates import is_padded
from tlsmem.config.definitions import Suite
from tlsmem.config.scenarios import LIKE_MEMORY, Settings
from tlsmem.schema.harness_output import TIMED_SCENARIOS, Cpu, Data, Env, Meter, Role, Roles, Scenario, Window

SYSTEM = "system"  # the allocator that heap runs are made on: requested bytes do not depend on it
THREADS = 4  # of a run as deployed
EVERY_FEATURE: Cpu = "all"  # of the CPU


@dataclass(frozen=True)
class Run:
    """Of memory."""

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
    cpu: Cpu = EVERY_FEATURE  # the features of it that the library may use
    scenario: Scenario = "memory"
    data: Data = "short"
    settings: Settings = ()  # the scenario's own keys

    @property
    def is_timed(self) -> bool:
        """Whether it is of time, and not of memory."""
        return self.scenario in TIMED_SCENARIOS

    @property
    def keeps(self) -> bool:
        """Whether one role's sessions are freed on the way."""
        return self.roles.startswith("keep-")

    @property
    def stacks(self) -> tuple[str, ...]:
        """The server's first."""
        return (self.stack, self.peer) if self.peer else (self.stack,)

    @property
    def limit_s(self) -> float:
        """Generous: some 25 times what OpenSSL takes, for each wave, and for each certificate by name."""
        return 60 + self.sessions * self.waves / 50 + int(dict(self.settings).get("names", "1")) / 20

    @property
    def waves(self) -> int:
        """How many times sessions are opened."""
        return int(dict(self.settings).get("waves", "1"))

    def harness_keys(self, suite: dict[str, object], role: Role) -> dict[str, object]:
        """The harness's keys, but those of the slot; of two processes the one of `role`."""
        if self.scenario not in LIKE_MEMORY:
            return {"sessions": self.sessions, **suite, **dict(self.settings)}
        asked: dict[str, object] = {"sessions": self.sessions, **suite, "window": self.window}
        if self.roles == "split":
            asked["role"] = role
        if self.data != "short":
            asked["data"] = self.data
        if self.keeps:
            asked["keep"] = self.roles.removeprefix("keep-")
        if self.env != "lab":
            asked |= {"aslr": "on", "thp": "host", "threads": THREADS}
        return asked | dict(self.settings)

    def what(self) -> list[str]:
        """Words for people."""
        own = [f"{key} {value}" for key, value in self.settings]
        return [*own, f"{self.sessions:,} sessions", self.meter, *["full records"] * (self.data == "full")]

    def __str__(self) -> str:
        words = [f"{self.peer} to {self.stack}" if self.peer else self.stack, self.suite, *self.what()]
        words += [self.roles] * (self.roles != "together")
        words += [self.env] * (self.env != "lab")
        words += [self.allocator] * (self.allocator != SYSTEM)
        words += [f"CPU {self.cpu}"] * (self.cpu != EVERY_FEATURE)
        words += [f"window {self.window}"] * (self.window != "all")
        words += [f"repeat {self.repeat}"] * (self.repeat > 1)
        return " ".join(words)


def certificates_of(run: Run, suite: Suite) -> str:
    """Return the directory of a suite's certificates; that of the scenario `contexts` is made, with others in it.

    So is one whose chains are padded."""
    above = "build" if run.scenario == "contexts" or is_padded(suite.certs) else "memtest"
    return suite.certs if suite.certs == "none" else f"{above}/certs/{suite.certs}"


def argv(run: Run, suite: Suite, role: Role = "server") -> list[str]:
    """As declared, of two processes that of `role`; the CPUs and the descriptors are the slot's to add.

    Paths are relative to the root of the repository."""
    fields = suite.harness_keys | {"certs": certificates_of(run, suite)}
    stack = run.peer if run.peer and role == "client" else run.stack
    asked = run.harness_keys(fields, role)
    return [f"build/harness/{stack}", run.scenario, *(f"{name}={value}" for name, value in asked.items())]
