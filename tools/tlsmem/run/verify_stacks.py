"""Every built stack in every suite once: two sessions, or two handshakes where they are resumed; and one transfer. What
each does is told line by line and counted. A stack that refuses another suite than stacks.toml expects has failed."""

from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.config import definitions, toml_tables
from tlsmem.config.campaigns import Campaign
from tlsmem.config.certificates import is_for_all
from tlsmem.config.definitions import Stack, Suite
from tlsmem.config.matrix import campaign_runs
from tlsmem.config.run import SYSTEM, Run
from tlsmem.config.suite_variants import DROP_PEER_CHAIN, LIBRARY, LOW_MEMORY
from tlsmem.config.timed_matrix import probe_run
from tlsmem.run.cpu_slots import run_to_completion
from tlsmem.run.provenance import describe_missing, is_built, unavailable_reason
from tlsmem.run.runner import Runner
from tlsmem.run.validate import Outcome

TRANSFER = "tls12-rsa-aes256"  # a suite that every stack can do
DROPPED = ["tls12-rsa-aes256-mutual", "tls13-rsa-aes256-mutual"]  # that are asked for with that option
VARIED = ["tls12-rsa-aes256", "tls13-rsa-aes256"]  # suites that are asked for with low memory and the library's tickets


def verify(runner: Runner, cpus: list[int], named: Sequence[str], prefix: Path | None) -> int:
    """Exit status. Of these stacks those that are built are run; of the others it shows why they are not."""
    asked = toml_tables.expand_stacks(named, prefix)
    stacks = [stack for stack in asked if is_built(stack)]
    if not stacks:
        raise UserError("none of these stacks is built; `tools/tls-memtest build` builds them")
    with stdout.raise_write_errors():
        for stack in asked:
            if stack not in stacks:
                print(
                    f"{'unavailable' if unavailable_reason(stack) else 'not built':<12} {describe_missing(stack)}",
                    flush=True,
                )
    known, suites = definitions.stacks(), definitions.suites()

    def compare(run: Run, outcome: Outcome) -> Outcome:
        return compare_with_expectation(run, outcome, known[run.stack], suites[run.suite])

    verdicts = run_to_completion(runner.verify_all(everything(stacks), cpus, compare), "stopped")
    counts = ", ".join(f"{verdicts[said]} {said}" for said in ("ok", "unsupported", "FAILED"))
    with stdout.raise_write_errors():
        print(f"{len(stacks)} of {len(asked)} stacks are built; runs: {counts}")
    return 1 if verdicts["FAILED"] else 0


def compare_with_expectation(run: Run, outcome: Outcome, stack: Stack, suite: Suite) -> Outcome:
    """The outcome; a failure where the stack refuses what it should do, or does what it should refuse."""
    refused, expected = outcome.status == "unsupported", stack.expect.refusal_of(suite.features, suite.tickets)
    place = f'memtest/stacks.toml: ["{run.stack}".expect]'
    if stack.expect.refuses is None or outcome.status == "failed" or refused == bool(expected):
        return outcome
    if refused and stack.tls and suite.protocol == "none":
        return outcome
    if refused:
        return outcome.failed(f"{outcome.reason}; {place}: refuses has no entry for this suite")
    return outcome.failed(f"it does this suite, and {place} has {expected}")


def everything(stacks: list[str]) -> list[Run]:
    """Of stacks without TLS, which have one suite, nothing is resumed."""
    known = definitions.stacks()
    suites = {name: suite for name, suite in definitions.suites().items() if is_for_all(suite.certs)}
    full = [name for name, suite in suites.items() if suite.resume == "off"]
    tls = [name for name in stacks if known[name].tls]
    runs = campaign_runs(one_pair(stacks, full))
    resumed = [name for name in suites if name not in full]
    if tls:
        varied = {"options": ["default", LOW_MEMORY], "tickets": [LIBRARY], "data": "full"}
        runs += campaign_runs(one_pair(tls, VARIED).model_copy(update=varied))
        runs += campaign_runs(one_pair(tls, DROPPED).model_copy(update={"options": [DROP_PEER_CHAIN]}))
        runs += campaign_runs(one_pair(tls, resumed))
    runs += [probe_run(stack, name, "handshake", 2) for stack in tls for name in resumed]
    return runs + [probe_run(name, TRANSFER if name in tls else "none", "throughput", 1) for name in stacks]


def one_pair(stacks: list[str], suites: list[str]) -> Campaign:
    return Campaign(
        stacks=stacks, suites=suites, allocators=[SYSTEM], scenario="memory", n=2, sessions=["1"], windows=["all"]
    )
