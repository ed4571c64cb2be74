"""tls-memtest diff: what changed between recordings, builds of a library, or its releases."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tlsmem.base import repository, termination
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.printable import printable_text
from tlsmem.cli import checks
from tlsmem.cli.command import IN_WORDS, TREES, Command, CommandParser, campaign_default, each
from tlsmem.cli.options import REQUIRED, Words
from tlsmem.cli.show import ALL_RELEASES, INTO, ON_TERMINAL, RELEASE_SUITES
from tlsmem.config import choices, releases, toml_tables
from tlsmem.config.choices import ASPECTS, COMPARED_STAGES
from tlsmem.schema.roles import ROLES, Role

if TYPE_CHECKING:
    from tlsmem.topics.releases.walk import ReleaseWalk

USAGE, SIGNALLED = 2, 128
UNCHANGED, CHANGED = 0, 3
BAD, SKIP = 1, 125  # of git bisect
BISECT = {"--bisect", "BISECT=1"}
OF_BISECT = {UNCHANGED: 0, CHANGED: BAD}


def check_recordings(given: argparse.Namespace, asked: CommandParser) -> None:
    """What cannot go together, before anything is read."""
    if len(given.recording) > 2:
        raise UserError(f"two recordings are compared, and {len(given.recording)} were named", USAGE)
    if len(given.recording) == 1 and not given.by:
        raise UserError("give OLD and NEW, or one recording with --by ASPECT OLD NEW", USAGE)
    if given.by and given.by[0] not in ASPECTS:
        near = suggest_nearest(given.by[0], ASPECTS)
        raise UserError(f"--by {given.by[0]}: it is one of {', '.join(ASPECTS)}{near}", USAGE)
    if given.by and given.by[1] == given.by[2] and len(given.recording) == 1:
        raise UserError(f"--by {' '.join(given.by)}: OLD and NEW are the same", USAGE)
    if given.by and given.by[0] == "stack" and given.stack:
        raise UserError("--by stack names the two stacks; leave --stack out", USAGE)
    if given.into and given.format:
        raise UserError("--into takes Markdown; leave --format out", USAGE)


def diff_recordings(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.compare import compare_recordings

    return compare_recordings.compare(given, asked)


def check_builds(given: argparse.Namespace, asked: CommandParser) -> None:
    termination.end_on_signals()
    checks.check_runs(given)
    if given.n is not None and given.n < 4:
        raise UserError(
            f"N={given.n}: a cost per session needs two numbers of sessions, N/2 and N; the least N is 4", USAGE
        )


def diff_builds(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.compare import two_builds
    from tlsmem.compare.counted_changes import CountedChanges

    return two_builds.compare(given, CountedChanges(given.at_least, given.site, given.worse_only))


def judge_for_bisect(step: Callable[[], int | None], words: Sequence[str]) -> int | None:
    """Run a step; with --bisect return the status for `git bisect run`. No commit is bad by what went wrong here: git
    is told to skip it; but a signal ends the search."""
    if not BISECT.intersection(words):
        return step()
    status: int | None
    try:
        status = step()
    except UserError as error:
        print(printable_text(f"memtest: {error}"), file=sys.stderr)
        status = error.status
    except Exception as error:
        print(f"memtest: {type(error).__name__}: {error}", file=sys.stderr)
        status = SKIP
    status = status or UNCHANGED
    return OF_BISECT.get(status, status if status > SIGNALLED else SKIP)


def check_releases(given: argparse.Namespace, asked: CommandParser) -> None:
    if given.recording:
        return
    if given.into:
        raise UserError("--into is for a page that shows a RECORDING: name one", USAGE)
    if given.out:
        repository.check_recording(given.out)
    with checks.refuse():
        given.stacks = releases.select_stacks(given.library, toml_tables.read_tables("stacks"), given.versions)


def diff_releases(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.tables import table_command

    if given.recording:
        return table_command.run_command(given, partial(diff_recorded_releases, asked=asked))
    termination.end_on_signals()
    with raise_user_errors(given.library):
        return diff_built_releases(given, asked)


def diff_recorded_releases(given: argparse.Namespace, asked: CommandParser) -> int:
    """Raises ValueError with a sentence."""
    from tlsmem.schema import recording_files
    from tlsmem.topics.releases import walk

    show_walks(
        walk.load_walks(given.recording, given.library, given.versions, given.suites, chosen_roles(given), given.roles),
        given,
        asked,
    )
    return 1 if recording_files.skipped_lines else 0


def diff_built_releases(given: argparse.Namespace, asked: CommandParser) -> int:
    """Raises BuildFailed, ValueError or OSError with a sentence."""
    from tlsmem.build.commands import CONSOLE, BuildFailed
    from tlsmem.compare import build_releases, two_builds
    from tlsmem.stats.selection import select
    from tlsmem.topics.releases import walk, walk_picture

    out = two_builds.claim(given.out or Path(f"build/versions/{given.library}"))
    built = build_releases.ReleaseBuilds(given.stacks)
    if len(built.stacks) < 2:
        raise BuildFailed(f"of {given.library} {len(built.stacks)} releases were built, and a walk needs two")
    suites = given.suites or list(choices.RELEASE_SUITES)
    found = select(build_releases.record_runs(built.stacks, suites, out), built.stacks, suites)
    walks = walk.build_walks(found, built.stacks, chosen_roles(given), given.roles)
    show_walks(walks, given, asked)
    for file in walk_picture.save_figure(walks, given.stage, out / f"versions-{given.library}"):
        CONSOLE.print(f"compare-versions: {file}")
    return built.status


def chosen_roles(given: argparse.Namespace) -> Sequence[Role]:
    return ROLES if given.role == choices.BOTH else (given.role,)


def show_walks(walks: "Sequence[ReleaseWalk]", given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.tables import table_command
    from tlsmem.topics.releases import walk_tables

    made = walk_tables.build_tables(walks, given.library, given.stage, given.table)
    table_command.deliver(made, given, asked)


BUILDS = Command(
    "diff builds",
    "what a patch changes: two builds of a library, measured and compared",
    {
        "a": REQUIRED,
        "b": REQUIRED,
        "n": campaign_default("n", "compare", is_set=True),
        "suites": campaign_default("suites", "compare"),
        **TREES,
        "sides": "both",
        "rss": Words("none: live heap alone"),
        "out": Words("build/compare"),
        "format": ON_TERMINAL,
        **each("bisect", "at least", "site", "worse only", "output text", *IN_WORDS),
    },
    diff_builds,
    """Build a library twice, measure both, and say what changed: a commit against another, or against a directory.

