"""The files of a recording and their lines, alike whether they lie there plain or sealed.

While a recording grows, a stack's runs are in STACK.jsonl. `data seal` packs each file into STACK.jsonl.zst
and writes manifest.json beside them. For records call read_records; for lines, `list_files` and `read_lines` here."""

import errno
import io
import json
import os
import sys
from pathlib import Path

from backports import zstd

from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import IS_WHEEL, ROOT
from tlsmem.base.repository import MANIFEST
from tlsmem.schema.manifest import BadRecording, load_manifest

PLAIN, SEALED = ".jsonl", ".jsonl.zst"
SUMMARY = "summary.json.xz"  # of a recording in an installed package, in place of the files that its manifest has
RESTORE = "restore the file from git or a copy, or record again into another OUT="

FOLDERS = (ROOT / "data", ROOT / "data/local")  # where a recording may be named without them
BASES = (*FOLDERS, *([ROOT] if IS_WHEEL else []))  # of names; those of a wheel begin with data/, as a clone's may
WAY = "recordings are directories under data/"  # the way to one that was not found
MOST_NAMED = 5  # recordings that a sentence lists
MOST_BYTES = 256 << 20  # of a sealed file without a manifest; of those in data/ the largest has 13 MB
MOST_SHORT_LINES, SHORTEST_RECORD = 10_000, 64  # more lines than that, and shorter on average in bytes, are no runs

NEVER_RECORDINGS = (".md", ".toml", ".txt", ".py", ".json")  # named by mistake

TORN_MARK = b'{"record":"torn"}'  # the line before this one was cut off while it was written

skipped_lines: list[str] = []  # a sentence for each torn last line that was met; readers exit with 1 when there is one


def list_files(recording: Path | str) -> list[Path]:
    """Return the files of a recording, sorted by stack: none where there is no recording. A file is returned alone,
    under the name that it has now.

    Where sealing was interrupted a stack may have both files: the sealed one counts. Raises BadRecording when nothing
    says which one does, when runs lie beside a sealed recording that are not in it, or when the directory cannot be
    read."""
    recording = Path(recording)
    try:
        if not recording.is_dir():
            return [locate(recording)]
        os.listdir(recording)  # glob() takes a directory that cannot be read for an empty one
    except OSError as error:
        raise BadRecording(f"{recording}: cannot read the recording: {error.strerror}") from None
    if has_summary(recording) and (sealed_as := load_manifest(recording)):
        return [recording / name for name in sorted(sealed_as.files, key=lambda name: name.removesuffix(".zst"))]
    plain, sealed = ({stack_name(file): file for file in recording.glob(f"*{end}")} for end in (PLAIN, SEALED))
    manifest = load_manifest(recording) if plain else None
    for stack, file in plain.items():
        known = manifest.files.get(f"{stack}{SEALED}") if manifest else None
        if manifest and (known is None or file.stat().st_size != known.plain_bytes):
            raise BadRecording(
                f"{file}: has runs that the sealed recording beside it has not; move it into a directory of its own"
            )
        if not manifest and stack in sealed:
            raise BadRecording(
                f"{file}: {sealed[stack].name} is beside it, and no {MANIFEST} tells which counts; move one"
            )
    found = plain | sealed
    return [found[stack] for stack in sorted(found, key=lambda stack: f"{stack}{PLAIN}")]


def require_files(recording: Path | str) -> list[Path]:
    """Return the files of a recording as `list_files` does. Raises BadRecording also where there is none."""
    files = list_files(recording)
    if not files:
        raise BadRecording(f"{recording}: no recording here (no {PLAIN} file)")
    if len(files) == 1 and files[0] == Path(recording) and files[0].suffix in NEVER_RECORDINGS:
        raise BadRecording(f"{recording} is not a recording ({PLAIN})")
    return files


def locate(file: Path) -> Path:
    """Return the file under the name that it has now: STACK.jsonl may have been sealed."""
    sealed = file.with_name(f"{file.name}{SEALED.removeprefix(PLAIN)}")
    return sealed if file.name.endswith(PLAIN) and not exists(file) and is_there(sealed) else file


def has_summary(recording: Path) -> bool:
    """Return whether a recording has a summary in place of its files; not where the directory cannot be searched."""
    return os.path.exists(recording / SUMMARY)


def is_there(file: Path) -> bool:
    """Return whether there is such a file or directory, or the summary has what such a file held."""
    return exists(file) or is_summarised(file)


def exists(file: Path) -> bool:
    """Return whether the file exists; what is too long for a name, such as a query, does not. Raises OSError."""
    try:
        return file.exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def is_summarised(file: Path) -> bool:
    """Return whether there is a summary in place of this file. Raises BadRecording where the manifest is damaged."""
    if not file.name.endswith(SEALED) or not has_summary(file.parent) or exists(file):
        return False
    manifest = load_manifest(file.parent)
    return bool(manifest and file.name in manifest.files)


def find_recording(name: Path | str) -> Path | None:
    """Return the recording of this name: a path, or a directory of data/ or data/local/ by its name alone; None where
    there is none."""
    name = Path(name)
    places = [name, *(base / name for base in BASES if not name.is_absolute())]
    return next((one for one in places if is_there(locate(one))), None)


def require_recording(name: Path | str, kind: str = "recording", way: str = WAY) -> Path:
    """Return the recording of this name. Raises Usage with a sentence where there is none: it has the nearest
    names, and the way to such a kind of recording."""
    found = find_recording(name)
    if not found:
        raise Usage(f"{name}: no such {kind}; {way}{name_recordings(name)}")
    return found


