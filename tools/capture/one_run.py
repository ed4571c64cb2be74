"""One run of a harness under a profiler, judged as any other run."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import harness
from campaign import Run, argv
from capture import profilers
from capture.profilers import Failed
from process import Ended, started
from profiles.heap_profile import Tool
from provenance import Provenance
from verdict import Outcome, differs, judge

ROUTINE = re.compile(  # what massif and heaptrack say on stderr of every run
    rb"==\d+== xtree memory report: .*\n|heaptrack stats:\n|\t?(leaked |temporary )?allocations:\s+\d+\n"
)


@dataclass(frozen=True)
class Subject:
    """What is profiled, by what, and how long a run of it may take."""

    run: Run
    tool: Tool
    version: str
    limit_s: float
    before: tuple[str, ...]  # the profiler's command
    provenance: Provenance

    def __str__(self) -> str:
        return f"{self.tool}: {self.run.stack}, {self.run.suite}, {self.run.sessions:,} sessions"

    def argv(self, cpu: int, until: str | None = None) -> list[str]:
        """Randomisation is off already; where it cannot be, the harness must not try."""
        suite = self.provenance.suites[self.run.suite]
        more = [f"cpu={cpu}", "marks=1", *["aslr=on"] * (not self.before), *[f"until={until}"] * bool(until)]
        return [*argv(self.run, suite), *more]


@dataclass(frozen=True)
class Made:
    outcome: Outcome
    command: list[str]  # as if it had been given in the folder that it wrote into

    @property
    def phases(self) -> list[str]:
        return [phase.phase for phase in self.outcome.phases]


async def plain(subject: Subject, cpu: int) -> Made:
    """Without the profiler."""
    return await made(subject, subject.argv(cpu), subject.argv(cpu), {})


async def whole(subject: Subject, folder: Path, cpu: int) -> Made:
    """To its end, under the profiler, which writes into `folder`."""
    return await under(subject, folder, subject.argv(cpu))


async def until(subject: Subject, folder: Path, cpu: int, phases: list[str]) -> Made:
    """To the end of the last of `phases`, which are all up to there."""
    return await under(subject, folder, subject.argv(cpu, phases[-1]), phases)


async def under(subject: Subject, folder: Path, words: list[str], phases: list[str] | None = None) -> Made:
    command = profilers.command(subject.tool, folder, subject.before, words)
    variables = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}  # of a person, valgrind reads options
    done = await made(subject, words, command, variables, phases)
    return replace(done, command=[word.replace(str(folder), ".") for word in command])


async def made(
    subject: Subject, words: list[str], command: list[str], variables: dict[str, str], phases: list[str] | None = None
) -> Made:
    """Failed, with a sentence, when it is no measurement of what was asked for, or not in these phases."""
    begun = harness.now()
    ended = await end_of(command, variables, subject.limit_s)
    outcome = judge(ended, words, begun)
    if outcome.status == "unsupported":
        raise Failed(f"{subject.run.stack} cannot do {subject.run.suite}: {outcome.reason}")
    if phases and not (ended.status or ended.stopped) and outcome.end:
        wrong = [phase.phase for phase in outcome.phases] != phases and "it went through other phases than a plain run"
    elif outcome.status == "failed":
        wrong = outcome.reason + (": --timeout=SECONDS gives it more" if ended.stopped else "")
    else:
        provenance = subject.provenance
        wrong = differs(outcome, subject.run, provenance.suites[subject.run.suite], provenance.machine.thp_host)
    if wrong:
        raise Failed(f"{subject}: {wrong}")
    return Made(outcome, command)


async def end_of(command: list[str], variables: dict[str, str], limit_s: float) -> Ended:
    """Without what the profiler prints in between."""
    try:
        async with started(command, variables) as process:
            try:
                await process.wait(limit_s)
            finally:  # what a heaptrack that is killed leaves
                Path(f"/tmp/heaptrack_fifo{process.process.pid}").unlink(missing_ok=True)
    except OSError as error:
        return harness.cannot_start(error)
    ended = process.ended()
    said = b"".join(line for line in ended.stdout.splitlines(keepends=True) if line.startswith(b'{"record"'))
    return replace(ended, stdout=said, stderr=ROUTINE.sub(b"", ended.stderr))
