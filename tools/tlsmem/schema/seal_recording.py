"""Seals a recording: packs its files, writes what they hold into a manifest, and checks both later.

Sealing keeps every byte: what it packed is unpacked and compared before the plain file goes. Until the manifest is
there, the recording is the plain one. From then on it takes no more runs, and `seal`, called again, finishes what was
interrupted."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from backports import zstd
from backports.zstd import CompressionParameter

from tlsmem.base.repository import MANIFEST
from tlsmem.schema import recording_files
from tlsmem.schema.configuration_records import FOLDER as CONFIGURATION
from tlsmem.schema.configuration_records import ConfigurationRecord, load_configuration_file
from tlsmem.schema.live_records import FOLDER as LIVE
from tlsmem.schema.live_records import LiveRecord, load_live_file
from tlsmem.schema.manifest import BadRecording, Manifest, SealedFile, load_manifest
from tlsmem.schema.read_records import load_file
from tlsmem.schema.recording_files import PLAIN, RESTORE, SEALED, list_files, read_content, stack_name
from tlsmem.schema.records import RecordLine

Run = RecordLine | LiveRecord | ConfigurationRecord
READERS: dict[str, Callable[[Path], Sequence[Run]]] = {LIVE: load_live_file, CONFIGURATION: load_configuration_file}
RESTORE_DIRECTORY = "restore the directory from git or a copy"
LEVEL = 12  # 57 MB in about a second, to 2.4 %; level 19 takes minutes, to 2.1 %
OPTIONS: dict[int, int] = {CompressionParameter.compression_level: LEVEL, CompressionParameter.checksum_flag: 1}


def seal(recording: Path) -> dict[Path, Manifest]:
    """Seal a recording and return its manifest; where it has live runs or configurations, theirs too, by directory.
    What is sealed already does not change, but that its manifest names what was sealed below it since.

    Raises BadRecording when it cannot be sealed, and OSError when it cannot be written; its runs are then where they
    were."""
    with hold(recording):
        directories = list_directories(recording)
        below = [one.name for one in directories if one != recording]
        # Those below first: the recording's manifest names them, so that it is found when one goes missing.
        made = {one: seal_directory(one, below if one == recording else []) for one in reversed(directories)}
        return {one: made[one] for one in directories}


def list_directories(recording: Path) -> list[Path]:
    """Return the directories of a recording that have files of runs, or a manifest of them: itself, and those of live
    runs and of configurations. Raises BadRecording where there is none."""
    places = (recording, *(recording / name for name in READERS))
    found = [one for one in places if one.is_dir() and (list_files(one) or load_manifest(one))]
    if not found:
        raise BadRecording(f"{recording}: no recording here (no {PLAIN} file)")
    return found


def seal_directory(directory: Path, below: list[str]) -> Manifest:
    """Seal the files of one directory; `below` are sealed directories in it. Raises as `seal` does."""
    files = list_files(directory)
    if there := load_manifest(directory):
        if failures := list(verify_files(directory, there)):
            raise BadRecording(failures[0])
    else:
        refuse_packed(files)
        there = describe(files)
    there = there.model_copy(update={"directories": sorted({*there.directories, *below})})
    plain = [file for file in files if file.name.endswith(PLAIN)]
    packed = {file: write_temporary(sealed_path(file), pack(read_content(file), file)) for file in plain}
    if load_manifest(directory) != there:
        write_temporary(directory / MANIFEST, there.text().encode()).rename(directory / MANIFEST)
        sync(directory)
    for file, temporary in packed.items():
        temporary.rename(sealed_path(file))
    sync(directory)
    for name in there.files:
        (directory / f"{name.removesuffix(SEALED)}{PLAIN}").unlink(missing_ok=True)
    sync(directory)
    return there


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Lock the directory while the block runs, so that no campaign records into it.

    Raises BadRecording when one does, or when the directory cannot be opened."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise BadRecording(f"{directory}: cannot seal the recording: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise BadRecording(f"{directory}: a campaign is recording here; seal it when it has ended") from None
    except OSError:
        pass  # a file system that locks no directories, such as NFS
    try:
        yield
    finally:
        os.close(descriptor)


def refuse_packed(files: list[Path]) -> None:
    """Raise BadRecording when one of the files is packed; call it where no manifest says what they hold."""
    if packed := [file for file in files if file.name.endswith(SEALED)]:
        raise BadRecording(f"{packed[0]}: packed already, without a {MANIFEST} beside it; unpack it first: unzstd --rm")


def describe(files: list[Path]) -> Manifest:
    """Return the manifest of these files. Raises BadRecording when a line is no record, or the last was cut off."""
    known, runs = {}, list[Run]()
    for file in files:
        content = read_content(file)
        found = load_complete(file)
        if not found:
            raise BadRecording(f"{file}: has no runs; remove it before the recording is sealed")
        known[sealed_path(file).name] = SealedFile.from_content(content, len(found))
        runs += found
    return summarise(runs, known)


def load_complete(file: Path) -> Sequence[Run]:
    """Return the runs of a file. Raises BadRecording as `load_file` does, and when the last line was cut off."""
    found = READERS.get(file.parent.name, load_file)(file)
    if cut_off := [sentence for sentence in recording_files.skipped_lines if sentence.startswith(f"{file}: ")]:
        raise BadRecording(f"{cut_off[0]}; make the run again, with the same OUT=, before the recording is sealed")
    return found


def summarise(runs: Sequence[Run], files: dict[str, SealedFile], directories: Sequence[str] = ()) -> Manifest:
    """Return the manifest of a recording with these runs, files (by the sealed file's name) and directories below."""
    started = sorted(run.started_at for run in runs)
    return Manifest(
        records=len(runs),
        statuses=count(run.status for run in runs),
        scenarios=count(run.scenario for run in runs),
        commits=count(run.commit + (" with changes" if run.dirty else "") for run in runs),
        machines=list({run.machine.model_dump_json(): run.machine for run in runs}.values()),
        first_started_at=started[0] if started else None,
        last_started_at=started[-1] if started else None,
        files=files,
        directories=[*directories],
    )


def count(values: Iterator[str]) -> dict[str, int]:
    """Return how often each value occurs, sorted by value."""
    return dict(sorted(Counter(values).items()))


def sealed_path(file: Path) -> Path:
    """Return the path that a file of a recording has, or will have, once it is sealed."""
    return file.with_name(f"{stack_name(file)}{SEALED}")


def pack(content: bytes, file: Path) -> bytes:
    """Return the packed content; `file` names it in messages.

    Raises BadRecording when unpacking does not give back every byte; nothing is sealed then."""
    packed = zstd.compress(content, options=OPTIONS)
    if zstd.decompress(packed) != content:
        raise BadRecording(f"{file}: packing it does not keep its content; nothing was sealed")
    return packed


def write_temporary(file: Path, content: bytes) -> Path:
    """Write the content to the disk beside the file, and return the path of what was written.

    A later call overwrites what an interrupted one left. Raises OSError."""
    temporary = file.with_name(f".{file.name}.partial")
    with temporary.open("wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    return temporary


def sync(directory: Path) -> None:
    """Wait until the directory's entries are on the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verify(recording: Path) -> Iterator[str]:
    """Yield a sentence for each defect of a recording, sealed or plain; none when it is sound."""
    try:
        if not os.path.isdir(recording):
            raise BadRecording(f"{recording}: there is no such directory; recordings are directories under data/")
        for directory in list_directories(recording):
            yield from verify_directory(directory)
    except BadRecording as error:
        yield str(error)


def verify_directory(directory: Path) -> Iterator[str]:
    """Yield a sentence for each defect of the files of one directory. Raises BadRecording."""
    if manifest := load_manifest(directory):
        yield from verify_files(directory, manifest)
        return
    for file in list_files(directory):
        try:
            load_complete(file)
        except BadRecording as error:
            yield str(error)


def verify_files(directory: Path, manifest: Manifest) -> Iterator[str]:
    """Yield a sentence for each file that is missing, not in the manifest or not as it says, and for wrong totals."""
    there = {sealed_path(file).name: file for file in list_files(directory)}
    for name in sorted(manifest.files.keys() - there.keys()):
        yield f"{directory / name}: missing: {MANIFEST} has it; {RESTORE}"
    for name in manifest.directories:
        if not (directory / name / MANIFEST).exists():
            yield f"{directory / name}: missing: {MANIFEST} of the recording has it; {RESTORE_DIRECTORY}"
    for name in sorted(there.keys() - manifest.files.keys()):
        yield f"{there[name]}: {MANIFEST} does not have it; move it into a directory of its own"
    runs, failed = list[Run](), there.keys() != manifest.files.keys()
    for name in sorted(there.keys() & manifest.files.keys()):
        try:
            found = load_complete(there[name])
        except BadRecording as error:
            failed = True
            yield str(error)
            continue
        if len(found) != manifest.files[name].records:
            yield f"{there[name]}: has {len(found)} records, {manifest.files[name].records} by {MANIFEST}; {RESTORE}"
        runs += found
    if not failed and (differs := first_difference(manifest, summarise(runs, manifest.files, manifest.directories))):
        yield f"{directory / MANIFEST}: {differs} is not that of the records; {RESTORE}"


def first_difference(one: Manifest, other: Manifest) -> str | None:
    """Return the name of the first field that differs, or None; the order of machines does not matter."""

    def comparable(value: object) -> object:
        return sorted(map(str, value)) if isinstance(value, list) else value

    names = Manifest.model_fields
    return next((name for name in names if comparable(getattr(one, name)) != comparable(getattr(other, name))), None)
