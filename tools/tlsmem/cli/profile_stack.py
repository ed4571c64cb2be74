"""A profile of one run of a stack, taken or found beside a recording, and what can be asked of it."""

import argparse
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from tlsmem.base import paths, repository, stdout
from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.build import trees
from tlsmem.cli.campaign_plan import slots_cpus
from tlsmem.config import definitions
from tlsmem.config.choices import MARKDOWN, TABLE
from tlsmem.config.matrix import has_tls
from tlsmem.config.recording_command import why_no_call_sites, why_unseen
from tlsmem.config.run import SYSTEM, Run
from tlsmem.explore import profile_tables
from tlsmem.profile import open_profile, profile_metadata
from tlsmem.profile.capture import profile_store, profilers
from tlsmem.profile.capture.profile_store import ProfilePlace
from tlsmem.profile.capture.profiled_run import ProfileSubject
from tlsmem.profile.capture.profilers import MARKS_LIBRARY, PROFILERS
from tlsmem.profile.errors import CaptureFailed, CaptureTimeout, Unreadable
from tlsmem.profile.profile_metadata import ProfileRecord
from tlsmem.run.provenance import Provenance, read_manifest
from tlsmem.schema.recording_name import default_recording
from tlsmem.tables import render

TIME_S = {"sites": (60, 1 / 50), "heaptrack": (60, 1 / 10), "massif": (120, 1 / 5), "dhat": (120, 1 / 2)}  # a session


def subject(given: argparse.Namespace) -> ProfileSubject:
    """Return what is profiled. Raises UserError when it cannot be profiled here."""
    refuse(given.stack, given.tool)
    suite, sessions = given.suite if has_tls(given.stack) else "none", given.n
    run = Run(given.stack, suite, SYSTEM, "all", sessions, "sites" if given.tool == "sites" else "rss", 1)
    fixed, each = TIME_S[given.tool]
    known = Provenance(definitions.suites(), definitions.allocators()), given.timeout or fixed + each * sessions
    if given.tool == "sites":
        return ProfileSubject("sites", run, *known, version=known[0].declared(run)["meter_sha256"])
    profiler = PROFILERS[given.tool]
    return ProfileSubject(profiler.tool, run, *known, unrandomised(), profiler.version())


def refuse(stack: str, tool: str) -> None:
    """What cannot be seen, and what is not built."""
    if reason := why_unseen(stack):
        raise CaptureFailed(reason)
    if tool == "sites" and (reason := why_no_call_sites(stack)):
        raise CaptureFailed(f"{reason}; TOOL=heaptrack unwinds without them")
    read_manifest(stack)
    library = {"sites": HEAP_METER, "massif": MARKS_LIBRARY, "dhat": MARKS_LIBRARY}.get(tool)
    if library and not (ROOT / library).exists():
        raise CaptureFailed(f"{library}: it is not there; make it with `make {library}`")


def unrandomised() -> tuple[str, ...]:
    before = profilers.no_aslr_command()
    if not before:
        print("memtest: setarch may not switch address randomisation off here: addresses are random", file=sys.stderr)
    return before


def sibling(place: ProfilePlace, record: ProfileRecord) -> Path | None:
    """Another stack's profile of the same suite, N and tool, which this one can be compared with."""
    for file in sorted(place.folder.glob(f"*{place.stem.removeprefix(record.run.stack)}.json")):
        with suppress(Unreadable):
            other = ProfilePlace(place.folder, file.stem).profile(profile_metadata.load(file))
            if file != place.record and other.exists():
                return other
    return None


def tell(place: ProfilePlace, record: ProfileRecord) -> None:
    """Where it lies, and what can be asked of it."""
    file, other = place.profile(record), sibling(place, record)
    extra = place.file(".xtree.zip")
    name = shlex.quote(paths.shorten(file))
    inspect = f"tools/tls-memtest heap read {name}"
    with stdout.raise_write_errors():
        print(f"profile: {paths.shorten(file)}")
        if extra.exists():
            print(f"for KCachegrind, by phase: {paths.shorten(extra)}")
        print(f"by phase and role: {inspect} --phase established --role server")
        print(f"as a picture: {inspect} --flamegraph {shlex.quote(f'{place.stem}.html')}")
        if other:
            print(f"what changed: tools/tls-memtest heap read --diff {shlex.quote(paths.shorten(other))} {name}")


def run(given: argparse.Namespace) -> None:
    """Raises UserError when the profile cannot be taken."""
    trees.resolve_named(given)
    recording = given.out or default_recording()
    repository.check_recording(recording, named=bool(given.out))
    try:
        asked = subject(given)
        place = profile_store.profile_place(recording, asked)
        record = None if given.fresh else profile_store.load_kept(place, asked)
        if record:
            print(
                f"memtest: {paths.shorten(place.record)} is there already; --fresh (make: FRESH=1) takes it again",
                file=sys.stderr,
            )
            profile = open_profile.open_profile(place.profile(record))
        else:
            record, profile = profile_store.capture_profile(place, asked, slots_cpus(given.jobs))
    except CaptureTimeout as error:
        raise UserError(f"{error}; raise the limit with --timeout SECONDS") from None
    profile.file = paths.shorten(place.profile(record))
    for warning in profile.warnings:
        print(f"memtest: {profile.file}: {warning}", file=sys.stderr)
    render.print_all(profile_tables.overview(profile), given.format)
    if given.format in (None, TABLE, MARKDOWN):
        tell(place, record)
