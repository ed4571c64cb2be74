"""The command that records or profiles a stack in a suite, checked: there are such runs, and the stack can do them."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.config import definitions
from tlsmem.config.definitions import Suite
from tlsmem.config.matrix import campaign_runs, distinct_suites
from tlsmem.config.run import SYSTEM, Run
from tlsmem.config.suite_variants import split_variant
from tlsmem.schema.harness_output import Meter

AS_DEPLOYED = "deployed-config"  # the campaign of stacks as servers run them
FEW = 8  # stacks that a command names


class Advice(NamedTuple):
    """How something is recorded: a command whose runs exist, or why there is none."""

    command: str | None
    reason: str | None = None  # None where there is a command

    @property
    def sentence(self) -> str:
        """The advice as the end of a sentence."""
        return f"to record it: {self.command}" if self.command else f"cannot be recorded: {self.reason}"


def advise_recording(
    campaign: str, stack: str, suite: str | None = None, meter: Meter | None = None, allocator: str = SYSTEM
) -> Advice:
    """Return the command by which a memory campaign records the stack in the suite, or in its own suites if none is
    named. With a meter, the campaign must have runs under it; with a variant of a suite, runs in that variant, of whose
    tickets it may have to be told."""
    known = definitions.campaigns()[campaign]
    if stack not in definitions.stacks():
        return Advice(None, f"memtest/stacks.toml has no stack {stack}")
    base, settings = split_variant(suite) if suite else (None, {})
    suites = [base] if base else known.suites
    if missing := [one for one in suites if one not in definitions.suites()]:
        return Advice(None, f"memtest/suites.toml has no suite {missing[0]}")
    has_tls = definitions.stacks()[stack].tls
    if all(has_tls == (definitions.suites()[one].protocol == "none") for one in suites):
        return Advice(None, f"{stack} has {'no suite without' if has_tls else 'no'} TLS")
    asked = known.model_copy(update={"stacks": [stack], "suites": suites, "allocators": [allocator], "repeats": 1})
    tickets = settings.get("tickets")
    other = tickets if tickets is not None and tickets not in known.tickets else None
    asked = asked if other is None else asked.model_copy(update={"tickets": [other]})
    runs = [run for run in campaign_runs(asked) if meter in (None, run.meter) and (not settings or run.suite == suite)]
    reasons = [why_impossible([run for run in runs if run.suite == one]) for one in distinct_suites(runs)]
    if None in reasons:
        return Advice(recording_command(campaign, [stack], base, allocator, other))
    return Advice(None, reasons[0] if reasons else why_no_runs(stack, campaign, meter))


def advise_recording_together(campaign: str, stacks: Sequence[str], suite: str | None = None) -> dict[str, Advice]:
    """Return the advice for each stack; those that one command records have that command. It names no stack where they
    are many of the campaign's own: then it measures all of these that are built."""
    several = {stack: advise_recording(campaign, stack, suite) for stack in stacks}
    together = [stack for stack, one in several.items() if one.command and not definitions.stacks()[stack].prefix]
    is_whole = len(together) > FEW and set(together) <= set(definitions.campaigns()[campaign].stacks)
    shared = Advice(
        recording_command(campaign, [] if is_whole else together, split_variant(suite)[0] if suite else None)
    )
    return several | dict.fromkeys(together, shared)


def advise_recording_any(campaign: str, stacks: Sequence[str], suite: str | None = None) -> Advice:
    """Return how those of the stacks are recorded that can be; the first one's reason if none can."""
    several = advise_recording_together(campaign, stacks, suite).values()
    reasons = next((one for one in several), Advice(recording_command(campaign, [], suite)))
    return next((one for one in several if one.command), reasons)


def recording_command(
    campaign: str,
    stacks: Sequence[str],
    suite: str | None = None,
    allocator: str = SYSTEM,
    tickets: int | str | None = None,
) -> str:
    """Return the command that measures the stacks, or the campaign's own if none are named; it needs no quotes."""
    words = ["tools/tls-memtest", "measure", campaign, *["--stacks", ",".join(stacks)] * bool(stacks)]
    words += ["--suites", suite] if suite else []
    words += ["--tickets", str(tickets)] if tickets is not None else []
    words += ["--prefix", "DIRECTORY"] * any(definitions.stacks()[stack].prefix for stack in stacks)
    return " ".join([*words, *["--allocator", allocator] * (allocator != SYSTEM)])


def advise_profile(stack: str, suite: str) -> Advice:
    """Return the command that records the call stacks of a session in the suite."""
    if missing := [
        f"memtest/{kind}.toml has no {kind[:-1]} {name}"
        for kind, name, known in (("stacks", stack, definitions.stacks()), ("suites", suite, definitions.suites()))
        if name not in known
    ]:
        return Advice(None, missing[0])
    if reason := why_unseen(stack) or why_no_call_sites(stack):
        return Advice(None, reason)
    return Advice(f"make profile STACK={shlex.quote(stack)} SUITE={shlex.quote(suite)} TOOL=sites")


def why_unseen(stack: str) -> str | None:
    """Return why no meter or profiler sees the stack's allocations; None if they do."""
    if brought := definitions.stacks()[stack].brings:
        return f"{stack} brings its own allocator, {brought}, which neither meter nor profiler sees"
    return None


def why_no_call_sites(stack: str) -> str | None:
    """Return why call stacks of the library say nothing; None if they are recorded."""
    known = definitions.stacks().get(stack)
    if known and known.is_shipped:
        return f"{stack} has no call sites: its library is as Debian ships it, without frame pointers"
    return None


def why_impossible(runs: list[Run]) -> str | None:
    """Return why runs of one stack in one suite would not all be measured; None if all can be."""
    stack, suite = definitions.stacks()[runs[0].stack], definitions.suites()[runs[0].suite]
    if refusal := stack.expect.refusal_of(suite.features, suite.tickets):
        return f"{runs[0].stack} does not do {runs[0].suite} ({refusal} in memtest/stacks.toml)"
    clients, pairs = count_client_certificates(suite), max(run.sessions for run in runs) // 2
    if clients is not None and pairs > clients:
        return (
            f"each client needs a certificate of its own, and memtest/certs/{suite.certs} has {clients}, not {pairs:,}"
        )
    return None


def count_client_certificates(suite: Suite) -> int | None:
    """Return how many clients have a certificate of their own; None where all have the same one, and in a wheel."""
    if suite.client_certs == "same":
        return None
    clients = ROOT / "memtest/certs" / suite.certs / "clients"
    return sum(1 for _ in clients.iterdir()) if clients.is_dir() else None


def why_no_runs(stack: str, campaign: str, meter: Meter | None) -> str:
    """Return why the campaign has no such runs of the stack."""
    if meter in (None, "sites") and (reason := why_no_call_sites(stack)):
        return reason
    if brought := definitions.stacks()[stack].brings:
        return f"{stack} brings its own allocator, {brought}, which the heap meter does not see"
    return f"the campaign {campaign} has no such runs"
