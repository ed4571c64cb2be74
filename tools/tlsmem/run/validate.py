"""The outcome of a harness process: measured, unsupported or failed, and whether it did what was requested."""

import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from pydantic import ValidationError

from tlsmem.config.definitions import Suite
from tlsmem.config.run import THREADS, Run
from tlsmem.config.scenarios import phases_of
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run.process import ProcessResult
from tlsmem.schema import timed_record
from tlsmem.schema.harness_output import (
    OUTPUT_LINE,
    TIMED_SCENARIOS,
    EndLine,
    OutputLine,
    Phase,
    PhaseLine,
    RunLine,
    Scenario,
    StackLine,
    ThreadLine,
    describe_error,
)
from tlsmem.schema.possible_figures import find_impossible_phase
from tlsmem.schema.timed_record import Instructions, Noise

Compared = tuple[str, object, object]  # name, asked for, answered
NEARLY = 0.99  # of its seconds: the clock is read for their end before it is read for the time


def thread_lines(lines: list[OutputLine]) -> list[ThreadLine]:
    return [line for line in lines if isinstance(line, ThreadLine)]


def find_missing(lines: list[OutputLine]) -> str | None:
    """What is missing from a measurement: a run line, as many threads as it says with the parts of its scenario, an
    end; nothing else."""
    first, *inner, last = lines
    threads = thread_lines(inner)
    if not isinstance(first, RunLine) or len(threads) != len(inner) or not isinstance(last, EndLine):
        return "its output is not a run line, threads and an end line"
    rounds = first.rounds
    if rounds is None:
        return "its run line has no rounds"
    if len(threads) != first.threads or [line.thread for line in threads] != list(range(len(threads))):
        return f"its run line says {first.threads} threads, and its thread lines are not numbered so"
    if last.status != "measured" or last.negotiated is None:
        return f"exit 0, but its end line says {last.status} and not what was negotiated"
    return next(filter(None, (wrong(line, first.scenario, rounds) for line in threads)), None)


def wrong(line: ThreadLine, scenario: Scenario, rounds: int) -> str | None:
    place = f"thread {line.thread}"
    if not timed_record.is_complete(scenario, [part.part for part in line.parts]):
        return f"{place}: its parts are not those of the scenario {scenario}, each once"
    if line.rounds > rounds:
        return f"{place}: {line.rounds} rounds, but all stop after {rounds}"
    for part in line.parts:
        counted = sum(count for _, count in part.histogram or ())
        if part.part in timed_record.INTERVAL_PARTS[scenario] and (counted, part.count) != (
            line.rounds,
            line.rounds,
        ):
            return f"{place}: {part.part}: its histogram does not have an interval for each round"
    return None


def compare_timed(run: TimedRun, suite: Suite, said: RunLine, threads: list[ThreadLine]) -> Iterator[Compared]:
    yield "meter", "time", said.meter  # which is what a harness says that is to be counted, too
    for name in ("scenario", "rounds", "size_bytes", "threads", "sessions", "window"):
        yield name, getattr(run, name), getattr(said, name)
    for line in threads:
        yield "CPU", said.cpus[line.thread % len(said.cpus)] if said.cpus else None, line.cpu
        yield "resumed handshakes", line.rounds if suite.resume == "on" else 0, line.resumed
    if not run.seconds or max(line.elapsed_ns for line in threads) < NEARLY * 1e9 * run.seconds:
        yield "rounds of the thread that stopped all", run.rounds, max(line.rounds for line in threads)


EXIT_UNSUPPORTED = 77
NOTES, NOTE_CHARACTERS = 5, 200  # of what a measured run says on stderr
BEFORE = ["contexts", "sessions"]
AFTER = ["established", "payload", "reply", "idle", "closed", "trimmed", "freed"]
FULL = ["full payload", "full reply", "blocked"]  # with data=full, after the reply
ENDS = {  # what follows the handshakes, by data and whether both roles stay
    ("short", True): AFTER,
    ("full", True): [*AFTER[:3], *FULL, *AFTER[3:]],
    ("short", False): ["established", *AFTER[3:]],
    ("full", False): ["blocked", *AFTER[3:]],
}


