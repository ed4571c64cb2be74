"""How the connections of a plan run: library options, tickets, state, and what a named server holds beside TLS."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from tlsmem.base.errors import Usage
from tlsmem.config import definitions
from tlsmem.config.recording_command import AS_DEPLOYED, advise_recording
from tlsmem.config.run import SYSTEM
from tlsmem.config.servers import Server, find_server
from tlsmem.config.suite_variants import LIBRARY, LOW_MEMORY, name_variant
from tlsmem.stats.configured_stack import AT_REST, IN_USE

STATES = {"in-use": IN_USE, "at-rest": AT_REST}  # of --state: the phase whose end has it


class MeasuredServer(NamedTuple):
    """A server that plans know from its live runs alone: `what`, as sentences name it."""

    what: str
    phase: str = IN_USE


@dataclass(frozen=True)
class Configuration:
    """Of one stack; without a server the library's defaults, its own tickets included."""

    options: str = "default"
    tickets: int | str = LIBRARY
    phase: str = IN_USE
    server: Server | MeasuredServer | None = None

    @property
    def is_at_rest(self) -> bool:
        """Whether the connections have carried no data yet."""
        return self.phase == AT_REST

    @property
    def used_phase(self) -> str:
        """The phase whose end has the connections in use."""
        return self.server.phase if self.server else IN_USE

    def with_state(self, at_rest: bool) -> "Configuration":
        """Return the same with the connections at rest, or in use."""
        return replace(self, phase=AT_REST if at_rest else self.used_phase)

    def variant(self, suite: str) -> str:
        """Return the name of the suite in this configuration; its own tickets are no part of the name."""
        known = definitions.suites()
        is_own = suite in known and self.tickets == known[suite].tickets != LIBRARY
        return name_variant(suite, self.options, None if is_own else self.tickets)

    def full_variant(self, suite: str) -> str:
        """Return the name of the same where tickets were asked for: `measure --tickets 0` names them."""
        return name_variant(suite, self.options, self.tickets)

    def describe_options(self) -> str:
        """Return who runs the library, and how: `defaults`, or `as nginx runs it, buffers released`."""
        options = "buffers released (low-memory)" if self.options == LOW_MEMORY else "defaults"
        count = f"{self.tickets} ticket{'s' * (self.tickets != 1)}"
        tickets = "" if self.tickets == LIBRARY else f", {count}"
        return f"as {self.server.what} runs it, {options}{tickets}" if self.server else f"{options}{tickets}"

    def describe_state(self) -> str:
        """Return the state of the connections in words."""
        return "at rest: no data yet" if self.is_at_rest else "in use: a full record (16 KiB) sent and received"


def describe_recording(stack: str, suite: str, allocator: str = SYSTEM) -> str:
    """Return how a stack as servers run it is recorded, its connections and its concurrent handshakes; or why not."""
    connections, handshakes = (
        advise_recording(one, stack, suite, allocator=allocator) for one in (AS_DEPLOYED, "c10k-in-use")
    )
    if not connections.command:
        return connections.sentence
    also = f"; for handshakes {handshakes.command}" if handshakes.command else ""
    return f"{connections.sentence}{also}; then name the recording with --recording"


def describe_recording_of_handshakes(stack: str, suite: str, allocator: str = SYSTEM) -> str:
    """Return how what a handshake of the stack adds is recorded; or why not."""
    return advise_recording("c10k-in-use", stack, suite, allocator=allocator).sentence


def configure(
    server: str | None, state: str, stack: str, low_memory: bool = False, tickets: int | str | None = None
) -> Configuration:
    """Return the configuration of --as, --state, --low-memory and --tickets. Raises ValueError with a sentence if the
    server cannot run the stack, and Usage if it has options and tickets of its own."""
    if server is None:
        options = LOW_MEMORY if low_memory else "default"
        return Configuration(options, LIBRARY if tickets is None else tickets, STATES[state])
    if low_memory or tickets is not None:
        raise Usage(f"--as {server} has options and tickets of its own; leave out --low-memory and --tickets")
    found = find_server(server)
    if not found.can_run(stack):
        known = ", ".join(found.libraries)
        raise ValueError(f"--as: {found.what} does not run on {stack}; --stack takes {known} (memtest/servers.toml)")
    phase = AT_REST if state == "at-rest" else found.phase
    return Configuration(found.options(stack), found.tickets, phase, found)
