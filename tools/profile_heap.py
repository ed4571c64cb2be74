#!/usr/bin/env python3
"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase.

The run is made under a profiler, on the system's allocator and without address randomisation; it is no measurement of
RSS or time. What it comes to is kept beside a recording, in OUT/profiles: the tool's own file, compressed, and the
record of the run. A profile of the same run that is there already is not taken again."""

# ruff: noqa: E402
import environment

environment.activate()

import argparse
import sys
from contextlib import suppress
from pathlib import Path

import definitions
import forms
import names
import repository
import shown
import stdout
from campaign import SYSTEM, Run, tls
from capture import profilers, store
from capture.failed import Failed, TooLong
from capture.one_run import Subject
from capture.profilers import MARKS, PROFILERS
from capture.store import Place
from definitions import ROOT
from machine import default_recording
from measure import slots_cpus
from preload import HEAP_METER
from profiles import profile_files, profile_records
from profiles.profile_records import ProfileRecord
from profiles.unreadable import Unreadable
from provenance import Provenance, manifest
from request import seconds
from views import profile_tables

EXAMPLES = """examples:
  tools/profile_heap.py                                     OpenSSL's sessions under heaptrack
  tools/profile_heap.py --stack rustls+aws-lc@0.23.46 --tool massif
  tools/profile_heap.py --tool dhat --n 100 --out /tmp/mine  minutes: a run for each phase"""

TIME_S = {"sites": (60, 1 / 50), "heaptrack": (60, 1 / 10), "massif": (120, 1 / 5), "dhat": (120, 1 / 2)}  # a session


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for knob, default in names.PROFILE.items():
        if knob == "FRESH":
            parser.add_argument("--fresh", action="store_true", help="take a profile again that is there already")
        else:
            meaning = f"{names.EVERY[knob]} (default: {default})"
            given = None if knob in ("OUT", "PREFIX") else default
            parser.add_argument(f"--{knob.lower()}", metavar=knob, default=given, help=meaning)
    parser.add_argument("--timeout", type=seconds, metavar="SECONDS", help="time limit of a run (default: by its size)")
    parser.add_argument(
        "--format", choices=forms.FORMATS, help="of tables; default: table on a terminal, else markdown"
    )
    given = parser.parse_args()
    asked = {knob: getattr(given, knob.lower()) for knob in names.PROFILE if knob != "FRESH"}
    names.insist({knob: value for knob, value in asked.items() if value is not None}, list(names.PROFILE))
    return given


def subject(given: argparse.Namespace) -> Subject:
    """Failed, or an exit with a sentence, when it cannot be profiled here."""
    refuse(given.stack, given.tool)
    suite, sessions = given.suite if tls(given.stack) else "none", int(given.n)
    run = Run(given.stack, suite, SYSTEM, "all", sessions, "sites" if given.tool == "sites" else "rss", 1)
    fixed, each = TIME_S[given.tool]
    known = Provenance(definitions.suites(), definitions.allocators()), given.timeout or fixed + each * sessions
    if given.tool == "sites":
        return Subject("sites", run, *known, version=known[0].declared(run)["meter_sha256"])
    profiler = PROFILERS[given.tool]
    return Subject(profiler.tool, run, *known, unrandomised(), profiler.version())


def refuse(stack: str, tool: str) -> None:
    """What cannot be seen, and what is not built."""
    if brought := definitions.stacks()[stack].brings:
        raise Failed(f"{stack}: brings its own allocator, {brought}, which neither meter nor profiler sees")
    manifest(stack)
    library = {"sites": HEAP_METER, "massif": MARKS, "dhat": MARKS}.get(tool)
    if library and not (ROOT / library).exists():
        raise Failed(f"{library}: it is not there; make it with `make {library}`")


def unrandomised() -> tuple[str, ...]:
    before = profilers.unrandomised()
    if not before:
        print("memtest: setarch may not switch address randomisation off here: addresses are random", file=sys.stderr)
    return before


def sibling(place: Place, record: ProfileRecord) -> Path | None:
    """Another stack's profile of the same suite, N and tool, which this one can be compared with."""
    for file in sorted(place.folder.glob(f"*{place.stem.removeprefix(record.run.stack)}.json")):
        with suppress(Unreadable):
            other = Place(place.folder, file.stem).profile(profile_records.load(file))
            if file != place.record and other.exists():
                return other
    return None


def tell(place: Place, record: ProfileRecord) -> None:
    """Where it lies, and what can be asked of it."""
    file, other = place.profile(record), sibling(place, record)
    extra = place.file(".xtree.zip")
    inspect = f"tools/inspect_heaptrack.py {shown.place(file)}"
    with stdout.checked():
        print(f"profile: {shown.place(file)}")
        if extra.exists():
            print(f"for KCachegrind, by phase: {shown.place(extra)}")
        print(f"by phase and role: {inspect} --phase established --role server")
        print(f"as a picture: {inspect} --flamegraph {place.stem}.html")
        if other:
            print(f"what changed: tools/inspect_heaptrack.py --diff {shown.place(other)} {shown.place(file)}")


def main() -> None:
    given = arguments()
    recording = Path(given.out) if given.out else default_recording()
    repository.insist(recording, named=bool(given.out))
    try:
        asked = subject(given)
        place = store.place(recording, asked)
        record = None if given.fresh else store.kept(place, asked)
        if record:
            print(
                f"memtest: {shown.place(place.record)} is there already; --fresh (make: FRESH=1) takes it again",
                file=sys.stderr,
            )
            profile = profile_files.open_profile(place.profile(record))
        else:
            record, profile = store.take(place, asked, slots_cpus(given.jobs))
    except TooLong as error:
        sys.exit(f"memtest: {error}: --timeout=SECONDS gives it more")
    except (Failed, Unreadable) as error:
        sys.exit(f"memtest: {error}")
    profile.file = shown.place(place.profile(record))
    for warning in profile.warnings:
        print(f"memtest: {profile.file}: {warning}", file=sys.stderr)
    forms.print_all(profile_tables.overview(profile), given.format)
    if given.format in (None, *forms.FORMATS[:2]):
        tell(place, record)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
