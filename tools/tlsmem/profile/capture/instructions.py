"""Instructions of one round, by part: what two runs under callgrind differ by, which have other numbers of rounds.

So nothing counts that is done once: the loader, contexts, the warm-up. The calls of a driver are frames of the core's
that name their role, and callgrind_annotate tells what was executed inside of each."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlsmem.profile.capture import profilers
from tlsmem.profile.capture.profile_store import SCRATCH, remove_scratch
from tlsmem.profile.capture.profiled_run import run_to_exit
from tlsmem.profile.errors import CaptureFailed
from tlsmem.run.harness import utc_now
from tlsmem.run.process import start_process
from tlsmem.run.validate import Outcome, judge
from tlsmem.schema.harness_output import PartName, ThreadLine
from tlsmem.schema.timed_record import Instructions

VALGRIND = profilers.PROFILERS["massif"]  # of which callgrind is a tool as well
CALLGRIND = ("valgrind", "--quiet", "--vgdb=no", "--tool=callgrind")
ANNOTATE = ("callgrind_annotate", "--inclusive=yes", "--threshold=100", "--show-percs=no", "--auto=no")
ROUNDS = {"handshake": (32, 64), "throughput": (8, 16)}  # OpenSSL makes a new blinding every 32 operations of a key
WARMUP = 2
SLOWER = 10  # under callgrind
FRAMES: dict[PartName, tuple[str, ...]] = {
    "client_new": ("client_session_new", "client_resume"),
    "client": ("client_handshake",),
    "client_free": ("client_session_free",),
    "server_new": ("server_session_new",),
    "server": ("server_handshake",),
    "server_free": ("server_session_free",),
    "send": ("server_write",),
    "receive": ("client_read",),
    "seal": ("harness_seal",),
    "wire_write": ("wire_write",),  # inside of the parts above, of both roles
    "wire_read": ("wire_read",),
}
COST = re.compile(r"^\s*([\d,]+)\s+\S*memtest/[^:/]+:(\w+)( |$)", re.MULTILINE)  # a library may have such names too

# What the CPU that valgrind 3.19 shows has not, found by asking it, as flags of /proc/cpuinfo: a library that has code
# for these runs other code.
HIDDEN = {
    "avx512f": "AVX-512",
    "vaes": "VAES",
    "vpclmulqdq": "VPCLMULQDQ",
    "gfni": "GFNI",
    "adx": "ADX",
    "sha_ni": "SHA",
}


@dataclass(frozen=True)
class CallgrindRun:
    """One run: what was executed inside of each frame, the rounds, and the parts that they have."""

    frames: dict[str, int]
    rounds: int
    parts: list[PartName]


async def count_after(outcome: Outcome, argv: Sequence[str], variables: Mapping[str, str], limit_s: float) -> Outcome:
    """Add the instructions of one round to the outcome of a plain run; what cannot be counted says why.

    `limit_s` is the plain run's; runs under callgrind get ten times as long."""
    counted = await count_instructions(argv, variables, SLOWER * limit_s)
    if isinstance(counted, str):
        there = all(map(shutil.which, (CALLGRIND[0], ANNOTATE[0])))  # else it is counted once they are installed
        return replace(outcome, status="unsupported" if there else "failed", reason=counted)
    return replace(outcome, instructions=counted)


async def count_instructions(argv: Sequence[str], variables: Mapping[str, str], limit_s: float) -> Instructions | str:
    """Of a timed run, given as the harness is called for it but with rounds of its own; or in a sentence why not.

    `limit_s` is of each of the two runs. Threads would be counted together, so there is one."""
    rounds = ROUNDS[argv[1]]
    try:
        version, before = VALGRIND.version(), profilers.no_aslr_command()
        remove_scratch()
        with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}.{os.getpid()}.") as folder:
            words = [counting_argv(argv, n, randomised=not before) for n in rounds]
            few, many = [await run(before, one, variables, limit_s, Path(folder)) for one in words]
        parts = {name: instructions_per_round(name, few, many) for name in many.parts}
    except CaptureFailed as error:
        return str(error)
    return Instructions(tool=f"valgrind {version}, callgrind", hides=hidden(), rounds=rounds, parts=parts)


def counting_argv(argv: Sequence[str], rounds: int, randomised: bool) -> list[str]:
    """With as long a warm-up, whatever the rounds. A harness that has randomisation otherwise than asked for starts
    itself again, out of valgrind's sight."""
    chosen = {"rounds": rounds, "warmup": WARMUP, "threads": 1, "aslr": "on" if randomised else "off"}
    kept = [word for word in argv if word.partition("=")[0] not in (*chosen, "seconds")]
    return [*kept, *(f"{name}={value}" for name, value in chosen.items())]


async def run(
    before: Sequence[str], argv: list[str], variables: Mapping[str, str], limit_s: float, folder: Path
) -> CallgrindRun:
    file, begun = folder / "callgrind.out", utc_now()
    command = [*before, *CALLGRIND, f"--callgrind-out-file={file}", *argv]
    # Of a person valgrind reads options: a home of nobody's.
    found = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)} | dict(variables)
    outcome = judge(await run_to_exit(command, found, limit_s), argv, begun)
    if outcome.status != "measured":
        raise CaptureFailed(f"under callgrind: {outcome.reason}")
    (thread,) = (line for line in outcome.lines if isinstance(line, ThreadLine))
    parts = [part.part for part in thread.parts if part.part in FRAMES]
    return CallgrindRun(parse_frames(await annotated(file, limit_s)), thread.rounds, parts)


async def annotated(file: Path, limit_s: float) -> str:
    try:
        async with start_process([*ANNOTATE, str(file)], {"PATH": os.environ.get("PATH", os.defpath)}) as process:
            await process.wait(limit_s)
    except OSError as error:
        raise CaptureFailed(
            f"callgrind_annotate: cannot be started: {error.strerror}; is valgrind installed whole?"
        ) from None
    ended = process.ended()
    if ended.status or ended.stopped:
        said = ended.stopped or ended.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise CaptureFailed(f"callgrind_annotate: {said or f'exit {ended.status}'}")
    return ended.stdout.decode(errors="replace")


def parse_frames(text: str) -> dict[str, int]:
    """By function of the core's; what the compiler has put into one stands in lines of its own, by file."""
    found: dict[str, int] = {}
    for cost, name, _ in COST.findall(text):
        found[name] = found.get(name, 0) + int(cost.replace(",", ""))
    return found


def instructions_per_round(part: PartName, few: CallgrindRun, many: CallgrindRun) -> float:
    """Of one round. Raises CaptureFailed when the frame is not there, which every round goes through."""
    name, *others = FRAMES[part]
    if name not in many.frames:
        raise CaptureFailed(f"under callgrind: no function {name} of the core's was called; is the harness stripped?")
    more = sum(many.frames.get(one, 0) - few.frames.get(one, 0) for one in (name, *others))
    return more / (many.rounds - few.rounds)


def hidden() -> str:
    """Of what this CPU has."""
    said = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = said[1].split() if said else []
    return ", ".join(name for flag, name in HIDDEN.items() if flag in flags) or "nothing"
