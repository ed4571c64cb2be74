"""Opens a heap profile of any form that is read here. Which one it is, is told by its beginning, not by its name.

A reader is imported when a file needs it: importing pydantic and numpy takes longer than reading most profiles."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tlsmem.base.errors import UserError
from tlsmem.base.repository import require_clone
from tlsmem.profile.compressed_file import Progress, TornFile, read_chunks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.file_signatures import CALL_TREES, DHAT_ZIP, HEAP_TEXT, HEAPTRACK, JEMALLOC, MASSIF, is_memray
from tlsmem.profile.heap_profile import Profile, is_phase_end, profiler_name
from tlsmem.profile.pprof_message import begins_message

if TYPE_CHECKING:
    from tlsmem.profile.profile_metadata import ProfileRecord
    from tlsmem.store.record import Record

START = 4096  # bytes that tell a form
MOST_BYTES = 1 << 63
FORMS = (
    "accepted: heaptrack, massif, DHAT, pprof, gperftools, tcmalloc, jemalloc, memray, the .json beside a profile, or "
    "a recording (.jsonl) with a sites run"
)


def open_profile(
    file: Path | str, progress: Progress | None = None, suite: str | None = None, stack: str | None = None
) -> Profile:
    """Return the profile in a file; of a recording's file the largest sites run, of one suite and stack. With the
    record of the run beside it, its moments have the names of phases.

    Raises Unreadable with a sentence where the file is no profile, is damaged, or has several suites or stacks."""
    file = Path(file)
    if not file.exists():
        from tlsmem.schema import recording_files

        file = recording_files.locate(file)
        if recording_files.is_summarised(file):
            require_clone("call stacks of recordings")
    start = read_beginning(file)
    if is_json(start, "tool_version"):
        from tlsmem.profile import profile_metadata

        return recorded(file, profile_metadata.load(file), progress)
    if is_json(start, "key", "stack"):
        from tlsmem.profile import sites_reader

        found = sites_reader.profile_from_record(sites_run(file, suite, stack))
        found.file = str(file)
        return found
    return with_record(read(file, start, progress))


def read(file: Path, start: bytes, progress: Progress | None) -> Profile:
    """Any program's."""
    if start.startswith(HEAPTRACK):
        from tlsmem.profile import heaptrack_reader

        found = heaptrack_reader.read_profile(file, progress)
    elif start.startswith(MASSIF):
        from tlsmem.profile import massif_reader

        found = massif_reader.read_profile(file, progress)
    elif start.startswith(DHAT_ZIP) or is_json(start, "dhatFileVersion"):
        from tlsmem.profile import dhat_reader

        found = dhat_reader.read_profile(file, progress)
    elif start.startswith(CALL_TREES):
        from tlsmem.profile import dhat_reader

        raise Unreadable(dhat_reader.describe_call_trees(file))
    elif start.startswith((HEAP_TEXT, JEMALLOC)):
        from tlsmem.profile import heap_text_reader

        return check_content(file, heap_text_reader.read_profile(file, progress))
    elif is_memray(start):
        from tlsmem.profile import memray_reader

        return check_content(file, memray_reader.read_profile(file, progress))
    elif begins_message(start):
        from tlsmem.profile import pprof_reader

        return check_content(file, pprof_reader.read_profile(file, progress))
    else:
        raise Unreadable(f"{file}: {'not a heap profile; ' if start else 'an empty file; '}{FORMS}")
    from tlsmem.profile import module_offsets

    module_offsets.relate_to_modules(found.stacks)
    if found.tool == "heaptrack":
        heaptrack_reader.name_emergency_pool(found)
    return check_content(file, found)


def check_content(file: Path, found: Profile) -> Profile:
    if not any(moment.live for moment in found.moments.values()) and not found.allocated:
        raise Unreadable(f"{file}: an empty profile: {profiler_name(found.tool)} saw nothing that was allocated")
    if not has_possible_sizes(found):
        raise Unreadable(
            f"{file}: damaged: its sizes add up to {MOST_BYTES >> 60} EiB or more, which no program allocates"
        )
    return found


def has_possible_sizes(found: Profile) -> bool:
    """Return whether all bytes and blocks, and their sums, fit into the 63 bits that files for other tools have."""
    live = (held.blocks or 0 for moment in found.moments.values() for held in moment.live.values())
    allocated = (found.allocated or {}).values()
    totals = [moment.bytes for moment in found.moments.values()]
    totals += [sum(live), sum(one.bytes for one in allocated), sum(one.blocks for one in allocated)]
    return max(totals) < MOST_BYTES


