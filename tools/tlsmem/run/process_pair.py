"""Two processes as one run: a client's and a server's outcome, judged together and merged."""

import re
from dataclasses import replace
from itertools import zip_longest

from tlsmem.run.process import STOPPED, WAITING
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import EndLine, Line, PhaseLine

KILLED = "killed because its peer had failed"  # by the runner: the process did not notice by itself
NOTICED = re.compile(r"the (client|server)'s process has ended$")  # as docs/records.md has it
SAME = ("sessions", "window", "meter", "keep", "threads", "aslr", "thp")  # of the run lines
AGREE = ("protocol", "cipher", "group", "resumed")  # of the end lines


def merge(client: Outcome, server: Outcome) -> Outcome:
    """The server's outcome with the client's phases, each before its own; the reason names whom it is about."""
    whole = replace(
        server,
        status="measured",
        reason=None,
        lines=lines(client, server),
        elapsed_ns=max(client.elapsed_ns, server.elapsed_ns),
        peer_reported=client.run and client.run.reported,
    )
    if blamed := blame(client, server):
        return replace(whole, status=blamed.status, reason=reason(blamed, client, server))
    different = disagreement(client, server)
    return whole.failed(different) if different else whole


def blame(client: Outcome, server: Outcome) -> Outcome | None:
    """The one that failed by itself, and first; a process that only noticed the other's end, or waited for it until
    the time limit, is last to blame."""

    def place(one: Outcome) -> tuple:
        waited = bool(NOTICED.search(one.reason)) or one.reason.endswith(WAITING)
        return one.reason == KILLED, waited, not one.reason.endswith(STOPPED), one.elapsed_ns

    return min((one for one in (client, server) if one.reason), key=place, default=None)


def reason(blamed: Outcome, client: Outcome, server: Outcome) -> str:
    if client.reason == server.reason:
        return blamed.reason
    return f"the {'client' if blamed is client else 'server'}'s process: {blamed.reason}"


def disagreement(client: Outcome, server: Outcome) -> str | None:
    """Of two that were measured: what one end says and the other does not."""
    if (client.run.role, server.run.role) != ("client", "server"):
        return f"asked for a client and a server, but they say {client.run.role} and {server.run.role}"
    if [phase.phase for phase in client.phases] != [phase.phase for phase in server.phases]:
        return "client and server went through different phases"
    agreed = (client.end.negotiated, server.end.negotiated)
    for one, other, names in ((client.run, server.run, SAME), (*agreed, AGREE)):
        for name in names:
            if str(getattr(one, name)).lower() != str(getattr(other, name)).lower():
                return f"{name}: the client says {getattr(one, name)}, but the server says {getattr(other, name)}"
    return None


def lines(client: Outcome, server: Outcome) -> list[Line]:
    """A run line with the notes of both; their stacks, the client's first; phases side by side; one end line."""
    said = [server.run or client.run] if server.run or client.run else []
    if server.run and client.run:
        notes = [*server.run.notes, *(f"client: {note}" for note in client.run.notes)]
        said = [server.run.model_copy(update={"notes": notes})]
    shift = len(client.stacks)
    stacks = [*client.stacks, *(stack.model_copy(update={"stack": stack.stack + shift}) for stack in server.stacks)]
    phases = zip_longest(phase_lines(client), (shifted(phase, shift) for phase in phase_lines(server)))
    both = [phase for pair in phases for phase in pair if phase]
    return [*said, *stacks, *both, *end(client.end, server.end)]


def phase_lines(outcome: Outcome) -> list[PhaseLine]:
    return [line for line in outcome.lines if isinstance(line, PhaseLine)]


def shifted(phase: PhaseLine, shift: int) -> PhaseLine:
    """With stacks numbered behind `shift` others."""
    if not phase.sites:
        return phase
    live = [one.model_copy(update={"stack": one.stack + shift}) for one in phase.sites.live]
    return phase.model_copy(update={"sites": phase.sites.model_copy(update={"live": live})})


def end(client: EndLine | None, server: EndLine | None) -> list[EndLine]:
    """Each knows of its own verification."""
    if not (client and server and client.negotiated and server.negotiated):
        return []
    agreed = server.negotiated
    return [
        server.model_copy(
            update={"negotiated": agreed.model_copy(update={"client_verified": client.negotiated.client_verified})}
        )
    ]