@dataclass(frozen=True)
class Outcome:
    """As in the record, with the lines that were printed until the first wrong one."""

    status: str
    reason: str | None
    lines: list[OutputLine]
    started_at: str
    elapsed_ns: int
    argv: tuple[str, ...] = ()  # of two processes the server's
    peer_reported: str | None = None  # of two processes: what the client's library says it is
    noise: Noise | None = None  # of a timed run
    instructions: Instructions | None = None

    @property
    def run(self) -> RunLine | None:
        return next((line for line in self.lines if isinstance(line, RunLine)), None)

    @property
    def end(self) -> EndLine | None:
        return next((line for line in self.lines if isinstance(line, EndLine)), None)

    @property
    def measured_run(self) -> RunLine:
        """The run line of an outcome that is measured: it has one."""
        assert self.run
        return self.run

    @property
    def measured_end(self) -> EndLine:
        """The end line of an outcome that is measured: it has one."""
        assert self.end
        return self.end

    @property
    def phases(self) -> list[Phase]:
        return [line.phase_only() for line in self.lines if isinstance(line, PhaseLine)]

    @property
    def threads(self) -> list[ThreadLine]:
        return thread_lines(self.lines)

    @property
    def stacks(self) -> list[StackLine]:
        return [line for line in self.lines if isinstance(line, StackLine)]

    def failed(self, reason: str) -> "Outcome":
        return replace(self, status="failed", reason=reason)


def judge(ended: ProcessResult, argv: Iterable[str], started_at: str) -> Outcome:
    lines, problem = parse_output(ended.stdout)
    status, reason = "failed", ended.stopped
    if not reason and ended.status == EXIT_UNSUPPORTED:
        status, reason = "unsupported", find_refusal(lines) or last_sentence(ended.stderr) or "no reason given"
    elif not reason and ended.status:
        reason = " ".join(
            filter(None, [f"{describe_exit(ended.status)}:", last_sentence(ended.stderr) or "no word on stderr"])
        )
    elif not reason:
        reason = problem or incomplete(lines)
        status = "failed" if reason else "measured"
        lines = lines if reason else noted(lines, notes(ended.stderr))
    return Outcome(status, reason, lines, started_at, ended.elapsed_ns, tuple(argv))


def parse_output(stdout: bytes) -> tuple[list[OutputLine], str | None]:
    """The valid lines, and what is wrong with the first that is not."""
    lines: list[OutputLine] = []
    for number, text in enumerate(stdout.splitlines(), start=1):
        try:
            line = OUTPUT_LINE.validate_json(text)
        except ValidationError as error:
            return lines, f"line {number} of its output is not as in docs/reference/records.md: {describe_error(error)}"
        if isinstance(line, PhaseLine) and (impossible := find_impossible_phase(line)):
            return lines, f"line {number} of its output cannot be true: phase {line.phase}: {impossible}"
        lines.append(line)
    return lines, None


def incomplete(lines: list[OutputLine]) -> str | None:
    """What is missing from a measurement of memory: a run, phases, an end, in this order, and stacks before the phases
    that have blocks from them; nothing else."""
    first, inner, last = (lines[0], lines[1:-1], lines[-1]) if lines else (None, [], None)
    if not isinstance(last, EndLine):
        return "no end line, so no measurement"
    if not isinstance(first, RunLine):
        return "its output does not begin with a run line"
    if first.scenario in TIMED_SCENARIOS:
        return find_missing(lines)
    phases = [line for line in inner if isinstance(line, PhaseLine)]
    steps = [line for line in inner if isinstance(line, PhaseLine | StackLine)]
    if not phases or len(steps) != len(inner):
        return "its output is not a run line, phases and an end line"
    if not has_phases_of(first, [(line.phase, line.wave) for line in phases]):
        return "its phases are not those of docs/reference/records.md, each in its place"
    if any(phase.process != first.role for phase in phases):
        return f"its run line says role {first.role}, and not every phase does"
    if not stacks_in_order(steps):
        return "its stacks are not numbered from 0, each before the phases that have blocks from it"
    if last.status != "measured" or last.negotiated is None:
        return f"exit 0, but its end line says {last.status} and not what was negotiated"
    return None


def has_phases_of(said: RunLine, phases: list[tuple[str, int | None]]) -> bool:
    settings = said.settings or {}
    if said.scenario == "churn" and settings.get("waves") != str(sum(name == "open" for name, _ in phases)):
        return False
    expected = phases_of(said.scenario, settings)
    if expected:
        return phases == expected
    return in_order([name for name, _ in phases], ENDS[said.data, said.keep == "both"])


