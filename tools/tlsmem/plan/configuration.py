"""How the connections of a plan run: library options, tickets, state, and what a named server holds beside TLS."""

from dataclasses import dataclass

from tlsmem.config.servers import Server, find_server
from tlsmem.config.suite_variants import LIBRARY, LOW_MEMORY, name_variant
from tlsmem.stats.configured_stack import AT_REST, IN_USE

STATES = {"in-use": IN_USE, "at-rest": AT_REST}  # of --state: the phase whose end has it


@dataclass(frozen=True)
class Configuration:
    """Of one stack; without a server the library's defaults, its own tickets included."""

    options: str = "default"
    tickets: int | str = LIBRARY
    phase: str = IN_USE
    server: Server | None = None

    def variant(self, suite: str) -> str:
        """Return the name of the suite in this configuration."""
        return name_variant(suite, self.options, self.tickets)

    @property
    def own_bytes(self) -> int | None:
        """What the server holds for a connection beside TLS: 0 without a server, None where nobody measured it."""
        return self.server.own_bytes if self.server else 0

    def describe(self) -> str:
        """Say it in words, for the first line of an answer."""
        state = "at rest, none used yet" if self.phase == AT_REST else "in use: 16 KiB sent and received, now in a read"
        options = "buffers released (options low-memory)" if self.options == LOW_MEMORY else "the library's defaults"
        tickets = "its own tickets" if self.tickets == LIBRARY else f"{self.tickets} tickets"
        runs = f"as {self.server.what} runs them, " if self.server else ""
        return f"{runs}{state}; {options}, {tickets}"


def recording_commands(stacks: str, suite: str, allocator: str = "system") -> str:
    """Return the commands that record stacks as servers run them: connections, and many handshakes at once."""
    what = f'--stacks "{stacks}" --suites {suite}' + f" --allocators {allocator}" * (allocator != "system")
    return f"`tools/measure.py deployed-config {what}` records that, `tools/measure.py c10k-in-use {what}` handshakes"


def configure(server: str | None, state: str, stack: str) -> Configuration:
    """Return the configuration of --as and --state. Raises ValueError with a sentence when the server cannot run the
    stack."""
    if server is None:
        return Configuration(phase=STATES[state])
    found = find_server(server)
    if not found.can_run(stack):
        known = ", ".join(found.libraries)
        raise ValueError(f"{found.what} does not run on {stack}; --stack names one of {known} (memtest/servers.toml)")
    phase = AT_REST if state == "at-rest" else found.phase
    return Configuration(found.options(stack), found.tickets, phase, found)