A side is a stack of memtest/stacks.toml, or LIBRARY@git:REVISION, or LIBRARY@path:DIRECTORY, where LIBRARY may have
variants (rustls+ring). Both are built at once, each tree once; the originals are not changed.

Exit status: 0 no change, 3 changed, 1 a side could not be built or measured, 2 usage. With --bisect, for
`git bisect run`: 0 as A is, 1 otherwise, 125 if there is no verdict. --at-least, --site and --worse-only say which
changes count for it; all are shown.""",
    r"""  tools/tls-memtest diff builds --a openssl@git:openssl-3.5.5 --b openssl@path:. --role server  in the clone
  tools/tls-memtest diff builds --a openssl@3.4.1 --b openssl@3.5.5 --suites tls13-rsa-aes256
  tools/tls-memtest diff builds --a rustls+ring@git:v/0.23.46 --b rustls+ring@git:main --git ~/src/rustls
  git bisect run ~/tls-memtest/tools/tls-memtest diff builds --bisect --a openssl@git:GOOD --b openssl@git:HEAD
  git bisect run ~/tls-memtest/tools/tls-memtest diff builds --bisect --a openssl@git:GOOD --b openssl@git:HEAD \
      --worse-only --at-least 100B --site ssl_cert_dup       only what grew by 100 B, allocated below this function""",
    check_builds,
    target="compare",
    around=judge_for_bisect,
)
COMMANDS = (
    Command(
        "diff recordings",
        "what changed from one recording to another",
        each("recordings compared", "into", "by aspect", "force", "only stack pair", "only suite", "only allocator")
        | each("only window", "only roles", "only env", "only cpu", "role compared", "meter", "output text", *IN_WORDS)
        | {"phases": Words(", ".join(COMPARED_STAGES)), "format": ON_TERMINAL},
        diff_recordings,
        f"""\
What changed from one recording to another, or from one selection of a recording to another: per suite, role, phase
and meter, whether the change exceeds noise, and which call sites the extra live heap comes from.

OLD and NEW are directories under data/, or files of them. To compare within one recording, use --by ASPECT OLD NEW, for
example --by allocator system jemalloc. Runs whose declared settings differ otherwise are not compared; the output
names the difference.

Exit status: 0 no change, 3 changed, 1 nothing could be compared, 2 usage, or a recording that cannot be read. With
--into: 0 if written.
{INTO}""",
        """\
  tools/tls-memtest diff recordings OLD NEW
  tools/tls-memtest diff recordings OLD NEW --stack openssl@3.4.1=openssl@3.5.5    one library under two names
  tools/tls-memtest diff recordings data/2026-11-22-amd-epyc --by stack openssl@3.4.1 openssl@3.5.5
  tools/tls-memtest diff recordings RECORDING --by allocator system jemalloc --meter rss
  tools/tls-memtest diff recordings data/2026-11-22-amd-epyc --by compiler gcc clang --role server
  tools/tls-memtest diff recordings OLD NEW --suite tls13-rsa-aes256 --phase "server 1" --phase all""",
        check_recordings,
    ),
    BUILDS,
    Command(
        "diff releases",
        "a library's releases: memory by bucket, a table and a picture",
        {"library": REQUIRED, "recording or none": None, "versions": ALL_RELEASES, "suites": RELEASE_SUITES}
        | {"sides": "both", "stage": "established", "roles used": Words("what most releases have")}
        | each("table releases", "into", "output text", *IN_WORDS)
        | {"out": Words("build/versions/LIB"), "format": ON_TERMINAL},
        diff_releases,
        f"""\
Compare the releases of a library: live heap of a session by stage and by bucket, and what each release changed, as
tables and a picture.

With a RECORDING, this shows what it has. Without one, it builds all releases of the library, two at a time, and
measures them at N = 100 and 200. A release that cannot be built is left out with a message; the exit status is then 77
if its registry no longer offers the source, else 1.
{INTO}""",
        """\
  tools/tls-memtest diff releases --library openssl                       builds and measures every release
  tools/tls-memtest diff releases --library rustls+aws-lc --suites tls13-rsa-aes256-pq --role server
  tools/tls-memtest diff releases data/2026-11-22-amd-epyc --library openssl --table buckets --stage idle
  tools/tls-memtest diff releases data/2026-11-22-amd-epyc --library openssl --versions 3.4.1,3.5.5""",
        check_releases,
        target="compare-versions",
    ),
)
