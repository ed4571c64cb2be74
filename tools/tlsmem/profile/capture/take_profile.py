"""A profile of a harness under each tool, made in a folder of its own until it is known to be whole."""

import time
import zipfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backports import zstd
from backports.zstd import CompressionParameter

from tlsmem.base.errors import UserError, raise_first
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.profile.capture import massif_merge, profiled_run, profilers
from tlsmem.profile.capture.heaptrack_interpreter import interpret
from tlsmem.profile.capture.portable_paths import make_portable
from tlsmem.profile.capture.profiled_run import Cpu, ProfiledRun, ProfileSubject
from tlsmem.profile.errors import CaptureFailed
from tlsmem.profile.heap_profile import CapturedTool
from tlsmem.run import cpu_slots
from tlsmem.run.runner import Runner

MASSIF: dict[int, int] = {
    CompressionParameter.compression_level: 9,
    CompressionParameter.window_log: 25,  # 32 MiB: snapshots of phases are much alike, and zstd finds one in the other
    CompressionParameter.enable_long_distance_matching: 1,
}

Told = Callable[[int, int], None]  # runs made, of so many


CaptureMethod = Callable[[ProfileSubject, Path, list[int], Told], Awaitable["Capture"]]


def unheard(_made: int, _runs: int) -> None:
    pass


@dataclass(frozen=True)
class Capture:
    made: ProfiledRun  # the run that went to its end
    file: Path | None = None
    ending: str = ""  # of its name
    extra: dict[str, Path] = field(default_factory=dict)  # files beside it, by the ending of their names


async def sites(subject: ProfileSubject, _: Path, cpus: list[int], told: Told) -> Capture:
    told(0, 1)
    outcome = await Runner(subject.provenance, subject.limit_s).run(subject.run, cpus[0])
    if outcome.status != "measured":
        raise CaptureFailed(f"{subject}: {outcome.reason}")
    return Capture(ProfiledRun(outcome, ["env", f"LD_PRELOAD={HEAP_METER}", "HEAPMETER_SITES=1", *outcome.argv]))


async def heaptrack(subject: ProfileSubject, folder: Path, cpus: Sequence[Cpu], told: Told = unheard) -> Capture:
    """The time limit is of the run and of the interpreter together."""
    if why := profilers.invisible_reason(ROOT / subject.argv(0)[0]):
        raise CaptureFailed(f"{subject.run.stack}: {why}; TOOL=massif sees such a program's")
    profilers.find_interpreter()
    told(0, 1)
    begun = time.monotonic()
    made = await profiled_run.run_to_end(subject, folder, cpus[0])
    files = sorted(folder.glob("heaptrack.raw.*"))  # zstd's or gzip's, whichever heaptrack found
    if len(files) != 1:
        raise CaptureFailed(f"{subject}: it wrote no file")
    left_s = subject.limit_s - (time.monotonic() - begun)
    await interpret(str(subject), files[0], folder / "interpreted", left_s)
    return Capture(made, folder / "interpreted", ".zst")


async def massif(subject: ProfileSubject, folder: Path, cpus: Sequence[Cpu], told: Told = unheard) -> Capture:
    told(0, 1)
    made = await profiled_run.run_to_end(subject, folder, cpus[0])
    count = len(made.phases)
    parts, trees = ([folder / f"{part}.{mark}" for mark in range(count)] for part in ("massif", "xtree"))
    wrong = "no snapshot at a mark" * (not all(file.exists() for file in (*parts, *trees)))
    if wrong := wrong or "a snapshot without a phase" * (folder / f"massif.{count}").exists():
        raise CaptureFailed(
            f"massif: it wrote {wrong}: is {profilers.MARKS_LIBRARY} current? run `make {profilers.MARKS_LIBRARY}`"
        )
    with zstd.open(folder / "joined", "wb", options=MASSIF) as to:
        massif_merge.merge_snapshots(folder / "whole", parts, to, ROOT)
    named = zip(made.phases, trees, strict=True)
    xtree = pack(folder / "xtrees", {f"callgrind.out.{phase}": tree for phase, tree in named})
    return Capture(made, folder / "joined", ".zst", {".xtree.zip": xtree})


async def dhat(subject: ProfileSubject, folder: Path, cpus: list[int], told: Told) -> Capture:
    """DHAT tells nothing before the program ends: a run for each phase, which ends there and frees nothing."""
    phases = (await profiled_run.run_plain(subject, cpus[0])).phases
    made: dict[str, ProfiledRun] = {}
    told(0, len(phases))

    async def until(_: int, cpu: Cpu, phase: str) -> None:
        place = folder / phase
        place.mkdir()
        made[phase] = await dhat_until(subject, place, cpu, phases[: phases.index(phase) + 1])
        told(len(made), len(phases))

    with raise_first(UserError):
        await cpu_slots.run_in_slots(reversed(phases), cpus, until)  # the longest first
    files = {f"{phase}.json": folder / phase / "dhat" for phase in phases}
    return Capture(made[phases[-1]], pack(folder / "dhat", files), ".zip")


async def dhat_until(subject: ProfileSubject, folder: Path, cpu: Cpu, phases: list[str]) -> ProfiledRun:
    """folder/dhat is what is live at the end of the last of `phases`, which are all up to there."""
    made = await profiled_run.run_until(subject, folder, cpu, phases)
    if not (folder / "dhat").exists():
        raise CaptureFailed(f"{subject}: until={phases[-1]}: it wrote no file")
    return made


def pack(file: Path, members: dict[str, Path]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, member in members.items():
            packed.writestr(name, make_portable(member.read_bytes(), ROOT))
    return file


CAPTURE_METHODS: dict[CapturedTool, CaptureMethod] = {
    "sites": sites,
    "heaptrack": heaptrack,
    "massif": massif,
    "dhat": dhat,
}
