"""Profiles beside a recording: what is there already, and a new one, once it is known to be whole."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tlsmem.build.commands import CommandProgress
from tlsmem.profile import open_profile, profile_metadata
from tlsmem.profile.capture import take_profile
from tlsmem.profile.capture.profiled_run import ProfileSubject
from tlsmem.profile.capture.take_profile import Capture
from tlsmem.profile.errors import CaptureFailed, Unreadable
from tlsmem.profile.heap_profile import Profile, profiler_name
from tlsmem.profile.profile_metadata import ProfileRecord
from tlsmem.run import heap_page
from tlsmem.run.cpu_slots import run_to_completion

SCRATCH = "memtest-profile"  # .PID.RANDOM, in the directory for temporary files
ENDINGS = {".zst", ".gz", ".zip", ".xtree.zip"}  # of profiles, those too that were written once
STOPPED = "stopped; nothing is kept of this profile"


class Runs(CommandProgress):
    """Of life, while runs are made."""

    def __init__(self, title: str) -> None:
        super().__init__(title, None)
        self.made = 0

    def compiled(self, runs: int) -> str:
        return f"{runs} of {self.total} runs" if self.total else ""

    def count_runs(self, made: int, runs: int) -> None:
        self.made, self.total = made, runs if runs > 1 else None
        if self.bar:
            self.bar.update(self.task, total=self.total)

    async def show(self) -> None:
        while True:
            self.update(self.made)
            await asyncio.sleep(0.2)


@dataclass(frozen=True)
class ProfilePlace:
    """OUT/profiles/STACK.SUITE.N.TOOL, with an ending for each file."""

    folder: Path
    stem: str

    def file(self, ending: str) -> Path:
        return self.folder / f"{self.stem}{ending}"

    @property
    def record(self) -> Path:
        return self.file(".json")

    def profile(self, record: ProfileRecord) -> Path:
        """The file to open."""
        return self.folder / record.file if record.file else self.record


def profile_place(recording: Path, subject: ProfileSubject) -> ProfilePlace:
    """Raises CaptureFailed when nothing can be kept there."""
    folder, run = recording / "profiles", subject.run
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CaptureFailed(f"{folder}: cannot keep a profile here: {error.strerror}") from None
    return ProfilePlace(folder, f"{run.stack}.{run.suite}.{run.sessions}.{subject.tool}")


def load_kept(place: ProfilePlace, subject: ProfileSubject) -> ProfileRecord | None:
    """Of this run, by this version of the tool; None when it is not there or not whole."""
    try:
        found = profile_metadata.load(place.record)
        whole = found.file is None or profile_metadata.load_record_beside(place.profile(found)) == found
    except Unreadable:
        return None
    same = (found.tool, found.tool_version) == (subject.tool, subject.version)
    return found if whole and same and found.run.key == subject.provenance.key(subject.run) else None


def capture_profile(place: ProfilePlace, subject: ProfileSubject, cpus: list[int]) -> tuple[ProfileRecord, Profile]:
    """Makes the runs, and keeps what they come to. Raises CaptureFailed with a sentence when that is no profile."""
    remove_scratch()
    with tempfile.TemporaryDirectory(prefix=f"{SCRATCH}.{os.getpid()}.") as name, full_disks(place):
        folder = Path(name)
        found = run_to_completion(runs(subject, folder, cpus), STOPPED)
        record = recorded(place, subject, found)
        scratch = ProfilePlace(folder, place.stem)
        profile_metadata.save(record, scratch.record, found.file)
        try:
            profile = check_phases(open_profile.open_profile(scratch.profile(record)), found)
        except Unreadable as error:  # the tool wrote it: nothing that the user named
            raise CaptureFailed(str(error)) from None
        for ending, file in found.extra.items():
            profile_metadata.save_copy(place.file(ending), file)
        profile_metadata.save(record, place.record, found.file)
        for ending in ENDINGS - {found.ending, *found.extra}:
            place.file(ending).unlink(missing_ok=True)
    return record, profile


def remove_scratch() -> None:
    """Removes what was left by runs that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}.*.*"):
        pid = folder.name.split(".")[1]
        if pid.isdigit() and not heap_page.is_alive(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


async def runs(subject: ProfileSubject, folder: Path, cpus: list[int]) -> Capture:
    with Runs(f"profile: {subject.run.stack}, {profiler_name(subject.tool)}") as sign:
        showing = asyncio.create_task(sign.show())
        try:
            return await take_profile.CAPTURE_METHODS[subject.tool](subject, folder, cpus, sign.count_runs)
        finally:
            showing.cancel()


@contextmanager
def full_disks(place: ProfilePlace) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or f"{place.folder} or {tempfile.gettempdir()}"
        raise CaptureFailed(f"{where}: cannot keep the profile: {error.strerror or error}") from None


def recorded(place: ProfilePlace, subject: ProfileSubject, found: Capture) -> ProfileRecord:
    return ProfileRecord(
        tool=subject.tool,
        tool_version=subject.version,
        command=found.made.command,
        file=place.file(found.ending).name if found.file else None,
        file_sha256=profile_metadata.sha256(found.file) if found.file else None,
        run=subject.provenance.record(subject.run, found.made.outcome),
    )


def check_phases(profile: Profile, found: Capture) -> Profile:
    """Raises CaptureFailed unless it has a moment for every phase."""
    missing = [phase for phase in found.made.phases if phase not in profile.moments]
    if missing:
        said = "; ".join(profile.warnings)
        raise CaptureFailed(
            f"{profiler_name(profile.tool)}: its file tells nothing of {', '.join(missing)}: "
            f"{said or 'it is not whole'}"
        )
    return profile