def in_order(phases: list[str], after: list[str]) -> bool:
    steps = phases[len(BEFORE) : -len(after)]
    lockstep = [f"{role} {step}" for step in range(1, len(steps) // 2 + 1) for role in ("client", "server")]
    return bool(steps) and phases == [*BEFORE, *lockstep, *after]


def stacks_in_order(lines: list[PhaseLine | StackLine]) -> bool:
    known = 0
    for line in lines:
        if isinstance(line, StackLine):
            if line.stack != known:
                return False
            known += 1
        elif line.sites and any(one.stack >= known for one in line.sites.blocks):
            return False
    return True


def find_refusal(lines: list[OutputLine]) -> str | None:
    return lines[-1].reason if lines and isinstance(lines[-1], EndLine) else None


def describe_exit(status: int) -> str:
    return f"killed by {signal_name(-status)}" if status < 0 else f"exit {status}"


def signal_name(number: int) -> str:
    """Most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_sentence(stderr: bytes) -> str | None:
    said = sentences(stderr)
    return said[-1][:500] if said else None


def sentences(stderr: bytes) -> list[str]:
    return [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]


def notes(stderr: bytes) -> list[str]:
    """What a run that was measured said nevertheless, such as an allocator of a setting that it does not know."""
    said = sentences(stderr)
    found = [f"stderr: {line[:NOTE_CHARACTERS]}" for line in said[:NOTES]]
    return found + [f"stderr: and {len(said) - NOTES} lines more"] * (len(said) > NOTES)


def noted(lines: list[OutputLine], more: list[str]) -> list[OutputLine]:
    """With more notes in the run line."""
    return [
        line.model_copy(update={"notes": [*line.notes, *more]}) if isinstance(line, RunLine) else line for line in lines
    ]


def find_difference(outcome: Outcome, run: Run, suite: Suite, thp_host: str) -> str | None:
    """The first difference, as a sentence; names are compared without regard to case.

    `thp_host` is the host's own setting of huge pages, as the record has it."""
    said = outcome.measured_run
    scenario: Iterable[Compared]
    if isinstance(run, TimedRun):
        scenario = compare_timed(run, suite, said, outcome.threads)
    else:
        scenario = compare_memory(run, said, thp_host)
    for name, asked, answered in chain(
        scenario, compare_suite(outcome, suite)
    ):  # the scenario's first: others assume it
        if str(asked).lower() != str(answered).lower():
            return f"{name}: asked for {asked}, but the harness says {answered}"
    for meter, heap, sites in ((run.meter, phase.heap, phase.sites) for phase in outcome.phases):
        if (heap is None) != (meter == "rss") or (sites is None) != (meter != "sites"):
            return f"its phases are not those of a run under the {meter} meter"
    return None


def compare_suite(outcome: Outcome, suite: Suite) -> Iterator[Compared]:
    agreed = outcome.measured_end.negotiated
    assert agreed  # a run to its end has it
    yield "protocol", suite.protocol, agreed.protocol
    yield "cipher", suite.cipher, agreed.cipher
    yield "group", suite.group, agreed.group
    yield "resumption", suite.resume == "on", agreed.resumed
    if suite.expects_retry is not None:
        yield "HelloRetryRequest", suite.expects_retry, agreed.retried


def compare_memory(run: Run, said: RunLine, thp_host: str) -> list[Compared]:
    window = "all" if run.window == "all" or run.window >= run.sessions // 2 else run.window
    pairs: list[Compared] = [("scenario", run.scenario, said.scenario), ("sessions", run.sessions, said.sessions)]
    pairs += [("window", window, said.window), ("meter", run.meter, said.meter)]
    pairs += [("role", "server" if run.roles == "split" else "both", said.role)]
    pairs += [("data", run.data, said.data), ("settings", dict(run.settings), said.settings or {})]
    pairs += [("keep", run.roles.removeprefix("keep-") if run.keeps else "both", said.keep)]
    return pairs + compare_deployment(run, said, thp_host)


def compare_deployment(run: Run, said: RunLine, thp_host: str) -> list[Compared]:
    """The controlled environment is what a host gives, and what it does not give is noted."""
    asked = dict(run.settings).get("threads", THREADS if run.env != "lab" else 1)
    threads: list[Compared] = [("threads", asked, said.threads)]
    if run.env == "lab":
        return threads
    host = "never" if thp_host == "none" else thp_host  # which is what a harness says of a kernel without them
    return [*threads, ("aslr", "on", said.aslr), ("thp", "always" if run.env == "deployed-thp" else host, said.thp)]