def name_recordings(name: Path | str) -> str:
    """Return the end of a sentence about a recording that is not there: the nearest names, or the newest ones."""
    known = sorted((one.name for folder in FOLDERS for one in folder.glob("20*/") if is_recording(one)), reverse=True)
    others = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return suggest_nearest(Path(name).name, known) or f"; data/ has {', '.join(known[:MOST_NAMED]) or 'none'}{others}"


def find_stack(recording: Path, stack: str) -> Path | None:
    """Return the file of this stack's runs, or None. Raises BadRecording as `list_files` does."""
    return next((file for file in list_files(recording) if stack_name(file) == stack), None)


def stack_name(file: Path) -> str:
    """Return the stack whose runs the file has."""
    return file.name.removesuffix(SEALED).removesuffix(PLAIN)


def is_recording(path: Path) -> bool:
    """Return whether this is a directory with files of runs, or a path with the name of such a file."""
    if path.is_dir():
        return any(any(path.glob(f"*{end}")) for end in (PLAIN, SEALED)) or has_summary(path)
    return path.name.endswith((PLAIN, SEALED))


def read_content(file: Path) -> bytes:
    """Return the plain content of a file, sealed or not, after comparing it with the manifest where there is one.

    Raises BadRecording when it cannot be read, or is not what was sealed."""
    return unpack_content(file, read_file(file))


def read_file(file: Path) -> bytes:
    """Return the bytes of a file, packed or plain. Raises BadRecording when it cannot be read."""
    if file.exists() and not file.is_file():
        raise BadRecording(f"{file}: cannot read the recording: not a regular file")
    if is_summarised(file):
        raise BadRecording(f"{file.parent}: the installed package has the summary of this recording only; use a clone")
    try:
        return file.read_bytes()
    except OSError as error:
        raise BadRecording(f"{file}: cannot read the recording: {error.strerror}") from None


def unpack_content(file: Path, content: bytes) -> bytes:
    """Return the plain content of a file with these bytes. Raises BadRecording when it is not what was sealed."""
    manifest = load_manifest(file.parent)
    known = manifest.files.get(f"{stack_name(file)}{SEALED}") if manifest else None
    if file.name.endswith(SEALED):
        most = known.plain_bytes if known else MOST_BYTES
        try:
            content = unpack_at_most(content, most + 1)
        except zstd.ZstdError:
            raise BadRecording(f"{file}: the sealed recording is damaged or cut off; {RESTORE}") from None
        if not known and len(content) > most:
            raise BadRecording(f"{file}: holds more than {most:,} B, and no {MANIFEST} says so; {RESTORE}")
    if known and not known.matches(content):
        raise BadRecording(f"{file}: was changed after it was sealed: {MANIFEST} has another checksum; {RESTORE}")
    lines = content.count(b"\n")
    if lines > MOST_SHORT_LINES and len(content) < lines * SHORTEST_RECORD:
        raise BadRecording(f"{file}: has {lines:,} lines of {len(content) / lines:.0f} B: no runs; {RESTORE}")
    return content


def unpack_at_most(packed: bytes, most: int) -> bytes:
    """Return the first `most` bytes of what these frames hold: a few KB can hold gigabytes.

    Raises ZstdError when they are damaged or cut off before that."""
    try:
        with zstd.ZstdFile(io.BytesIO(packed)) as frames:
            return frames.read(most)
    except EOFError:
        raise zstd.ZstdError("cut off") from None


Lines = list[tuple[int, bytes]]  # number (from 1) and bytes of each line that is a record


def read_lines(file: Path) -> Lines:
    """Return the lines of a file that are records, without torn lines and the marks after them.

    Warns on stderr, once, of a last line that was cut off. Raises BadRecording as `read_content` does."""
    lines, cut = split_lines(read_content(file))
    if cut:
        warn_of_cut(file, cut)
    return lines


def split_lines(content: bytes) -> tuple[Lines, int | None]:
    """Return the lines that are records, and the number of the last line when it was cut off, else None."""
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    cut = find_torn_lines(lines)
    kept = [(n, line) for n, line in enumerate(lines, start=1) if n not in cut and line != TORN_MARK]
    return kept, len(lines) if len(lines) in cut else None


def warn_of_cut(file: Path, number: int) -> None:
    """Warn on stderr, once, that the file's line with this number (from 1) was cut off and is skipped."""
    warn(f"{file}: line {number} was cut off while it was written; it is skipped")


def warn(torn_line: str) -> None:
    """Print the sentence on stderr and keep it in `skipped_lines`, once, however often the file is read."""
    if torn_line not in skipped_lines:
        skipped_lines.append(torn_line)
        print(torn_line, file=sys.stderr)


def find_torn_lines(lines: list[bytes]) -> set[int]:
    """Return the numbers (from 1) of the torn lines that may be skipped: the last line of the file, and lines that the
    line after them marks as torn.

    A mark may be cut off itself; the beginning of TORN_MARK that is left marks nevertheless."""
    found = set()
    for number in range(len(lines), 0, -1):
        after = lines[number] if number < len(lines) else TORN_MARK
        marked = after == TORN_MARK or (number + 1 in found and TORN_MARK.startswith(after))
        if marked and is_torn(lines[number - 1]):
            found.add(number)
    return found


def is_torn(line: bytes) -> bool:
    """Return whether this is the beginning of a record, cut off.

    No proper beginning of a JSON object is JSON itself."""
    try:
        json.loads(line)
    except RecursionError:  # no record is so deep, nor the beginning of one
        return False
    except ValueError:
        return line.startswith(b"{")
    return False
