"""What a harness process that has ended came to: measured, unsupported or failed, and why."""

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tlsmem.run import validate_timed
from tlsmem.run.process import Ended
from tlsmem.schema.harness_output import LINE, EndLine, Line, Phase, PhaseLine, RunLine, StackLine, ThreadLine, sentence
from tlsmem.schema.timed_record import Instructions, Noise

UNSUPPORTED = 77
ASKED = re.compile(r" \(TLSv1[^()]*\)$")  # the suite, at the end of a driver's reason
NOTES, NOTE_CHARACTERS = 5, 200  # of what a measured run says on stderr
BEFORE = ["contexts", "sessions"]
AFTER = ["established", "payload", "reply", "idle", "closed", "trimmed", "freed"]
WITHOUT_PEERS = [phase for phase in AFTER if phase not in ("payload", "reply")]


@dataclass(frozen=True)
class Outcome:
    """As in the record, with the lines that were printed until the first wrong one."""

    status: str
    reason: str | None
    lines: list[Line]
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
    def phases(self) -> list[Phase]:
        return [line.phase_only() for line in self.lines if isinstance(line, PhaseLine)]

    @property
    def threads(self) -> list[ThreadLine]:
        return validate_timed.threads(self.lines)

    @property
    def stacks(self) -> list[StackLine]:
        return [line for line in self.lines if isinstance(line, StackLine)]

    def failed(self, reason: str) -> "Outcome":
        return replace(self, status="failed", reason=reason)


def judge(ended: Ended, argv: Iterable[str], started_at: str) -> Outcome:
    lines, problem = parse(ended.stdout)
    status, reason = "failed", ended.stopped
    if not reason and ended.status == UNSUPPORTED:
        status, reason = "unsupported", refusal(lines) or last_sentence(ended.stderr) or "no reason given"
    elif not reason and ended.status:
        reason = " ".join(filter(None, [f"{how(ended.status)}:", last_sentence(ended.stderr) or "no word on stderr"]))
    elif not reason:
        reason = problem or incomplete(lines)
        status = "failed" if reason else "measured"
        lines = lines if reason else noted(lines, notes(ended.stderr))
    return Outcome(status, reason, lines, started_at, ended.elapsed_ns, tuple(argv))


def of_any_suite(reason: str) -> str:
    """A driver's reason without the suite that was asked for: it is known, and the same reason holds for others."""
    return ASKED.sub("", reason)


def parse(stdout: bytes) -> tuple[list[Line], str | None]:
    """The valid lines, and what is wrong with the first that is not."""
    lines = []
    for number, text in enumerate(stdout.splitlines(), start=1):
        try:
            lines.append(LINE.validate_json(text))
        except ValidationError as error:
            return lines, f"line {number} of its output is not as in docs/records.md: {sentence(error)}"
    return lines, None


def incomplete(lines: list[Line]) -> str | None:
    """What is missing from a measurement of memory: a run, phases, an end, in this order, and stacks before the phases
    that have blocks from them; nothing else."""
    if not lines or not isinstance(lines[-1], EndLine):
        return "no end line, so no measurement"
    if isinstance(lines[0], RunLine) and lines[0].scenario != "memory":
        return validate_timed.incomplete(lines)
    first, *inner, last = lines
    phases = [line for line in inner if isinstance(line, PhaseLine)]
    if (
        not isinstance(first, RunLine)
        or not phases
        or not all(isinstance(line, PhaseLine | StackLine) for line in inner)
    ):
        return "its output is not a run line, phases and an end line"
    if not in_order([line.phase for line in phases], AFTER if first.keep == "both" else WITHOUT_PEERS):
        return "its phases are not those of docs/records.md, each in its place"
    if any(phase.process != first.role for phase in phases):
        return f"its run line says role {first.role}, and not every phase does"
    if not stacks_in_order(inner):
        return "its stacks are not numbered from 0, each before the phases that have blocks from it"
    if last.status != "measured" or last.negotiated is None:
        return f"exit 0, but its end line says {last.status} and not what was negotiated"
    return None


def in_order(phases: list[str], after: list[str]) -> bool:
    steps = phases[len(BEFORE) : -len(after)]
    lockstep = [f"{role} {step}" for step in range(1, len(steps) // 2 + 1) for role in ("client", "server")]
    return bool(steps) and phases == [*BEFORE, *lockstep, *after]


def stacks_in_order(lines: list[Line]) -> bool:
    known = 0
    for line in lines:
        if isinstance(line, StackLine):
            if line.stack != known:
                return False
            known += 1
        elif line.sites and any(live.stack >= known for live in line.sites.live):
            return False
    return True


def refusal(lines: list[Line]) -> str | None:
    return lines[-1].reason if lines and isinstance(lines[-1], EndLine) else None


def how(status: int) -> str:
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


def noted(lines: list[Line], more: list[str]) -> list[Line]:
    """With more notes in the run line, which is the first."""
    return [lines[0].model_copy(update={"notes": [*lines[0].notes, *more]}), *lines[1:]]
