"""Tools that each tell what is live at the end of every phase of the same run of the same binary; three are not ours.

All runs hold both roles, on the system's allocator, with randomised addresses: a harness that switches that off starts
itself again, out of a profiler's sight."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

import campaign
import definitions
from capture import profilers
from lines import LINE, EndLine, PhaseLine
from process import started
from profiles import dhat_file, heaptrack_file, massif_file
from profiles.heap_profile import END, PEAK, Held, Moment, Profile, total

LIMIT_S = 300
MARKS = definitions.ROOT / profilers.MARKS
PACKAGES = {"valgrind": "valgrind", "heaptrack": "heaptrack"}  # of Debian, by command
MASSIF_OPTIONS = ["--peak-inaccuracy=0", "--time-unit=B", "--threshold=0", "--depth=1", "--max-snapshots=10"]

PARTED = re.compile(r"[\s:]")  # between the libraries of LD_PRELOAD
BUILDS = ": run `make selfcheck`, which builds it"


class Failed(Exception):
    """A run that told nothing; one sentence, which begins with the tool."""


@dataclass(frozen=True)
class Subject:
    """What is run: N sessions are N / 2 pairs."""

    stack: str
    suite: str
    sessions: int

    def argv(self, *more: str) -> list[str]:
        run = campaign.Run(self.stack, self.suite, campaign.SYSTEM, "all", self.sessions, "rss", 1)
        return [*campaign.argv(run, definitions.suites()[self.suite]), "aslr=on", *more]

    def __str__(self) -> str:
        return f"{self.stack}, {self.suite}"


@dataclass(frozen=True)
class Reading:
    """Requested and live at the end of a phase; massif does not count blocks."""

    live_bytes: int
    live_blocks: int | None


@dataclass(frozen=True)
class Constant:
    """What a tool sees of itself, or fails to see, the same in every phase: taken from its readings."""

    name: str
    live_bytes: int
    live_blocks: int


@dataclass(frozen=True)
class Statement:
    tool: str
    by_phase: dict[str, Reading]  # without the constants
    constants: list[Constant] = field(default_factory=list)


SITES, DHAT = "sites run", "DHAT"
DLERROR = Constant("glibc's record for dlerror, which heaptrack's own start makes before it records", -24, -1)


def ready(meter: Path) -> None:
    """Failed when a profiler or a library is not there, before anything is run."""
    for name in PACKAGES:
        path(name)
    for library in (MARKS, meter):
        if why := unfit(library):
            raise Failed(f"{library}: {why}" + BUILDS * library.is_relative_to(definitions.ROOT / "build"))


def unfit(library: Path) -> str | None:
    """Why the loader would pass over a library that is preloaded."""
    try:
        with library.open("rb") as file:
            start = file.read(4)
    except OSError as error:
        return f"it cannot be preloaded: {error.strerror}"
    if start != b"\x7fELF":
        return "not a shared library"
    return "a library that is preloaded has no space and no colon in its path" if PARTED.search(str(library)) else None


async def heap_meter(subject: Subject, meter: Path) -> Statement:
    phases = await run("heap meter", subject.argv(), {"LD_PRELOAD": str(meter)})
    if any(phase.heap is None for phase in phases):
        raise Failed(f"heap meter: {meter} was preloaded, and the harness found no heap meter")
    totals = {phase.phase: phase.heap.total for phase in phases}
    return Statement("heap meter", {name: Reading(one.live_bytes, one.live_blocks) for name, one in totals.items()})


async def sites(subject: Subject, meter: Path) -> Statement:
    """Of all pairs, as if they were the one whose call stacks are kept."""
    phases = await run(SITES, subject.argv(), {"LD_PRELOAD": str(meter), "HEAPMETER_SITES": "1"})
    if any(phase.sites is None for phase in phases):
        raise Failed(f"{SITES}: {meter} was preloaded with HEAPMETER_SITES=1, and the harness printed no sites")
    return Statement(SITES, {phase.phase: pairs_of(phase) for phase in phases})


def pairs_of(phase: PhaseLine) -> Reading:
    found = phase.sites
    live_bytes, live_blocks = (sum(getattr(one, what) for one in found.live) for what in ("bytes", "blocks"))
    return Reading(live_bytes * found.pairs, live_blocks * found.pairs)


async def heaptrack(subject: Subject, folder: Path) -> Statement:
    argv = [path("heaptrack"), "--output", str(folder / "heaptrack"), *subject.argv("marks=1")]
    phases = await run("heaptrack", argv, {})
    files = list(folder.glob("heaptrack.*"))  # zstd's or gzip's, whichever heaptrack found
    if len(files) != 1:
        raise Failed("heaptrack: it wrote no file")
    profile = heaptrack_file.read(files[0])
    marks = [moment for name, moment in profile.moments.items() if name not in (PEAK, END)]
    if len(marks) != len(phases):
        raise Failed(f"heaptrack: {len(marks)} marks of {len(phases)} phases are in its file")
    pool = of_module(profile, marks[0], "libstdc++")
    own = Constant("the emergency pool of libstdc++, which is there for heaptrack alone", *pool)
    live_bytes, live_blocks = (own.live_bytes + DLERROR.live_bytes, own.live_blocks + DLERROR.live_blocks)
    held = [total(mark.live) for mark in marks]
    moments = zip(phases, held, strict=True)
    readings = {phase.phase: Reading(one.bytes - live_bytes, one.blocks - live_blocks) for phase, one in moments}
    return Statement("heaptrack", readings, [own, DLERROR])


def of_module(profile: Profile, moment: Moment, module: str) -> Held:
    """What code of a module (the start of its file's name) allocated by itself."""
    inner = {stack: next(iter(profile.stacks.frames(stack)), None) for stack in moment.live}
    own = [stack for stack, frame in inner.items() if frame and Path(frame.module or "").name.startswith(module)]
    return total({stack: moment.live[stack] for stack in own})


async def massif(subject: Subject, folder: Path) -> Statement:
    whole = f"--massif-out-file={folder / 'massif.whole'}"
    argv = [path("valgrind"), "-q", "--tool=massif", *MASSIF_OPTIONS, whole, *subject.argv("marks=1")]
    phases = await run("massif", argv, {"LD_PRELOAD": str(MARKS), "MARKS_DIRECTORY": str(folder)})
    files = [folder / f"massif.{mark}" for mark in range(len(phases))]
    if not all(file.exists() for file in files):
        marks = MARKS.relative_to(definitions.ROOT)
        raise Failed(f"massif: it wrote no snapshot at a mark: is {marks} current? run `make selfcheck`")
    snapshots = [massif_file.only(file) for file in files]
    readings = zip(phases, snapshots, strict=True)
    return Statement("massif", {phase.phase: Reading(one.heap_bytes, None) for phase, one in readings})


async def dhat(subject: Subject, phase: str, folder: Path) -> Reading:
    """One run: DHAT of valgrind 3.19 tells nothing before the program ends."""
    file = folder / f"dhat.{phase}"
    argv = [path("valgrind"), "-q", "--tool=dhat", *profilers.DHAT, f"--dhat-out-file={file}"]
    await run(DHAT, [*argv, *subject.argv("marks=1", f"until={phase}")], {"LD_PRELOAD": str(MARKS)})
    end = dhat_file.end(file)
    return Reading(end.live_bytes, end.live_blocks)


def path(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Failed(f"{name}: it is not installed; install it with: sudo apt-get install -y {PACKAGES[name]}")
    return found


async def run(tool: str, argv: list[str], variables: dict[str, str]) -> list[PhaseLine]:
    """Runs to its end; the phases that the harness printed. What a profiler prints in between is passed over."""
    try:
        async with started(argv, variables) as process:
            try:
                await process.wait(LIMIT_S)
            finally:  # what a heaptrack that is killed leaves
                Path(f"/tmp/heaptrack_fifo{process.process.pid}").unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{tool}: {argv[0]} cannot be started: {error.strerror}") from None
    done = process.ended()
    if done.stopped or done.status:
        said = done.stderr.decode(errors="replace").splitlines() or ["no word on stderr"]
        raise Failed(f"{tool}: {done.stopped or f'exit {done.status}: {said[-1]}'}")
    try:
        lines = [LINE.validate_json(line) for line in done.stdout.splitlines() if line.startswith(b'{"record"')]
    except ValidationError:
        raise Failed(f"{tool}: the harness printed a line that is not as in docs/records.md") from None
    if not lines or not isinstance(lines[-1], EndLine):
        raise Failed(f"{tool}: the harness printed no end line")
    return [line for line in lines if isinstance(line, PhaseLine)]
