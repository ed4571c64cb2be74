"""tls-memtest heap: the heap of any program, live or from a profile."""

import argparse
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tlsmem.base import venv
from tlsmem.base.repository import require_clone
from tlsmem.cli import checks
from tlsmem.cli.command import CORE, TREES, Command, CommandParser, each
from tlsmem.cli.options import Words
from tlsmem.cli.output import PICTURES
from tlsmem.cli.show import INTO, ON_TERMINAL
from tlsmem.config import choices
from tlsmem.config.choices import OF_ONE_PROFILE, OF_RUN, PROFILE_FILES, VIEWS, flamegraph_suffix

if TYPE_CHECKING:
    from tlsmem.census.watch import WatchOptions
    from tlsmem.monitor.watch import ReportOptions

NAMED = ("phase", "filter", "suite", "stack", "into", *PROFILE_FILES)
NOT_OF_DIFFS = ("by", *OF_ONE_PROFILE, *(view for view in VIEWS if view != "tls"))
NOT_OF_MOMENTS = ("phase", "force")
OF_ALL = {"buckets": "every phase and role", "sizes": "every call site"}
NOT_OF_ALL = {"buckets": ("phase", "role", "filter", "by", "top"), "sizes": ("by", "top")}
WATCH = each("growth", "connections counted", "once", "ndjson") | {
    "interval": None,
    "listen": Words("off"),
    "host": None,
}
INTERVAL_S = 1.0
CENSUS_S = 10.0  # between two counts, with --listen or a picture
STATUS = """\
Signals are passed on to the command, and the exit status is the command's (128 + the signal's number if a signal
ended it). The command runs to its end even if nobody reads the reports. If the command exits with 0 but a part of it
was not counted, the exit status is 125 and a sentence names the part: a program that is statically linked, was started
without LD_PRELOAD (`env -i`), has an allocator of its own, or took 2 MiB or more from the OS by itself, if that is at
least 10 % of what the meter counted."""


def check_watch(given: argparse.Namespace, asked: CommandParser) -> None:
    if given.host and not given.listen:
        asked.error("--host also needs --listen")
    if given.once and (given.listen or given.growth or given.interval):
        asked.error("--once gives one report: without --listen, --growth and --interval")


def check_run(given: argparse.Namespace, asked: CommandParser) -> None:
    if not given.command:
        asked.error("give -- and a COMMAND; a process that runs under the meter is followed by `heap attach PID`")
    check_watch(given, asked)
    if given.once and given.connections:
        asked.error("with a COMMAND, --once reports when it has ended: then there are no --connections to count")


def report_options(given: argparse.Namespace) -> "ReportOptions":
    from tlsmem.monitor.watch import ReportOptions

    return ReportOptions(
        interval_s=given.interval or INTERVAL_S,
        once=given.once,
        json=given.json,
        growth=given.growth,
        ports=given.connections or (),
        listen=given.listen,
        hosts=given.host or (),
        out=given.out,
    )


