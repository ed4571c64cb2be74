"""Tools that each tell what is live at the end of every phase of the same run of the same binary; three are not ours.

They are run as for a profile. All runs hold both roles, on the system's allocator, with randomised addresses: a harness
that switches that off starts itself again, out of a profiler's sight."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run
from tlsmem.profile import dhat_reader, heaptrack_reader, massif_reader
from tlsmem.profile.capture import profiled_run, profilers, take_profile
from tlsmem.profile.errors import CaptureFailed
from tlsmem.profile.frames import skip_allocators
from tlsmem.profile.heap_profile import END, PEAK, CapturedTool, LiveHeap, Moment, Profile, subtract_live, sum_live
from tlsmem.run.provenance import Provenance
from tlsmem.schema.harness_output import Meter, Phase

LIMIT_S = 300
MARKS = ROOT / profilers.MARKS_LIBRARY
ANY: profiled_run.Cpu = None  # of the CPUs

PARTED = re.compile(r"[\s:]")  # between the libraries of LD_PRELOAD
BUILDS = ": run `make selfcheck`, which builds it"


@cache
def provenance() -> Provenance:
    return Provenance(definitions.suites(), definitions.allocators())


@dataclass(frozen=True)
class Subject:
    """What is run: N sessions are N / 2 pairs."""

    stack: str
    suite: str
    sessions: int

    def profiled_subject(self, tool: CapturedTool) -> profiled_run.ProfileSubject:
        return profiled_run.ProfileSubject(tool, self.run("rss"), provenance(), LIMIT_S)

    def metered_subject(self, name: str, meter: Meter) -> profiled_run.Subject:
        return profiled_run.Subject(name, self.run(meter), provenance(), LIMIT_S)

    def run(self, meter: Meter) -> Run:
        return Run(self.stack, self.suite, SYSTEM, "all", self.sessions, meter, 1)

    def __str__(self) -> str:
        return f"{self.stack}, {self.suite}"


@dataclass(frozen=True)
class Constant:
    """What a tool sees of itself, or fails to see, the same in every phase: taken from its readings."""

    name: str
    live_bytes: int
    live_blocks: int | None


@dataclass(frozen=True)
class Statement:
    tool: str
    by_phase: dict[str, LiveHeap]  # at the end of each, without the constants
    constants: list[Constant] = field(default_factory=list)
    sparse: dict[str, LiveHeap] = field(default_factory=dict)  # by phase, what OpenSSL keeps in sparse arrays


SITES, DHAT = "sites run", "DHAT"
LIBSTDCXX, SPARSE = "libstdc++", "ossl_sa_set"
DLERROR = Constant("glibc's record for dlerror, which heaptrack's own start makes before it records", -24, -1)
DLERROR_RUN = "_dlerror_run"  # glibc's: allocates the record, and calls what allocates the message that goes into it


def check_ready(meter: Path) -> None:
    """Raises CaptureFailed when a profiler or a library is not there, before anything is run."""
    for tool in ("massif", "heaptrack"):
        profilers.PROFILERS[tool].version()
    for library in (MARKS, meter):
        if why := unfit(library):
            raise CaptureFailed(f"{library}: {why}" + BUILDS * library.is_relative_to(ROOT / "build"))


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
    metered_run = subject.metered_subject("heap meter", "heap")
    return Statement("heap meter", await metered(metered_run, {"LD_PRELOAD": str(meter)}, read_heap))


async def sites(subject: Subject, meter: Path) -> Statement:
    """Of all pairs, as if they were the one whose call stacks are kept."""
    variables = {"LD_PRELOAD": str(meter), "HEAPMETER_SITES": "1"}
    return Statement(SITES, await metered(subject.metered_subject(SITES, "sites"), variables, count_pairs))


async def metered(
    subject: profiled_run.Subject, variables: dict[str, str], read: Callable[[Phase], LiveHeap | None]
) -> dict[str, LiveHeap]:
    """By phase what `read` finds in a run under the heap meter, whichever library that is. Raises CaptureFailed where
    it finds nothing."""
    words = subject.argv(ANY)
    outcome = await profiled_run.measure_run(subject, words, words, variables)
    readings = {phase.phase: read(phase) for phase in outcome.phases}
    found = {name: held for name, held in readings.items() if held is not None}
    if len(found) < len(readings):
        preloaded, *more = variables.values()
        how = f"{preloaded} was preloaded" + " with HEAPMETER_SITES=1" * bool(more)
        why = "printed no sites" if more else "found no heap meter"
        raise CaptureFailed(f"{subject.tool}: {how}, and the harness {why}")
    profiled_run.check_request(subject, outcome)
    return found


def read_heap(phase: Phase) -> LiveHeap | None:
    return LiveHeap(phase.heap.total.live_bytes, phase.heap.total.live_blocks) if phase.heap else None


def count_pairs(phase: Phase) -> LiveHeap | None:
    if phase.sites is None:
        return None
    live, pairs = phase.sites.live, phase.sites.pairs
    return LiveHeap(sum(one.bytes for one in live) * pairs, sum(one.blocks for one in live) * pairs)


async def heaptrack(subject: Subject, folder: Path) -> Statement:
    found = await take_profile.heaptrack(subject.profiled_subject("heaptrack"), folder, [ANY])
    assert found.file  # which only a sites run has not
    profile, phases = heaptrack_reader.read_profile(found.file), found.made.phases
    marks = [moment for name, moment in profile.moments.items() if name not in (PEAK, END)]
    if len(marks) != len(phases):
        raise CaptureFailed(f"heaptrack: {len(marks)} marks of {len(phases)} phases are in its file")
    has = loads(ROOT / subject.profiled_subject("heaptrack").argv(ANY)[0], LIBSTDCXX)
    pool = LiveHeap(0, 0) if has else allocated_by_module(profile, marks[0], LIBSTDCXX)
    own = Constant("the emergency pool of libstdc++, which is there for heaptrack alone", *pool)
    hidden = [records_before(profile, mark) for mark in marks]
    readings, sparse = {}, {}
    for phase, mark, records in zip(phases, marks, hidden, strict=True):
        unseen = LiveHeap(records * DLERROR.live_bytes, -records)
        readings[phase] = subtract_live(subtract_live(sum_live(mark.live), pool), unseen)
        sparse[phase] = allocated_within(profile, mark, SPARSE)
    return Statement("heaptrack", readings, [*[own] * bool(pool.bytes), *[DLERROR] * any(hidden)], sparse)


def loads(program: Path, library: str) -> bool:
    """Whether it has a shared library (the start of its file's name) by itself, as the loader says."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return any(Path(line.split()[0]).name.startswith(library) for line in listed.splitlines())


def records_before(profile: Profile, moment: Moment) -> int:
    """How many of glibc's records for dlerror were made before heaptrack recorded, and are still there.

    A record lives as long as its message. Where the message alone is in the profile, the record is older than that; a
    call of dlopen or dlsym that succeeds frees both, and the next record is seen."""
    records = messages = 0
    for stack, held in moment.live.items():
        functions = [frame.function for frame in skip_allocators(profile.stacks.frames(stack))]
        if DLERROR_RUN in functions:
            failed = any("dl_exception_create" in (one or "") for one in functions)
            blocks = held.blocks or 0  # heaptrack counts them
            records += blocks * (functions[0] == DLERROR_RUN)
            messages += blocks * failed
    return messages - records


def allocated_by_module(profile: Profile, moment: Moment, module: str) -> LiveHeap:
    """What code of a module (the start of its file's name) allocated by itself."""
    inner = {stack: next(iter(profile.stacks.frames(stack)), None) for stack in moment.live}
    own = [stack for stack, frame in inner.items() if frame and Path(frame.module or "").name.startswith(module)]
    return sum_live({stack: moment.live[stack] for stack in own})


def allocated_within(profile: Profile, moment: Moment, function: str) -> LiveHeap:
    """What was allocated for it, by itself or by what it called."""
    asked = {one: {frame.function for frame in profile.stacks.frames(one)} for one in moment.live}
    return sum_live({one: held for one, held in moment.live.items() if function in asked[one]})


async def massif(subject: Subject, folder: Path) -> Statement:
    found = await take_profile.massif(subject.profiled_subject("massif"), folder, [ANY])
    assert found.file  # which only a sites run has not
    profile = massif_reader.read_profile(found.file)
    at = dict(zip(found.made.phases, (one for name, one in profile.moments.items() if name != PEAK), strict=True))
    sparse = {phase: allocated_within(profile, moment, SPARSE) for phase, moment in at.items()}
    return Statement("massif", {phase: LiveHeap(one.bytes, None) for phase, one in at.items()}, sparse=sparse)


async def dhat(subject: Subject, phases: list[str], folder: Path) -> Statement:
    """At the end of the last of `phases`, which are all up to there: DHAT of valgrind 3.19 tells nothing before."""
    await take_profile.dhat_until(subject.profiled_subject("dhat"), folder, ANY, phases)
    end, profile = dhat_reader.read_end(folder / "dhat"), dhat_reader.read_profile(folder / "dhat")
    sparse = {phases[-1]: allocated_within(profile, profile.moments[END], SPARSE)}
    return Statement(DHAT, {phases[-1]: end}, sparse=sparse)


NAME = "levels of sparse arrays indexed by addresses, which are lower under valgrind"


def remove_sparse_levels(one: Statement, outside: Statement) -> Statement:
    """As if the program were placed as in the other run."""
    readings: dict[str, LiveHeap] = {}
    constants: dict[Constant, None] = {}
    for phase, said in one.by_phase.items():
        lower = subtract_live(one.sparse[phase], outside.sparse[phase])
        readings[phase] = subtract_live(said, lower)
        if lower.bytes:
            constants[Constant(NAME, *lower)] = None
    return Statement(one.tool, readings, [*one.constants, *constants], one.sparse)