def read_beginning(file: Path) -> bytes:
    """Unpacked. Raises Unreadable with a sentence when the file cannot be read, as a pipe, which would never end, or
    nothing of it can be unpacked."""
    if file.is_dir():
        raise Unreadable(f"{file}: a directory, not a heap profile; {FORMS}")
    start = b""
    try:
        for chunk in read_chunks(file):
            start += chunk
            if len(start) >= START:
                break
    except TornFile:  # of what is there, its reader will tell
        if not start:
            raise Unreadable(f"{file}: cut off or damaged: nothing of it can be unpacked") from None
    return start[:START]


def is_profile_or_recording(file: Path) -> bool:
    """Whether it is a profile, the record of one, or a recording; whole or not."""
    try:
        start = read_beginning(file)
    except Unreadable:
        return False
    keys = [("tool_version",), ("key", "stack"), ("dhatFileVersion",)]
    return (
        begins_message(start)
        or is_memray(start)
        or start.startswith((*HEAPTRACK, MASSIF, DHAT_ZIP, HEAP_TEXT, JEMALLOC))
        or any(is_json(start, *one) for one in keys)
    )


def is_json(start: bytes, *keys: str) -> bool:
    return start.lstrip().startswith(b"{") and all(f'"{key}"'.encode() in start for key in keys)


def recorded(file: Path, record: "ProfileRecord", progress: Progress | None) -> Profile:
    """What lies beside the record `file`."""
    if record.file is None:
        from tlsmem.profile import sites_reader
        from tlsmem.store import read_runs

        found = sites_reader.profile_from_record(read_runs.load_lines([record.run])[0])
        found.file = str(file)
        return found
    profile = file.with_name(record.file)
    return with_record(read(profile, read_beginning(profile), progress))


def with_record(found: Profile) -> Profile:
    """Whatever is wrong with the record beside it is a warning: the profile can be read without."""
    if not Path(found.file).with_suffix(".json").exists():
        return found
    from tlsmem.profile import profile_metadata

    try:
        record = profile_metadata.load_record_beside(found.file)
        if record and record.tool != found.tool:
            raise Unreadable(
                f"{Path(found.file).stem}.json beside it is the record of a profile by {profiler_name(record.tool)}"
            )
    except Unreadable as error:
        found.warnings.append(error.without_file(found.file))
        return found
    if record:
        from tlsmem.store import read_runs

        (found.run,) = read_runs.load_lines([record.run])
        found.sessions_of_role = record.run.sessions // 2
        name_phases(found, list(dict.fromkeys(phase.phase for phase in record.run.phases)))
    return found


def name_phases(found: Profile, phases: list[str]) -> None:
    """In place of the numbers that heaptrack's and massif's moments have; DHAT's are named by its zip."""
    names = [name for name in found.moments if is_phase_end(name)]
    if found.tool == "dhat" or not names:
        return
    if len(names) != len(phases):
        found.warnings.append(
            f"{len(names)} moments of {len(phases)} phases are in it, so they have numbers, not names"
        )
        return
    named = dict(zip(names, phases, strict=True))
    for moment in found.moments.values():
        moment.name = named.get(moment.name, moment.name)
    found.moments = {moment.name: moment for moment in found.moments.values()}


def sites_run(file: Path, suite: str | None, stack: str | None) -> "Record":
    """The largest; one with both roles in a process before others, and the latest of equals."""
    every = list(loaded(file))
    runs = [run for run in every if run.meter == "sites" and run.status == "measured"]
    if not runs:
        raise Unreadable(f"{file}: this recording has no sites run{way_to_record(every, suite, stack)}")
    for what, name in (("stack", stack), ("suite", suite)):
        there = dict.fromkeys(getattr(run, what) for run in runs)
        if name is None and len(there) > 1:
            raise Unreadable(f"{file}: sites runs of several {what}s: choose one with --{what}: {', '.join(there)}")
        if name and name not in there:
            way = way_to_record(runs, suite, stack)
            raise Unreadable(f"{file}: no sites run of the {what} {name}, but of {', '.join(there)}{way}")
        runs = [run for run in runs if name in (None, getattr(run, what))]
    return max(runs, key=lambda run: (run.roles == "together", run.env == "lab", run.sessions, run.started_at))


def way_to_record(runs: "Sequence[Record]", suite: str | None, stack: str | None) -> str:
    """Return the end of a sentence: how a sites run is recorded, of what was not named as the first of the runs."""
    from tlsmem.config.recording_command import advise_recording

    if not runs:
        return ""
    return f"; {advise_recording('mem', stack or runs[0].stack, suite or runs[0].suite, 'sites').sentence}"


def loaded(file: Path) -> "Iterable[Record]":
    from tlsmem.store import read_runs

    try:
        return read_runs.load(file)
    except UserError as error:
        raise Unreadable(str(error)) from None
