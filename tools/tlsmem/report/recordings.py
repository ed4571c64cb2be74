"""What a report is made of: the newest recordings or those named, each read once and told apart by machine."""

import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.cache_file import compute_digest, digest_files
from tlsmem.base.errors import Usage
from tlsmem.base.paths import ROOT
from tlsmem.config import definitions, matrix
from tlsmem.config.run import Run
from tlsmem.schema import recording_files
from tlsmem.schema.configuration_records import FOLDER as CONFIGURATION
from tlsmem.schema.live_records import FOLDER as LIVE
from tlsmem.schema.recording_files import is_recording
from tlsmem.stats.comparability import MachineFields, machine_identity
from tlsmem.stats.selection import ASPECTS, run_from_record
from tlsmem.store.record import Record
from tlsmem.store.recordings import load_file, load_recording, load_together, split_live
from tlsmem.tables import recording_contents
from tlsmem.tables.recording_contents import RecordingContents
from tlsmem.tables.settings import describe_machine

EVERYTHING = dict.fromkeys(ASPECTS)  # nothing is asked for: all of it


class Recording(NamedTuple):
    """What one machine recorded: a recording that was made on several is as many of these."""

    name: str  # of its directory, with the machine's letter where it has several: unique in a report
    path: str  # as people type it, from the root of the repository
    records: list[Record]
    contents: RecordingContents  # runs of memory and of time that belong together
    machine: str  # its letter
    about_machine: str


def recording_arguments(*recordings: Recording) -> str:
    """Their paths in a command, each once: people call directories as they like."""
    return shlex.join(dict.fromkeys(one.path for one in recordings))


def picture_command(name: str, *recordings: Recording) -> str:
    """Return the command that draws this picture of a report again, from the recordings that it is made of."""
    return (
        f"tools/tls-memtest show report {recording_arguments(*recordings)} --format files --picture {name} -o pictures"
    )


def select_with_runs(recordings: Iterable[Recording], runs: Iterable[Record]) -> list[Recording]:
    """Return the recordings that have any of these runs, compared by identity: comparing values would read all."""
    wanted = set(map(id, runs))
    return [one for one in recordings if not wanted.isdisjoint(map(id, one.records))]


def load_recordings(paths: Sequence[Path]) -> dict[str, list[Record]]:
    """Path to its runs; each is read once, however often it is named. Raises ValueError with a sentence that names
    it."""
    return {path_from_root(path): read_records(path) for path in dict.fromkeys(map(resolve, paths))}


def resolve(path: Path) -> Path:
    """Return the whole path of a recording, which may be named without data/. Raises ValueError where there is none."""
    return recording_files.require_recording(path).resolve()


def digest(paths: Iterable[str]) -> str:
    """Return a digest of these recordings: their paths, which pictures may name, and all their files, in order."""
    paths = list(paths)
    files = [file for path in paths for file in list_every_file(ROOT / path)]
    return compute_digest(repr(paths).encode(), digest_files(files)).hex()


def list_every_file(recording: Path) -> list[Path]:
    """Return the files of a recording, those of its live runs and configurations among them."""
    below = [recording / name for name in (LIVE, CONFIGURATION) if (recording / name).is_dir()]
    return [file for folder in (recording, *below) for file in recording_files.list_files(folder)]


