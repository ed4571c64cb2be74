"""Reads memray's files, of Python programs, through memray itself: its form is known to no other program.

memray is an optional package. Its reader runs in a process of its own: see memray_records.py. It tells no modules."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from tlsmem.base.paths import IS_WHEEL
from tlsmem.base.source_paths import shorten_path
from tlsmem.profile import memray_records
from tlsmem.profile.callstack_lists import CallstackLists
from tlsmem.profile.compressed_file import Progress
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.file_signatures import is_memray
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, CallstackTree, LiveHeap, Moment, Profile, add_live

LIMIT_S = 900
UNKNOWN = ("", "??", "<unknown>")  # names of functions and files that memray does not know
INSTALL = "pip install 'tls-memtest[memray]'" if IS_WHEEL else ".venv/bin/pip install -r tools/requirements-memray.txt"

Stack = tuple[NonNegativeInt, NonNegativeInt, list[NonNegativeInt]]  # bytes, blocks, frames by number


class Content(BaseModel):
    """What memray_records.py prints."""

    model_config = ConfigDict(frozen=True)

    command: str
    runtime_s: float
    has_native_frames: bool
    has_python_allocators: bool
    peak: list[Stack]
    end: list[Stack]
    frames: list[tuple[str, str, int]]


def read_profile(file: Path | str, progress: Progress | None = None) -> Profile:
    """Return the profile in a file: its moments are PEAK and END.

    Raises Unreadable with a sentence when memray is not installed, or cannot read the file."""
    if importlib.util.find_spec("memray") is None:
        raise Unreadable(f"{file}: memray reads its files itself, and is not installed: {INSTALL}")
    content = read_content(file)
    lists = CallstackLists(CallstackTree(), [parse_frame(*frame) for frame in content.frames])
    found = Profile("memray", str(file), content.command, lists.stacks, {})
    for name, stacks in ((PEAK, content.peak), (END, content.end)):
        live: dict[int, LiveHeap] = {}
        for size, blocks, frames in stacks:
            stack = lists.stack(frames)
            live[stack] = add_live(live.get(stack, LiveHeap(0, 0)), LiveHeap(size, blocks))
        found.moments[name] = Moment(name, sum(held.bytes for held in live.values()), live)
    if missing := lists.demangle():
        found.warnings.append(missing)
    found.runtime_s = content.runtime_s
    if not content.has_python_allocators:
        found.notes["Python objects"] = (
            "small ones are in arenas, which belong to the call stack that mapped them; "
            "`memray run --trace-python-allocators` records each object"
        )
    if not content.has_native_frames:
        found.notes["native functions"] = "not in the call stacks; `memray run --native` records them"
    return found


def read_content(file: Path | str) -> Content:
    with open(file, "rb") as plain:
        if not is_memray(plain.read(32)):
            raise Unreadable(f"{file}: a packed file of memray, which memray does not unpack: unpack it first")
    # -P: the modules beside memray_records.py are none of memray's.
    command = [sys.executable, "-P", memray_records.__file__, str(file)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{file}: memray did not read it within {LIMIT_S} s") from None
    if done.returncode == memray_records.UNREADABLE:
        raise Unreadable(f"{file}: memray cannot read it: {done.stderr.decode(errors='replace').strip()}")
    if done.returncode:
        raise Unreadable(f"{file}: damaged: memray's reader breaks down on it")
    try:
        content = Content.model_validate_json(done.stdout)
    except ValidationError:
        raise Unreadable(f"{file}: damaged: memray tells sizes or call stacks of it that cannot be") from None
    return content


def parse_frame(function: str, file: str, line: int) -> Frame:
    known = None if function in UNKNOWN else function
    return Frame(known, None if file in UNKNOWN else shorten_path(file), line if line > 0 else None, None, None)
