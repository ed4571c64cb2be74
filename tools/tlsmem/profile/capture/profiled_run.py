"""One run of a harness under a profiler or a meter, judged as any other run."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from tlsmem.config.definitions import Suite
from tlsmem.config.run import Run, argv
from tlsmem.profile.capture import profilers
from tlsmem.profile.errors import CaptureFailed, CaptureTimeout
from tlsmem.profile.heap_profile import CapturedTool, profiler_name
from tlsmem.run import harness
from tlsmem.run.process import ProcessResult, start_process
from tlsmem.run.provenance import Provenance
from tlsmem.run.validate import Outcome, find_difference, judge

ROUTINE = re.compile(  # what massif and heaptrack say on stderr of every run
    rb"==\d+== xtree memory report: .*\n|heaptrack stats:\n|\t?(leaked |temporary )?allocations:\s+\d+\n"
)


LATE = "killed at the time limit"  # how process.Ended begins to say so
Cpu = int | None  # None: whichever is free


@dataclass(frozen=True)
class Subject:
    """What is run, under what, and how long a run of it may take."""

    tool: str  # as sentences name it
    run: Run
    provenance: Provenance
    limit_s: float
    before: tuple[str, ...] = ()  # the profiler's command

    def __str__(self) -> str:
        return f"{profiler_name(self.tool)}: {self.run.stack}, {self.run.suite}, {self.run.sessions:,} sessions"

    @property
    def suite(self) -> Suite:
        return self.provenance.suites[self.run.suite]

    def argv(self, cpu: Cpu, until: str | None = None) -> list[str]:
        """Randomisation is off already; where it is not, the harness must not start itself again without."""
        pinned, marks = [f"cpu={cpu}"] * (cpu is not None), ["marks=1"] * (self.run.meter == "rss")
        ending = [f"until={until}"] * bool(until)
        return [*argv(self.run, self.suite), *pinned, *marks, *["aslr=on"] * (not self.before), *ending]


@dataclass(frozen=True)
class ProfileSubject(Subject):
    """What is run under a tool that writes a profile."""

    tool: CapturedTool
    version: str = ""  # of a tool whose profile is kept


@dataclass(frozen=True)
class ProfiledRun:
    outcome: Outcome
    command: list[str]  # as if it had been given in the folder that it wrote into

    @property
    def phases(self) -> list[str]:
        return [phase.phase for phase in self.outcome.phases]


async def run_plain(subject: Subject, cpu: Cpu) -> ProfiledRun:
    """Without the profiler."""
    return await run_and_check(subject, subject.argv(cpu), subject.argv(cpu), {})


async def run_to_end(subject: ProfileSubject, folder: Path, cpu: Cpu) -> ProfiledRun:
    """To its end, under the profiler, which writes into `folder`."""
    return await under(subject, folder, subject.argv(cpu))


async def run_until(subject: ProfileSubject, folder: Path, cpu: Cpu, phases: list[str]) -> ProfiledRun:
    """To the end of the last of `phases`, which are all up to there."""
    return await under(subject, folder, subject.argv(cpu, phases[-1]), phases)


async def under(
    subject: ProfileSubject, folder: Path, words: list[str], phases: list[str] | None = None
) -> ProfiledRun:
    command = profilers.profiler_command(subject.tool, folder, subject.before, words)
    variables = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}  # of a person, valgrind reads options
    done = await run_and_check(subject, words, command, variables, phases)
    return replace(done, command=[word.replace(str(folder), ".") for word in command])


async def run_and_check(
    subject: Subject, words: list[str], command: list[str], variables: dict[str, str], phases: list[str] | None = None
) -> ProfiledRun:
    """Raises CaptureFailed with a sentence when it is no measurement of what was asked for, or not in these phases."""
    outcome = await measure_run(subject, words, command, variables, phases)
    if not phases:
        check_request(subject, outcome)
    return ProfiledRun(outcome, command)


async def measure_run(
    subject: Subject, words: list[str], command: list[str], variables: dict[str, str], phases: list[str] | None = None
) -> Outcome:
    """Raises CaptureFailed with a sentence when it did not go to its end, or to that of the last of `phases`."""
    begun = harness.utc_now()
    ended = await run_to_exit(command, variables, subject.limit_s)
    outcome = judge(ended, words, begun)
    if outcome.status == "unsupported":
        raise CaptureFailed(f"{subject.run.stack} cannot do {subject.run.suite}: {outcome.reason}")
    if phases and not (ended.status or ended.stopped) and outcome.end:
        if [phase.phase for phase in outcome.phases] != phases:
            raise CaptureFailed(f"{subject}: it went through other phases than a plain run")
    elif outcome.status == "failed":
        late = (ended.stopped or "").startswith(LATE)
        raise (CaptureTimeout if late else CaptureFailed)(f"{subject}: {outcome.reason}")
    return outcome


def check_request(subject: Subject, outcome: Outcome) -> None:
    """Raises CaptureFailed with a sentence when what was measured is not what was asked for."""
    if wrong := find_difference(outcome, subject.run, subject.suite, subject.provenance.machine.thp_host):
        raise CaptureFailed(f"{subject}: {wrong}")


async def run_to_exit(command: list[str], variables: dict[str, str], limit_s: float) -> ProcessResult:
    """Without what the profiler prints in between."""
    try:
        async with start_process(command, variables) as process:
            try:
                await process.wait(limit_s)
            finally:  # what a heaptrack that is killed leaves
                Path(f"/tmp/heaptrack_fifo{process.process.pid}").unlink(missing_ok=True)
    except OSError as error:
        return harness.describe_start_error(error)
    ended = process.ended()
    said = b"".join(line for line in ended.stdout.splitlines(keepends=True) if line.startswith(b'{"record"'))
    return replace(ended, stdout=said, stderr=ROUTINE.sub(b"", ended.stderr))