def run(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.monitor import watch

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # the command goes on when nobody reads its reports any more
    return watch.follow(given.command, report_options(given))


def attach(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.monitor import watch

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a scraper that goes away ends nothing
    return watch.attach(given.pid, report_options(given))


def check_census(given: argparse.Namespace, asked: CommandParser) -> None:
    if bool(given.pids) == bool(given.service):
        asked.error("give PIDs, core files, or --service NAME; pgrep NAME lists the processes of a program")
    cores = [one for one in given.pids or () if isinstance(one, Path)]
    if cores and len(cores) < len(given.pids):
        asked.error("give either PIDs or core files: a core does not say what is resident")
    if given.sysroot and not cores:
        asked.error("--sysroot also needs a core file")
    if given.host and not given.listen:
        asked.error("--host also needs --listen")
    is_picture = bool(given.output and given.output.suffix in PICTURES)
    if given.every is None and (given.listen or is_picture):
        given.every = CENSUS_S
    if not given.every:
        return
    if cores:
        asked.error("a core does not change; leave --every, --listen and pictures out")
    if given.output and not is_picture:
        asked.error("--every prints a line for each count; leave -o out, or give a picture: -o FILE.png")
    if given.output and not given.output.parent.is_dir():
        asked.error(f"-o {given.output}: there is no directory {given.output.parent}; make it first")
    if given.format not in (None, choices.JSON):
        asked.error(f"--every prints a line for each count, with --json an object; leave --format {given.format} out")


def census(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.census import census_command

    places = given.pids or ()
    if not given.every:
        return census_command.run(places, given.service, given.format, str(given.sysroot or ""))
    return census_command.follow(places, given.service, watch_options(given))


def watch_options(given: argparse.Namespace) -> "WatchOptions":
    """Return how the census is taken again and again. Raises UserError where the port is taken."""
    from tlsmem.census.watch import WatchOptions
    from tlsmem.monitor.endpoint import Endpoint

    draw = None
    if given.output:
        venv.activate()  # matplotlib is none of the packages of the core
        from tlsmem.plots import census_over_time  # slow to import, and so before the first look

        draw = partial(census_over_time.save_picture, output=given.output)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a scraper that goes away ends nothing
    for ending in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: the picture is drawn, and what grew is said
        signal.signal(ending, signal.default_int_handler)
    return WatchOptions(
        every_s=given.every,
        is_json=given.format == choices.JSON,
        endpoint=Endpoint(given.listen, given.host or ()) if given.listen else None,
        draw=draw,
        waits=bool(given.service),
    )


def check_read(given: argparse.Namespace, asked: CommandParser) -> None:
    """What cannot go together, before anything is read."""
    with checks.refuse():
        check_views(given)


def check_views(given: argparse.Namespace) -> None:
    """Raises ValueError with a sentence."""
    sources = given.diff or [given.profile]
    for name in NAMED:
        if getattr(given, name) == "":
            raise ValueError(f"--{name} is empty; give a value, or leave it out")
    if not all(sources):
        after = f" before --folded, or as --folded={given.folded}" if given.folded not in (None, "-") else ""
        raise ValueError(f"give a PROFILE{after}, or --diff OLD NEW: two profiles, or with PROFILE two moments of it")
    for name in NOT_OF_MOMENTS:
        if given.diff and given.profile and getattr(given, name):
            both = f"--diff compares two moments of {given.profile}"
            raise ValueError(f"{both}: leave --{name} out; to compare two profiles, leave {given.profile} out")
    if given.force and not given.diff:
        raise ValueError("--force needs --diff; leave it out")
    for name in NOT_OF_DIFFS:
        if given.diff and getattr(given, name):
            raise ValueError(f"--{name} needs a single profile; leave it out with --diff")
    for view, name in ((view, name) for view, names in NOT_OF_ALL.items() for name in names):
        if getattr(given, view) and getattr(given, name):
            raise ValueError(f"--{view} covers {OF_ALL[view]}; leave --{name} out")
    for name in ("role", "filter"):
        if given.tls and getattr(given, name):
            raise ValueError(f"--tls covers every call stack; leave --{name} out")
    for name in ("format", *PROFILE_FILES):
        if given.into and getattr(given, name):
            raise ValueError(f"--into writes Markdown tables; leave --{name} out")
    if given.by in OF_RUN and given.phase:
        raise ValueError(f"--by {given.by} covers the whole run; leave --phase out")
    if given.flamegraph:
        flamegraph_suffix(given.flamegraph)
        require_clone("a flamegraph")


def read(given: argparse.Namespace, asked: CommandParser) -> int | None:
    if given.parquet:
        venv.activate()  # DuckDB is none of the packages of the core
    from tlsmem.explore import inspect_profile

    return inspect_profile.show_profile(given, asked)


def check_record(given: argparse.Namespace, asked: CommandParser) -> None:
    checks.check_runs(given)


def record(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.cli import profile_stack

    profile_stack.run(given)


RECORD = Command(
    "heap record",
    "profile a session: which call stacks hold its bytes at the end of every phase",
    {"n": "1000", "stack profiled": "openssl@3.5.5", "suite profiled": choices.PLAN_SUITE}
    | {"tool": "heaptrack", "jobs": Words("2")}
    | TREES
    | {"fresh": None}
    | {"out": Words("data/local/DATE-CPU-pPATH"), "timeout": Words("by the size of the run"), "format": ON_TERMINAL},
    record,
    """Profile one run of a stack: which call stacks hold the bytes, at the end of every phase.

The stack runs under a profiler, with the system's allocator and without address randomisation, so the run does not
measure RSS or time. The profile is kept beside a recording, in OUT/profiles: the tool's own file, compressed, and the
record of the run. A profile that is already there is not taken again.""",
    """\
  tools/tls-memtest heap record                                     OpenSSL's sessions under heaptrack
  tools/tls-memtest heap record --stack rustls+aws-lc@0.23.46 --tool massif
  tools/tls-memtest heap record --tool dhat --n 100 --out /tmp/mine  minutes: a run for each phase""",
    check_record,
    target="profile",
)
COMMANDS = (
    Command(
        "heap run",
        "run a command and all that it starts under the heap meter",
        WATCH | {"interval": Words("1"), "out heap": Words("stderr")},
        run,
        f"""\
Run any command, and all that it starts, under the heap meter: requested bytes and blocks, live, at the peak, in all.

The meter is a library that is loaded when a program starts. A program that replaces itself by exec has a row before and
after. {STATUS}""",
        """\
  tools/tls-memtest heap run -- nginx -g 'daemon off;'     what the meter says goes to stderr
  tools/tls-memtest heap run --json --out heap.ndjson -- sh -c 'make | tail'
  tools/tls-memtest heap run --listen 127.0.0.1:9464 -- nginx -g 'daemon off;'     docs/how-to/watch.md""",
        check_run,
        CORE,
        splits_command=True,
    ),
    Command(
        "heap attach",
        "follow a process that runs under the heap meter, and its children",
        {"pid": None} | WATCH | {"interval": Words("1"), "out heap": Words("stdout")},
        attach,
        """Follow a process that `heap run` started, or one of its children, until it ends.

The meter is a library that is loaded when a program starts, and cannot be attached later. Reports show the bytes and
blocks that each program requested: live, at the peak, and in all.

Exit status: 0 when the process has ended, or after Ctrl-C; 1 if PID cannot be followed, if a part was not counted, or
if nobody could read the reports; 2 if the command line is wrong. A sentence on stderr says why.""",
        """\
  tools/tls-memtest heap attach 1234                          until it ends, or Ctrl-C
  tools/tls-memtest heap attach --once 1234                   as it is now; how to read it: docs/how-to/grows.md
  tools/tls-memtest heap attach --growth --connections port:8443 1234     what grows, and for each connection""",
        check_watch,
        CORE,
    ),
    Command(
        "heap census",
        "count the TLS sessions of running processes, and the bytes that they hold",
        each("pids", "service", "sysroot")
        | {"every": Words("once; with --listen or a picture 10"), "listen": Words("off"), "host": None}
        | each("output picture", "json")
        | {"format": ON_TERMINAL},
        census,
        """\
Count the TLS sessions of processes that run already, from outside: by library, role and state, with the bytes that
they alone hold, and what else is resident. Sessions whose socket is closed are probably leaked; a column counts them.

All figures come from /proc/PID. The command loads nothing into a process, does not stop it, and runs none of its code.
It takes the sizes of a library's structures from the machine code of the library's file. It reads memory only to tell
objects apart, and never stores or prints the contents. You need to be root or the user of the process. How to read it:
docs/how-to/census.md

A core file, of a crash or of `gcore PID`, gives the same counts; the program and its libraries must be there too.

OpenSSL and GnuTLS are counted, in programs that use malloc of glibc.

Exit status: 0 when all processes were counted; 1 when one of several was not, or when the only one has no TLS library
or heap that can be counted; 2 when the command line is wrong, or no process or core can be read. A sentence on stderr
says why. --every exits with 0 once it has counted.""",
        """\
  tools/tls-memtest heap census 1234 1235                two processes, and the sum of their memory
  tools/tls-memtest heap census --service haproxy        a systemd service, or all processes of this name
  tools/tls-memtest heap census core.1234                a core file, of a crash or of gcore
  tools/tls-memtest heap census --every 60 1234          a line each minute; after Ctrl-C what grew
  tools/tls-memtest heap census --every 10 -o census.png 1234        also a picture over time
  tools/tls-memtest heap census --service nginx --listen 127.0.0.1:9464      metrics for Prometheus
  tools/tls-memtest heap census --json 1234              the same figures, for programs""",
        check_census,
        CORE,
        streams="every",
    ),
    Command(
        "heap read",
        "which functions hold the memory in a heap profile of any program, or in a recording",
        each("profile", "into", "diff", "force", "suite", "stack")
        | {"moment": Words("the moment with the most live bytes; with --diff established")}
        | {"role owner": Words("all owners"), "by": Words("live bytes"), "top": Words(f"{choices.ROWS}")}
        | each(
            "output text",
            "sessions",
            "filter",
            "callers",
            "block sizes",
            "buckets",
            "tls shares",
            "folded",
            "speedscope",
            "pprof",
            "parquet",
            "flamegraph",
            "json",
        )
        | {"format": ON_TERMINAL},
        read,
        f"""Show which functions hold the memory in a heap profile, at which moment, and per session.

PROFILE is a file of any program by heaptrack, massif, DHAT, pprof (Go, C++), gperftools, tcmalloc, jemalloc or memray;
or a recording of this repository, of which the sites run is read. The summary says what its bytes are: requested bytes
or size classes, counted or estimated. A file that the program wrote itself has one moment, `dump`.

By default you see a summary, a session by phase, and the largest sites. Tables are drawn on a terminal and are Markdown
in a pipe, unless --format says otherwise.
{INTO}

Exit status: 1 if a part of the profile is missing, nothing matches --filter, or a file cannot be written; 2 if the
command line is wrong, or the profile is not there, of another kind, or damaged. A sentence on stderr says why.""",
        """\
  tools/tls-memtest heap read heaptrack.nginx.1234.zst                  any program's profile
  tools/tls-memtest heap read PROFILE --phase "server 1" --role server  call sites of a server's bytes at its peak
  tools/tls-memtest heap read PROFILE --phase end                       what was never freed
  tools/tls-memtest heap read PROFILE --tls --sessions 1000             which bytes are TLS, and per session
  tools/tls-memtest heap read PROFILE --by temporary --top 20           allocated and freed at once
  tools/tls-memtest heap read PROFILE --sizes --phase peak              how large the blocks are
  tools/tls-memtest heap read PROFILE --callers --filter 'X509|ASN1'    who called, as a tree
  tools/tls-memtest heap read PROFILE --sessions 1000                   per session, if there is no record beside it
  tools/tls-memtest heap read data/2026-11-22-amd-epyc --stack openssl@3.5.5 --suite tls13-rsa-aes256 --phase idle
  tools/tls-memtest heap read PROFILE --flamegraph flames.html          all moments, in one page
  tools/tls-memtest heap read PROFILE --folded - | flamegraph.pl        --folded comes after PROFILE
  tools/tls-memtest heap read PROFILE --phase peak --pprof peak.pb.gz   for go tool pprof
  tools/tls-memtest heap read --diff OLD NEW --phase established        what changed from one profile to another
  tools/tls-memtest heap read --diff OLD NEW --tls                      how much of that is TLS
  tools/tls-memtest heap read PROFILE --diff established closed         what a session gained from one phase to another
  tools/tls-memtest heap read PROFILE --diff "peak of client 2" idle    what a session's peak has that idle has not""",
        check_read,
        CORE,
    ),
    RECORD,
)
