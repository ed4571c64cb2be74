"""Every option of every command, once: its flag, its meaning and its kind of value. Standard library only.

The module of each verb says which command takes which option, and with what default. From both come the parsers, what
`make` accepts and checks before anything is built, `--help`, completion in a shell, and docs/reference/options.md."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.base.repository import is_no_directory
from tlsmem.cli import kinds
from tlsmem.cli.kinds import (
    Build,
    Choice,
    Choices,
    Directory,
    File,
    Flag,
    Kind,
    Library,
    Multiplier,
    Names,
    Number,
    Numbers,
    Parsed,
    ServerNames,
    ServerStacks,
)
from tlsmem.config import amounts, choices
from tlsmem.config.table_names import TABLES
from tlsmem.config.toml_tables import read_tables, split_names
from tlsmem.schema.roles import ITSELF, OWNERS, PROCESSES, ROLES

TEXT = Kind()


class Words(str):
    """A default that is described: whoever takes the option works it out."""


@dataclass(frozen=True)
class CampaignDefault:
    """The default is what a table of memtest/campaigns.toml has under a key, or else `otherwise`."""

    campaign: str
    key: str
    otherwise: str = ""
    is_set: bool = False  # as the option's value; else the campaign itself has it


Default = str | CampaignDefault | None  # None: there is none, and nothing to say; a str may be Words
REQUIRED = Words("none: it is required")


@dataclass(frozen=True)
class Option:
    """One option, or, where the flag has no dashes, one argument."""

    flag: str
    help: str
    kind: Kind = TEXT
    metavar: str | tuple[str, ...] | None = None
    short: str = ""  # a flag of one letter
    alias: str = ""  # another flag of the same meaning
    repeat: bool = False  # may be given several times
    nargs: str | int | None = None
    const: object = None  # the value where only the flag stands
    dest: str = ""
    group: str = ""  # heading in --help
    exclusive: str = ""  # options of a command with the same word here exclude each other
    example: str = ""

    @property
    def is_positional(self) -> bool:
        return not self.flag.startswith("-")

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.short, self.flag, self.alias)))

    @property
    def name(self) -> str:
        """As the attribute of what was parsed."""
        return self.dest or self.flag.lstrip("-").replace("-", "_")

    @property
    def shown(self) -> str:
        """As a sentence has it: an argument as `--help` has it."""
        return self.metavar if self.is_positional and isinstance(self.metavar, str) else self.flag

    def describe_missing(self, for_make: bool) -> str:
        """Return a sentence about a required option that was not given: for make, or as a flag."""
        name, _, value = self.example.partition("=")
        if value and not for_make:
            name, value = self.flag, value
        given = f"{name}={value}" if value else self.example
        if isinstance(self.kind, Choice) and not given:
            return f"{self.shown} is missing: {self.kind.describe().replace('`', '')}"
        return f"{name if value else self.shown} is missing: {self.help}{f'; for instance {given}' if given else ''}"

    @property
    def variable(self) -> str:
        """As make takes it: `N` of `--n`."""
        return self.flag.lstrip("-").replace("-", "_").upper()


def parse_path(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty; give one, or leave the option out")
    return Path(text)


def parse_new_directory(text: str) -> Path:
    """A directory that is there, or can be made."""
    parse_path(text)
    if file := next((one for one in (Path(text), *Path(text).parents) if is_no_directory(one)), None):
        raise argparse.ArgumentTypeError(f"{file} is a file; {kinds.NAME_DIRECTORY}")
    return Path(text)


def parse_paths(text: str) -> list[Path]:
    return [*map(Path, split_names(text))]


PATH = Parsed(parse_path, "a path")
PATHS = Parsed(parse_paths, "paths, separated by spaces or commas")
CAMPAIGN = Names("campaign", single="a build takes the stacks of one campaign")
VERSIONS = Parsed(split_names, "versions, separated by spaces or commas")
NEW_DIRECTORY = Parsed(parse_new_directory, "a directory")
WHOLE = Parsed(int, "a whole number")
SIZE = Parsed(amounts.parse_size, "a size: `16GiB`")
BYTES = Parsed(amounts.parse_size_or_zero, "a size, or 0")
COUNT = Parsed(amounts.parse_count, "a number: `100000`, `10M`")
COUNT_OR_ZERO = Parsed(amounts.parse_count_or_zero, "a number, or 0")
PROCESS = Parsed(amounts.parse_process, "the number of a process, or a core file")
POSITIVE = Parsed(amounts.parse_positive, "a whole number from 1 on")
TIME = Parsed(amounts.parse_seconds, "a time: `200ms`, `10s`")
DURATION = Parsed(amounts.parse_duration, "a time above 0: `10s`")
RATE = Parsed(amounts.parse_rate, "a rate: `500/s`")
POSITIVE_RATE = Parsed(amounts.parse_positive_rate, "a rate above 0: `500/s`")
SHARE = Parsed(amounts.parse_share, "a share: `5%`, or a number")
SCHEDULER = Parsed(
    amounts.parse_scheduler, "the address of a Dask scheduler: `tls://10.0.0.1:8786`, or `tcp://` without TLS"
)
TEXT_FILE = "write into FILE.md, .csv, .json or .txt"
PICTURE = "FILE.png, FILE.svg, or FILE for both"
ONE_RECORDING = "a directory under data/, or one of its files"
SUITE_GROUP = "the suite in words, instead of its name; may be combined"
LOOK, HOW = "what to show", "how to show it; may be combined"
ONE_PROFILE = "a profile is of one run"
ONE_END = "each end has one stack"

OPTIONS: dict[str, Option] = {
    # What is measured
    "n": Option(
        "--n", "number of sessions, clients and servers together; even", Number(2, even=True), example="N=10000"
    ),
    "n c1m": Option(
        "--n", "number of live sessions of the role; more than 20 times WINDOW", Number(), example="N=100000"
    ),
    "n live": Option("--n", "numbers of connections, each in a run of its own", Numbers(10**7), example="N=10000"),
    "n shown": Option("--n", "sessions of the panels by phase", COUNT, "N"),
    "n peaks": Option("--n", "only this number of sessions in the table of peaks; may be repeated", COUNT, repeat=True),
    "server live": Option(
        "--server",
        "the servers to measure",
        ServerNames((*choices.LIVE_SERVERS, "openssl-s_server")),
        example="SERVER=nginx",
    ),
    "stack live": Option(
        "--stack",
        "the stacks on whose libraries the servers are built, from source; system, the default: as they are packaged",
        ServerStacks("stack"),
        example="STACK=awslc@5.12.0",
    ),
    "server configured": Option(
        "--server",
        "the servers to configure",
        Choices(choices.CONFIGURED_SERVERS),
        "NAMES",
    ),
    "what": Option("--what", "what the configuration has more of", Choices(choices.SETTINGS), "NAMES"),
    "sizes configured": Option("--sizes", "how many of it, each in a run of its own", Numbers(10**7), "NUMBERS"),
    "configuration recording": Option(
        "recording", "print the tables of this recording's configurations; nothing runs", PATH, nargs="?"
    ),
    "a": Option(
        "--a",
        "the old build: a stack, LIBRARY@git:REVISION, or LIBRARY@path:DIRECTORY",
        Build(),
        example="A=openssl@git:openssl-3.5.5",
    ),
    "b": Option("--b", "the new build, in the same form as A", Build(), example="B=openssl@path:."),
    "library": Option(
        "--library",
        "a library with several releases in stacks.toml, with its variants: openssl, rustls+aws-lc",
        Library(),
        "NAME",
        alias="--lib",
        example="LIB=openssl",
    ),
    "versions": Option(
        "--versions", "only these releases of the library", VERSIONS, "NAMES", example="VERSIONS=3.0.22,3.5.5"
    ),
    "recordings": Option(
        "--recordings",
        "recordings to show: directories below data/",
        PATHS,
        "NAMES",
        example="RECORDINGS=data/2026-11-22-amd-epyc",
    ),
    "stack profiled": Option(
        "--stack",
        "the stack to profile (names: tls-memtest stacks), or a tree: LIBRARY@git:REVISION, LIBRARY@path:DIRECTORY",
        Names("stack", single=ONE_PROFILE, trees=True),
        example="STACK=rustls+ring@0.23.46",
    ),
    "stack c1m": Option(
        "--stack",
        "stacks to run one after the other (names: tls-memtest stacks)",
        Names("stack"),
        example="STACK=rustls+aws-lc@0.23.46",
    ),
    "stacks": Option(
        "--stacks",
        "stacks to measure, or all; others are compared with the first (names: tls-memtest stacks)",
        kinds.STACKS,
        example='STACKS="openssl@3.5.5 null@c"',
    ),
    "prefix": Option(
        "--prefix",
        "where the library of openssl@path is installed: the directory with include/ and lib/",
        Directory("where your library was installed: its include/ and lib/"),
        example="PREFIX=/opt/openssl",
    ),
    "suite profiled": Option(
        "--suite",
        "protocol configuration (memtest/suites.toml)",
        Names("suite", single=ONE_PROFILE),
        example="SUITE=tls12-rsa-aes256",
    ),
    "suites": Option(
        "--suites",
        "protocol configurations (memtest/suites.toml)",
        Names("suite"),
        example="SUITES=tls13-rsa-aes256,tls12-rsa-aes256",
    ),
    "tool": Option(
        "--tool",
        "profiler: sites (built in), heaptrack, massif or dhat",
        Choice(choices.PROFILERS),
        example="TOOL=massif",
    ),
    "roles": Option(
        "--roles",
        "together: both roles in one process; split: a process for each role",
        Choice(choices.PROCESSES_OF_ROLES),
        example="ROLES=split",
    ),
    "keep": Option(
        "--keep",
        "client or server: keep sessions of this role only; the other role's are freed after each window",
        Choice(ROLES),
        example="KEEP=server",
    ),
    "client": Option(
        "--client",
        "the client stack of a mixed pair, with SERVER=; each has its own process",
        Names("stack", single=ONE_END),
        example="CLIENT=openssl@3.5.5",
    ),
    "server": Option(
        "--server",
        "the server stack of a mixed pair, with CLIENT=; each has its own process",
        Names("stack", single=ONE_END),
        example="SERVER=rustls+ring@0.23.46",
    ),
    "env": Option(
        "--env",
        "lab: controlled environment; deployed: default system settings (randomised addresses, huge pages, four "
        "threads); or both",
        Choice(choices.ENVIRONMENTS),
        example="ENV=both",
    ),
    "allocator": Option(
        "--allocator",
        "the allocator of the whole process (memtest/allocators.toml)",
        Names("allocator", single="a process has one malloc"),
        example="ALLOCATOR=jemalloc",
    ),
    "cpu": Option(
        "--cpu",
        "CPU features that the library may use (memtest/cpus.toml)",
        Choice(choices.CPU_FEATURES),
        example="CPU=no-avx512",
    ),
    "options": Option(
        "--options",
        "library options: default; low-memory: options that make the library hold less between records; "
        "drop-peer-chain: its option for servers not to keep client certificates (docs/reference/stacks.md)",
        Choice(choices.LIBRARY_OPTIONS),
        example="OPTIONS=low-memory",
    ),
    "tickets": Option(
        "--tickets",
        "tickets that a server issues per session; library: the library's default",
        Number(0, word="library"),
        example="TICKETS=library",
    ),
    "data": Option(
        "--data",
        "short: each session sends and receives 1 KiB; full: also 16 KiB each way, then it waits in a read",
        Choice(choices.DATA),
        example="DATA=full",
    ),
    "window": Option(
        "--window",
        "number of pairs in the handshake at a time, or all; default with KEEP: 100",
        Number(word="all"),
        example="WINDOW=100",
    ),
    "window c1m": Option("--window", "number of pairs in the handshake at a time", Number(), example="WINDOW=100"),
    "window live": Option(
        "--window",
        "numbers of connections in the handshake at a time, or all; each in a run of its own",
        Numbers(10**7, "all"),
        example="WINDOW=1,100,all",
    ),
    "reserve": Option(
        "--reserve",
        "GiB of the available memory that a run leaves to other programs",
        Number(0, most=10**4),
        example="RESERVE=1",
    ),
    "sizes": Option(
        "--sizes",
        "bytes per write; several are measured one after the other",
        Numbers(2**30, are_bytes=True),  # memtest/arguments.c has the same limit, and that of --threads
        example="SIZES=16,1024,1048576",
    ),
    "threads": Option(
        "--threads",
        "number of concurrent threads; several are measured one after the other",
        Numbers(256),
        example="THREADS=1,2,4",
    ),
    "repeats": Option("--repeats", "number of repeats of each run", Number(most=1000), example="REPEATS=3"),
    "heap": Option(
        "--heap",
        "heap runs for this many of the smallest session counts, or all",
        Number(0, word="all"),
        example="HEAP=all",
    ),
    "jobs": Option("--jobs", "number of concurrent runs, each on its own CPU", Number(), example="JOBS=1"),
    "git": Option(
        "--git",
        "the clone that has the revisions of LIBRARY@git:REVISION",
        Directory("a clone of the library's repository"),
        example="GIT=~/src/openssl",
    ),
    "like": Option(
        "--like",
        "the stack whose build steps build the tree",
        Names("stack", single="a build has one table of steps"),
        example="LIKE=openssl@3.5.5",
    ),
    "rss": Option(
        "--rss",
        "also RSS, with up to this many sessions, three times each: minutes instead of seconds",
        Number(40, most=10**6, even=True),
        example="RSS=2000",
    ),
    "outdated": Option(
        "--outdated",
        "ask the registries for releases that are newer than those of memtest/stacks.toml, and whether they serve them",
        Flag(),
        example="OUTDATED=1",
    ),
    "fresh": Option("--fresh", "measure recorded runs again", Flag(), example="FRESH=1"),
    "out": Option(
        "--out",
        "directory for the recording and the pictures; one directly in data/ needs a clean tree",
        Directory(),
        example="OUT=data/local/mine",
    ),
    "multiplier": Option(
        "--bench-multiplier",
        "factor for the length of every run (0.1: a tenth); may also be set in the environment",
        Multiplier(),
        example="BENCH_MULTIPLIER=0.1",
    ),
    "campaign": Option("campaign", "a table of memtest/campaigns.toml, or a group of them", nargs="?"),
    "campaign stacks": Option(
        "--campaign",
        "build the stacks of this table of memtest/campaigns.toml",
        CAMPAIGN,
        "NAME",
    ),
    "cluster": Option(
        "--cluster",
        "make the runs on the machines of a Dask cluster, whose scheduler has this address: docs/how-to/cluster.md",
        SCHEDULER,
        "ADDRESS",
    ),
    "address": Option("address", "the scheduler's address", SCHEDULER, "ADDRESS"),
    "tls": Option(
        "--tls",
        "file with the cluster's private key and certificate, for a tls:// address; the scheduler creates it if it is "
        "missing; anyone who has it can run code on every machine of the cluster",
        PATH,
        "FILE",
    ),
    "list": Option("--list", "print the runs and which are recorded; run nothing", Flag()),
    "verify": Option("--verify", "try every built stack in every suite, with 2 sessions; record nothing", Flag()),
    "timeout": Option("--timeout", "time limit of a run", Parsed(amounts.parse_time_limit, "seconds"), "SECONDS"),
    "live recording": Option(
        "recording", "print the tables of this recording's live runs; nothing runs", PATH, nargs="?"
    ),
    "waves": Option(
        "--waves", "number of times that all connections open and close again, after the first", COUNT_OR_ZERO
    ),
    "idle": Option("--idle", "time without traffic before `idle` is read", TIME),
    "settle": Option("--settle", "time after the last connection was closed before `settled` is read", TIME),
    "ktls": Option("--ktls", "the server asks for kernel TLS; nginx, where the kernel has it", Flag()),
    "tls12 live": Option("--tls12", "connections of TLS 1.2 instead of 1.3", Flag(), example="TLS12=1"),
    "mtls live": Option("--mtls", "clients have certificates, which the server requires", Flag(), example="MTLS=1"),
    "resumption": Option(
        "--resumption",
        "every connection resumes a session by a ticket",
        Flag(),
        example="RESUMPTION=1",
    ),
    "sites": Option(
        "--sites",
        "name the call sites that hold the bytes of a connection: one run of each server, of 20 TLS connections, under "
        "valgrind's massif",
        Flag(),
    ),
    "hollow": Option(
        "--hollow",
        "clients free their TLS state once they are connected and send no request, so that they need little memory",
        Flag(),
    ),
    "pairs": Option(
        "--pairs",
        "number of loopback connections",
        Parsed(amounts.parse_pairs, f"a whole number from 1 to {amounts.MOST_PAIRS:,}"),
        "N",
    ),
    # What is built
    "build stacks": Option("stacks", "stacks to build, and trees of libraries", kinds.STACKS, "STACK", nargs="*"),
    "target": Option("target", "a make target with options", metavar="TARGET"),
    "target options": Option("options", "options as given to make", metavar="OPTION=VALUE", nargs="*"),
    "purpose": Option(
        "purpose", f"what the packages are for: {', '.join(choices.PURPOSES)}", Choice(choices.PURPOSES), "PURPOSE"
    ),
    # Where an answer goes
    "format": Option("--format", "format of the tables", Choice(choices.FORMATS), example="FORMAT=csv"),
    "format report": Option("--format", "format of the report", Choice(choices.REPORT_FORMATS)),
    "into": Option("--into", "write into this Markdown file, below the same command", PATH, "FILE", group=""),
    "output": Option("--output", PICTURE, PATH, "FILE", short="-o"),
    "output picture": Option("--output", f"{TEXT_FILE}, or a picture: {PICTURE}", PATH, "FILE", short="-o"),
    "output report": Option(
        "--output",
        "file or directory of the report",
        File(),
        "FILE",
        short="-o",
        alias="--out",
        example="OUT=both.html",
    ),
    "output directory": Option(
        "--output", "directory for the pictures", NEW_DIRECTORY, "DIR", short="-o", alias="--out"
    ),
    "output text": Option("--output", TEXT_FILE, PATH, "FILE", short="-o"),
    # The suite in words that people use
    "mtls": Option("--mtls", "the suite in which clients have certificates", Flag(), group=SUITE_GROUP),
    "pq": Option("--pq", "the suite with a post-quantum key exchange", Flag(), group=SUITE_GROUP),
    "pq cert": Option("--pq-cert", "the suite with ML-DSA-65 certificates", Flag(), group=SUITE_GROUP),
    "ecdsa": Option("--ecdsa", "the suite with ECDSA certificates instead of RSA", Flag(), group=SUITE_GROUP),
    "tls12": Option("--tls12", "the suite of TLS 1.2 instead of 1.3", Flag(), group=SUITE_GROUP),
    # Which runs or figures
    "recording": Option("recording", ONE_RECORDING, PATH),
    "recording or none": Option("recording", ONE_RECORDING, PATH, nargs="?"),
    "recording sealed": Option(
        "recording", "a complete recording; it takes no more runs once it is sealed", PATH, "DIRECTORY"
    ),
    "recordings verified": Option(
        "recordings",
        "recordings to check: each line, and sealed files against their manifest",
        PATH,
        "DIRECTORY",
        nargs="+",
    ),
    "recordings compared": Option(
        "recording", "OLD and NEW; with --by one recording will do", metavar="RECORDING", nargs="+"
    ),
    "recordings reported": Option("recording", "directories under data/, or files of them", PATH, nargs="*"),
    "sources": Option("source", "a recording below data/, or one profile for each stack", PATH, nargs="+"),
    "recording read": Option("--recording", "a directory under data/; may be repeated", PATH, "DIR", repeat=True),
    "recording judged": Option(
        "--recording", "judge this recording, and measure nothing", PATH, "DIR", exclusive="where"
    ),
    "only campaign": Option("--campaign", "only runs of this table of memtest/campaigns.toml", metavar="NAME"),
    "only stack": Option(
        "--stack", "only this stack; may be repeated; others are compared with the first", repeat=True
    ),
    "only stack pair": Option(
        "--stack", "only this stack, may be repeated; OLD=NEW where it has another name in each", repeat=True
    ),
    "stack": Option("--stack", "the stack, if the recording has several: openssl@3.5.5"),
    "stack planned": Option("--stack", "a stack, or a library for its newest release; may be repeated", repeat=True),
    "only suite": Option("--suite", "only this suite; may be repeated", repeat=True),
    "suite": Option("--suite", "the suite of the sessions (memtest/suites.toml)", metavar="SUITE"),
    "suite costed": Option(
        "--suite",
        "the suite of the sessions (memtest/suites.toml)",
        Names("suite", single="the figures are of one suite"),
        "SUITE",
    ),
    "only allocator": Option("--allocator", "only this allocator; may be repeated", repeat=True),
    "allocator planned": Option("--allocator", "system (glibc malloc), jemalloc, mimalloc or tcmalloc"),
    "only window": Option(
        "--window", "only this number of pairs in the handshake at a time, or all; may be repeated", repeat=True
    ),
    "only roles": Option(
        "--roles",
        "only together, split, keep-client or keep-server (only the server sessions are kept; clients are freed); may "
        "be repeated",
        repeat=True,
    ),
    "only env": Option("--env", "only lab, deployed or deployed-thp; may be repeated", repeat=True),
    "only cpu": Option("--cpu", "only all, no-avx512, no-adx, no-aes or baseline; may be repeated", repeat=True),
    "only peer": Option("--peer", f"only mixed pairs with this client; {ITSELF}: no mixed pairs", repeat=True),
    "only process": Option("--process", "only rows of this process: a role of split runs, or both", Choice(PROCESSES)),
    "role": Option("--role", "whose sessions", Choice(ROLES), example="ROLE=client"),
    "sides": Option(
        "--role",
        "whose sessions",
        Choice(choices.SIDES),
        example="ROLE=server",
    ),
    "role compared": Option(
        "--role",
        "only figures of this role, or of the pair or process; may be repeated",
        Choice(choices.HOLDERS),
        repeat=True,
    ),
    "role owner": Option("--role", "whose memory", Choice(OWNERS), group=LOOK),
    "stage": Option("--stage", "the stage for which bytes are shown by bucket", Choice(tuple(choices.STAGE_PHASES))),
    "table": Option("--table", "only this table; may be repeated", Choice(TABLES), repeat=True),
    "table releases": Option(
        "--table", "only this table; may be repeated", Choice(choices.RELEASE_TABLES), repeat=True
    ),
    "table report": Option("--table", "only this table, as text; may be repeated", metavar="NAME", repeat=True),
    "table plan": Option(
        "--table", "only this table, without the answer; may be repeated", Choice(choices.PLAN_TABLES), repeat=True
    ),
    "picture": Option(
        "--picture", "only this picture, with --format files; may be repeated", metavar="NAME", repeat=True
    ),
    "rows": Option("--rows", "only the first rows of each table", POSITIVE, "N"),
    "library shown": Option(
        "--library",
        f"a library to show, in this order, with up to {choices.MOST_SUITES} suites; may be repeated",
        metavar="NAME",
        repeat=True,
    ),
    # Stacks
    "details stacks": Option(
        "--details", "show which suites each built stack can do, and its licence", Flag(), exclusive="list"
    ),
    "sources stacks": Option(
        "--sources", "show what each stack is, where it comes from and how it is built", Flag(), exclusive="list"
    ),
    # Costs
    "stacks asked": Option("stacks", "a library, or a stack of memtest/stacks.toml", metavar="STACK", nargs="*"),
    "explain": Option(
        "--explain",
        "show what all live heap in use is for, and its peaks: of one session alone, and of one more of many",
        Flag(),
    ),
    "recorded": Option(
        "--recorded",
        "list what is recorded instead: each suite of these stacks, or of all, with its states",
        Flag(),
    ),
    "page": Option("--page", "the page of one library: costs, reasons, releases and options", Flag()),
    # Comparisons
    "by aspect": Option(
        "--by",
        f"compare two parts of one recording: an aspect ({', '.join(choices.ASPECTS)}), and its value on each side",
        metavar=("ASPECT", "OLD", "NEW"),
        nargs=3,
    ),
    "force": Option("--force", "compare even if what was declared differs, and name the differences", Flag()),
    "meter": Option(
        "--meter", "only figures of this meter; may be repeated", Choice(tuple(choices.METERS)), repeat=True
    ),
    "phases": Option(
        "--phase", f"ends of these phases, may be repeated; `{choices.ALL_PHASES}`: of every phase", repeat=True
    ),
    "bisect": Option("--bisect", "exit 0, 1 or 125, for `git bisect run`", Flag()),
    "at least": Option(
        "--at-least", "the exit status counts only changes of at least this many bytes a session", SIZE, "SIZE"
    ),
    "site": Option(
        "--site", "the exit status counts only live heap whose call stack has this function", metavar="NAME"
    ),
    "worse only": Option("--worse-only", "the exit status counts only what got worse", Flag()),
    "roles used": Option(
        "--roles",
        "use runs with both roles in one process, or with a process for each",
        Choice(choices.PROCESSES_OF_ROLES),
    ),
    # The gate
    "budget": Option("budget", "a file of budgets: docs/how-to/ci.md", PATH, "BUDGET.toml"),
    "out kept": Option("--out", "keep what is measured", PATH, "DIR", exclusive="where"),
    "new baseline": Option("--new-baseline", "measure into DIR, and judge nothing", PATH, "DIR", exclusive="where"),
    "list gate": Option("--list", "print the runs that would be made", Flag(), exclusive="where"),
    "git gate": Option("--git", "the clone that has the commits of stacks @git:REF", PATH, "DIR"),
    "junit": Option("--junit", "also write JUnit XML to this file", PATH, "FILE"),
    "summary": Option("--summary", "append a summary in Markdown to this file too", PATH, "FILE"),
    # Heaps
    "pid": Option("pid", "a process that runs under the meter", WHOLE, "PID"),
    "pids": Option("pids", "running processes, under the meter or not, or core files", PROCESS, "PID|CORE", nargs="*"),
    "sysroot": Option(
        "--sysroot",
        "with a core: a directory with the program and its libraries, at their paths on the machine of the core",
        Directory(must_exist="the root of a system, such as one that debootstrap made"),
        "DIR",
    ),
    "every": Option(
        "--every",
        "seconds between counts, until Ctrl-C or until the processes end: prints a line for each count, then what grew",
        Parsed(amounts.parse_interval, "seconds, from 0.01 to 3600"),
        "S",
    ),
    "service": Option(
        "--service",
        "all processes of this systemd service; if there is none, all that run a program of this name",
    ),
    "interval": Option(
        "--interval", "seconds between reports", Parsed(amounts.parse_interval, "seconds, from 0.01 to 3600"), "S"
    ),
    "listen": Option(
        "--listen",
        "serve the figures to Prometheus at http://127.0.0.1:PORT/metrics, on this machine alone; port 0: a free one",
        Parsed(amounts.parse_loopback, "`127.0.0.1:PORT` or `[::1]:PORT`"),
        "127.0.0.1:PORT",
    ),
    "host": Option(
        "--host",
        "with --listen: also answer requests for this host name, for instance from a proxy; may be repeated",
        metavar="NAME",
        repeat=True,
    ),
    "connections counted": Option(
        "--connections",
        "count the established TCP connections of a local port in the program's network namespace; may be repeated",
        Parsed(amounts.parse_connections, "`port:NUMBER`"),
        "port:NUMBER",
        repeat=True,
    ),
    "growth": Option("--growth", "show what grew most since the start, by program and role", Flag()),
    "once": Option("--once", "one report only: of a process now, of a command when it ends", Flag()),
    "ndjson": Option("--json", "NDJSON: an object for each program, and one for all", Flag()),
    "out heap": Option("--out", "new file of the report", metavar="FILE"),
    "profile": Option("profile", "a profile or a recording", metavar="PROFILE", nargs="?"),
    "diff": Option(
        "--diff",
        "compare two profiles, or with PROFILE two moments of it: what NEW holds more",
        metavar=("OLD", "NEW"),
        nargs=2,
    ),
    "moment": Option(
        "--phase", "a phase, `peak of PHASE` in a sites run, `peak`, `end` or `dump`", metavar="MOMENT", group=LOOK
    ),
    "by": Option("--by", "sort sites by this", Choice(choices.BY), group=LOOK),
    "top": Option("--top", "number of sites to show", POSITIVE, "K", group=LOOK),
    "sessions": Option(
        "--sessions", "number of sessions of both roles, if no record says it", POSITIVE, "N", group=LOOK
    ),
    "filter": Option(
        "--filter", "only call stacks with a function, file or module that matches", metavar="REGEX", group=LOOK
    ),
    "callers": Option("--callers", "show a tree of callers", Flag(), group=HOW),
    "block sizes": Option(
        "--sizes", "show the sizes of live blocks at the moment, and of all that were allocated", Flag(), group=HOW
    ),
    "buckets": Option("--buckets", "show what a session's bytes are for, and why", Flag(), group=HOW),
    "tls shares": Option(
        "--tls", "show which bytes are TLS: sessions, contexts, cryptography only, by library", Flag(), group=HOW
    ),
    "folded": Option(
        "--folded", "write folded stacks; without FILE to stdout", metavar="FILE", nargs="?", const="-", group=HOW
    ),
    "speedscope": Option("--speedscope", "write all moments for speedscope; - is stdout", metavar="FILE", group=HOW),
    "pprof": Option(
        "--pprof",
        "write all moments for pprof, with the labels phase, role and stack, or that of --phase; - is stdout",
        metavar="FILE.pb.gz",
        group=HOW,
    ),
    "parquet": Option(
        "--parquet",
        "write a row for each moment, or for that of --phase, and call stack, with its frames; - is stdout",
        metavar="FILE",
        group=HOW,
    ),
    "flamegraph": Option(
        "--flamegraph", "FILE.svg: one moment; FILE.html: a page with all moments", metavar="FILE", group=HOW
    ),
    "json": Option("--json", "same as --format json", Flag(), const=choices.JSON, dest="format", group=HOW),
    # Plans
    "backends": Option(
        "--backends", "backend TLS connections of a proxy (--role both)", COUNT, "N", example="--backends 200"
    ),
    "backend servers": Option(
        "--backend-servers",
        "servers behind the proxy: each has a TLS context of its own",
        COUNT,
        "N",
    ),
    "certificates": Option(
        "--certificates",
        "certificates of the server of --as beside the first, each with its name (SNI)",
        COUNT,
        "N",
        example="--certificates 500",
    ),
    "reloads": Option("--reloads", "reloads of the server's configuration so far", COUNT, "N", example="--reloads 2"),
    "workers": Option(
        "--workers", "worker processes of nginx; a plan without it has one", COUNT, "N", example="--workers 4"
    ),
    "as": Option(
        "--as",
        "plan for a server, with its options, tickets and own memory: nginx, haproxy, httpd, envoy, python, "
        "node, rust-openssl, rustls or go",
        Names("server", single="a plan is for one server", also=("live_servers", "runtimes")),
        "SERVER",
        dest="server",
        example="--as nginx",
    ),
    "state": Option(
        "--state",
        "in-use: each connection has sent and received a full record; at-rest: no data yet",
        Choice(choices.PLAN_STATES),
    ),
    "low memory": Option(
        "--low-memory",
        "the library's option to hold less between records (docs/reference/stacks.md)",
        Flag(),
    ),
    "tickets planned": Option(
        "--tickets", "tickets that the server issues per session", Number(0, word="library"), example="--tickets 0"
    ),
    "write predictions": Option(
        "--write",
        "append them to data/predictions/live.jsonl: plan check holds them against runs that are made later",
        Flag(),
    ),
    "kernel bytes": Option(
        "--kernel-bytes",
        "kernel memory per connection; assumed: 3,866 at a server, 3,903 at a client",
        BYTES,
        "K",
    ),
    "record bytes": Option(
        "--record-bytes",
        "memory of a full record in flight; assumed: 16,406 unless the session has the buffer",
        BYTES,
        "BYTES",
    ),
    "details": Option("--details", "the tables behind the answer as well", Flag()),
    "connections": Option("--connections", "connections of one process", COUNT, "N", example="--connections 100000"),
    "memory": Option("--memory", "the available memory", SIZE, "SIZE", example="--memory 16GiB"),
    "memory haproxy": Option("--memory", "the memory that HAProxy gets with -m", SIZE, "SIZE"),
    "handshaking": Option("--handshaking", "concurrent handshakes: 5% of the connections, or a number", SHARE, "SHARE"),
    "in use": Option("--in-use", "connections in use, the others are at rest: 30%, or a number", SHARE, "SHARE"),
    "in flight": Option("--in-flight", "connections with a full record in flight: 20%, or a number", SHARE, "SHARE"),
    "rate": Option(
        "--rate",
        "new connections per second; each is in the handshake for --rtt and --client-time",
        RATE,
        "PER_S",
    ),
    "rtt": Option("--rtt", "a round trip between client and server", TIME, "TIME"),
    "client time": Option("--client-time", "the client's own time in a handshake", TIME, "TIME"),
    "stalled rate": Option("--stalled-rate", "peers per second that begin a handshake and stop", RATE, "PER_S"),
    "timeout stalled": Option("--timeout", "time after which the server ends a stalled handshake", DURATION, "TIME"),
    "timeout retry": Option("--timeout", "time after which clients give up and retry", DURATION, "TIME"),
    "clients": Option("--clients", "clients that reconnect; of a fleet: of all hosts together", COUNT, "N"),
    "within": Option("--within", "the time in which all clients reconnect", DURATION, "TIME"),
    "arrivals": Option("--arrivals", "how the clients' arrivals are spread over --within", Choice(choices.ARRIVALS)),
    "seed": Option("--seed", "the seed of random arrivals", WHOLE, "N"),
    "cores": Option("--cores", "cores that do handshakes", COUNT, "N"),
    "handshake rate": Option("--handshake-rate", "handshakes per second of one core", POSITIVE_RATE, "PER_S"),
    "limit": Option("--limit", "the most concurrent handshakes; other clients wait without a session", COUNT, "W"),
    "retry": Option("--retry", "the pause before a retry, ±50 % at random; it doubles each time", DURATION, "TIME"),
    "attempts": Option("--attempts", "the most attempts of a client", COUNT, "N"),
    "hosts": Option("--hosts", "hosts of the fleet", COUNT, "N"),
    "fail": Option("--fail", "number of hosts that fail", COUNT, "N"),
    # Options themselves
    "topic": Option("topic", "a command, or a make target", metavar="COMMAND", nargs="*"),
    "reference": Option("--reference", "every option of every command, as Markdown", Flag()),
    "shell": Option("shell", "the shell", Choice(("bash", "zsh", "fish"))),
    # Queries
    "query": Option(
        "query",
        "a select over the tables; without one, the tables and their columns are listed",
        metavar="QUERY",
        nargs="?",
    ),
    "recordings queried": Option(
        "recordings",
        "recordings to read, by path or by name; by default those of the repository",
        PATH,
        "RECORDING",
        nargs="*",
    ),
    "page of queries": Option(
        "--into",
        "write the result into this Markdown file, below the same command; without a query, write the results of all "
        "queries of the file anew",
        PATH,
        "FILE",
    ),
    "table exported": Option("--table", "only this table; may be repeated", Choice(choices.QUERY_TABLES), repeat=True),
    "format export": Option(
        "--format",
        "tables of runs, phases and more as parquet or csv; or what a session costs, for a CI, in one of the others",
        Choice(choices.EXPORT_FORMATS),
    ),
    "output export": Option(
        "--output",
        "directory for the tables, a file each; or the file of what a session costs, - for stdout",
        PATH,
        "PLACE",
        short="-o",
    ),
    # Of tools/dev
    "quick": Option("--quick", "DHAT, one run per phase, at two phases only", Flag()),
    "leave out": Option("--leave-out", "skip what cannot be checked instead of refusing it", Flag()),
    "other meter": Option("--meter", "another build of the heap meter", PATH, "LIBRARY"),
}


def default_text(default: Default) -> str:
    """As it is shown. Raises UserError where a campaign's cannot be read."""
    if not isinstance(default, CampaignDefault):
        return default or ""
    try:
        found = read_tables("campaigns").get(default.campaign, {}).get(default.key, default.otherwise)
    except ValueError as error:
        raise UserError(str(error), 2) from None
    return " ".join(map(str, found)) if isinstance(found, list) else str(found)