def path_from_root(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def read_records(path: Path) -> list[Record]:
    began = time.monotonic()
    found = load_silently(path)
    print(
        f"report: {path_from_root(path)}: {len(found):,} runs, read in {time.monotonic() - began:.1f} s",
        file=sys.stderr,
    )
    return found


def load_silently(path: Path) -> list[Record]:
    """Return the runs of a recording. Raises ValueError with a sentence that names it."""
    try:
        files = recording_files.list_files(path) if path.is_dir() else ()
        load_together(files)
        found = [run for file in files for run in load_file(file)]
        found = found or load_recording(path)
    except ValueError as error:
        raise ValueError(f"{path_from_root(path)}: {error}") from None
    if not found:
        raise Usage(f"{path_from_root(path)}: the recording is empty")
    return found


def by_machine(loaded: dict[str, list[Record]]) -> Iterator[Recording]:
    """From paths and their runs."""
    letters = letters_by_machine(record for records in loaded.values() for record in records)
    names = unique(loaded)
    for path, records in loaded.items():
        there = dict.fromkeys(machine_identity(record.machine) for record in records)
        for machine in there:
            own = [record for record in records if machine_identity(record.machine) == machine]
            letter = letters[machine]
            name = f"{names[path]} on {letter}" if len(there) > 1 else names[path]
            yield Recording(
                name, path, own, recording_contents.select(own, EVERYTHING), letter, describe_machine(own[0])
            )


def split_servers(named: Sequence[Path]) -> tuple[list[Path], list[Recording]]:
    """Return the named recordings with runs of harnesses, or that are none, and those that have runs of real servers
    alone."""
    others, of_servers = split_live(named)
    apart = dict.fromkeys(one.resolve() for one in of_servers if not is_recording(one))
    return others or [], [without_runs(one) for one in apart]


def without_runs(path: Path) -> Recording:
    """Return a recording whose runs are all in a folder of it that a topic reads."""
    return Recording(path.name, path_from_root(path), [], recording_contents.select([], EVERYTHING), "", "")


def unique(paths: Iterable[str]) -> dict[str, str]:
    """The last part of each path, or the whole where two end alike."""
    ends = [Path(path).name for path in paths]
    return {path: end if ends.count(end) == 1 else path for path, end in zip(paths, ends, strict=True)}


def letters_by_machine(records: Iterable[Record]) -> dict[MachineFields, str]:
    """A, B, ..., Z, AA, ... in the order in which they are met."""
    identities = dict.fromkeys(machine_identity(record.machine) for record in records)
    return {machine: letters(at) for at, machine in enumerate(identities)}


def letters(number: int) -> str:
    before, at = divmod(number, 26)
    return (letters(before - 1) if before else "") + chr(ord("A") + at)


# Campaigns: of each the newest recording with more than half.
NEEDED = (
    "mem",
    "stacks",
    "deployed-config",
    "common-suites",
    "stall",
    "contexts",
    "churn",
    "throughput",
    "handshake",
)
# With more than a quarter, at any number of sessions, which their sections tell: many stacks cannot do these.
NEEDED_AT_ANY_N = ("post-quantum", "chains", "resumption", "resumption-stores", "c1m")
# Scenarios of which sections show each stack's newest runs from any recording, as for many sessions of one role.
OF_EACH_STACK = ("stall", "contexts", "churn")
MANY_SESSIONS = 20_000  # of both roles


def load_newest(data: Path, local: Path | None = None) -> dict[str, list[Record]]:
    """Path to its runs; no older ones are read once all are found. Where no recording has any of it, the newest alone.

    A recording is kept for a campaign, or for runs of OF_EACH_STACK that no newer one has.

    `data` has the recordings of the repository, `local` the user's own, the newest of which is always read.
    Raises ValueError with a sentence when there is none at all."""
    wanted = {name: runs_of_campaign(name) for name in (*NEEDED, *NEEDED_AT_ANY_N)}
    kept: dict[str, list[Record]] = {}
    known: set[Run] = set()
    newest: dict[str, list[Record]] = {}
    paths = by_age(data, local)
    own = next((path for path in paths if path.parent == local), None)
    live = next((path for path in paths if (path / LIVE).is_dir()), None)  # of real servers: the newest
    for path in paths:
        if not wanted and path not in (own, live):
            continue
        records = read_records(path)
        newest = newest or {path_from_root(path): records}
        there = set(map(run_from_record, records))
        there |= set(map(without_sessions, there))
        found = [name for name, runs in wanted.items() if least_share(name) * len(runs & there) > len(runs)]
        of_each_stack = runs_of_each_stack(records)
        if found or of_each_stack - known or path in (own, live):
            kept[path_from_root(path)] = records
            known |= of_each_stack
        wanted = {name: runs for name, runs in wanted.items() if name not in found}
    if not newest:
        raise ValueError(f"{path_from_root(data)}: no recording there; make mem N=1000 makes one, or name others")
    return kept or newest


def runs_of_each_stack(records: Iterable[Record]) -> set[Run]:
    """Return the measured runs that count wherever they were recorded, at no particular number of sessions."""
    return {
        without_sessions(run_from_record(one))
        for one in records
        if one.status == "measured"
        and (
            one.scenario in OF_EACH_STACK
            or (one.scenario == "memory" and one.roles.startswith("keep") and one.sessions >= MANY_SESSIONS)
        )
    }


def runs_of_campaign(name: str) -> set[Run]:
    """Return what to look for of a campaign."""
    runs = set(matrix.campaign_runs(definitions.campaigns()[name]))
    return set(map(without_sessions, runs)) if name in NEEDED_AT_ANY_N else runs


def least_share(name: str) -> int:
    """Return which part of a campaign a recording must have more of: 2 for a half."""
    return 4 if name in NEEDED_AT_ANY_N else 2


def without_sessions(run: Run) -> Run:
    """Return the run at no particular number of sessions."""
    return replace(run, sessions=0)


def by_age(data: Path, local: Path | None) -> list[Path]:
    """Recordings by their names, DATE-CPU, DATE-CPU-2 or DATE-CPU-pPATH: the newest first, of a day the user's own."""
    folders = (data, local) if local else (data,)
    dated = [one for folder in folders for one in folder.glob("[0-9]*-*-*-*") if is_recording(one)]

    def age(one: Path) -> tuple[str, bool, int, str]:
        again = re.search(r"-(\d+)$", one.name[10:])
        return one.name[:10], one.parent == local, int(again[1]) if again else 1, one.name

    return sorted(dated, key=age, reverse=True)
