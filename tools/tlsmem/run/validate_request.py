"""Whether a harness measured what it was asked for."""

from collections.abc import Iterable, Iterator

from tlsmem.config.definitions import Suite
from tlsmem.config.run import THREADS, Run
from tlsmem.run import validate_timed
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import RunLine

Compared = tuple[str, object, object]  # name, asked for, answered


def differs(outcome: Outcome, run: Run, suite: Suite, thp_host: str) -> str | None:
    """The first difference, as a sentence; names are compared without regard to case.

    `thp_host` is the host's own setting of huge pages, as the record has it."""
    said = outcome.run
    if run.scenario == "memory":
        scenario = of_memory(run, said, thp_host)
    else:
        scenario = validate_timed.compared(run, suite, said, outcome.threads)
    for name, asked, answered in (*scenario, *of_suite(outcome, suite)):
        if str(asked).lower() != str(answered).lower():
            return f"{name}: asked for {asked}, but the harness says {answered}"
    for meter, heap, sites in ((run.meter, phase.heap, phase.sites) for phase in outcome.phases):
        if (heap is None) != (meter == "rss") or (sites is None) != (meter != "sites"):
            return f"its phases are not those of a run under the {meter} meter"
    return None


def of_suite(outcome: Outcome, suite: Suite) -> Iterator[Compared]:
    agreed = outcome.end.negotiated
    yield "protocol", suite.protocol, agreed.protocol
    yield "cipher", suite.cipher, agreed.cipher
    yield "group", suite.group, agreed.group


def of_memory(run: Run, said: RunLine, thp_host: str) -> Iterable[Compared]:
    window = "all" if run.window == "all" or run.window >= run.sessions // 2 else run.window
    pairs = [("scenario", run.scenario, said.scenario), ("sessions", run.sessions, said.sessions)]
    pairs += [("window", window, said.window), ("meter", run.meter, said.meter)]
    pairs += [("role", "server" if run.roles == "split" else "both", said.role)]
    pairs += [("keep", run.roles.removeprefix("keep-") if run.keeps else "both", said.keep)]
    return pairs + deployment(run, said, thp_host)


def deployment(run: Run, said: RunLine, thp_host: str) -> list[Compared]:
    """The laboratory is what a host gives, and what it does not give is noted."""
    threads = [("threads", THREADS if run.env != "lab" else 1, said.threads)]
    if run.env == "lab":
        return threads
    host = "never" if thp_host == "none" else thp_host  # which is what a harness says of a kernel without them
    return [*threads, ("aslr", "on", said.aslr), ("thp", "always" if run.env == "deployed-thp" else host, said.thp)]
