"""Every option of make and of the commands in tools/: name, meaning, values, defaults, and who takes it.

This table is all that says so. The check before anything is installed (option_check.py), the parsers
(option_parser.py), `--help`, `make help`, what each target of make takes (build/options.mk) and docs/options.md come
from it. Standard library only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tlsmem.config import amounts, choices
from tlsmem.config.option_kinds import (
    Build,
    Choice,
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
)
from tlsmem.config.table_names import TABLES
from tlsmem.schema.roles import ITSELF, OWNERS, PROCESSES, ROLES

TIME_MULTIPLIER = "BENCH_MULTIPLIER"  # beside MEMTEST_CACHE all that may come from the environment


class Words(str):
    """A default that is described: who takes the option works it out."""


@dataclass(frozen=True)
class OfCampaign:
    """The default is what a table of memtest/campaigns.toml has under a key, or else `otherwise`."""

    campaign: str
    key: str
    otherwise: str = ""


Default = str | OfCampaign | None  # None: there is none, and nothing to say; a str may be Words
REQUIRED = Words("none: it is required")


@dataclass(frozen=True)
class Option:
    """One option. Its `name` is a variable of make (N), or of commands only a flag (--list) or an argument (recording).

    The same name may stand in several entries, whose meanings differ, but only once for any target or command."""

    name: str
    help: str
    kind: Kind = field(default_factory=Kind)
    goals: Mapping[str, Default] = field(default_factory=dict)  # targets of make, each with its default
    commands: Mapping[str, Default] = field(default_factory=dict)  # beside those that such a target calls: see GOALS
    example: str = ""
    # Of parsers
    flags: tuple[str, ...] = ()  # where they are not made of the name
    metavar: str | tuple[str, ...] | None = None
    repeat: bool = False  # may be given several times
    required: bool = False
    nargs: str | int | None = None
    const: object = None  # the value where only the flag stands
    dest: str | None = None
    group: str = ""  # heading in --help
    exclusive: str = ""  # options of a command with the same word here exclude each other

    @property
    def is_variable(self) -> bool:
        return self.name.isupper()

    @property
    def is_positional(self) -> bool:
        return not self.is_variable and not self.name.startswith("-")

    @property
    def option_strings(self) -> tuple[str, ...]:
        """As on the command line of a command; none where only make and the environment say it."""
        if self.name == TIME_MULTIPLIER:
            return ()
        return self.flags or (f"--{self.name.lower()}" if self.is_variable else self.name,)


# Targets of make with options, and the command that takes these as flags; of several commands none.
GOALS: dict[str, str | None] = {
    "mem": "measure",
    "throughput": "measure",
    "handshake": "measure",
    "threads": "measure",
    "measure": "measure",
    "compare": "compare_builds",
    "compare-versions": "compare_versions",
    "report": "report",
    "stacks": "list_stacks",
    "check": None,
    "bench": "dev/bench_meter",
    "bench-attribution": "dev/bench_attribution",
    "bench-loop": "dev/bench_loop",
    "selfcheck": "dev/selfcheck",
    "profile": "profile_heap",
    "prove": None,
}
ALL_GOALS = "all"
TIMED = ("throughput", "handshake", "threads", "measure")
BENCHES = ("bench", "bench-attribution")
PLANS = tuple(f"plan {answer}" for answer in ("memory", "fit", "storm", "fleet", "haproxy", "check"))
LOADED, CROWDED = PLANS[:2], PLANS[2:4]
# These draw one picture of one recording, and share its options: the recording, -o, --campaign, --stack and --roles.
PLOTS = ("plot_mem", "plot_releases", "plot_stacks")


def each(*names: str, default: Default = None) -> dict[str, Default]:
    """The same default for all of them."""
    return dict.fromkeys(names, default)


def of_mem(key: str, otherwise: str = "") -> OfCampaign:
    return OfCampaign("mem", key, otherwise)


DATED = Words("data/local/DATE-CPU-pPATH")
ON_TERMINAL = Words("table on a terminal, else markdown")
NOT_TWO_PROFILES = "a profile is of one run"
LOOK, HOW = "what to look at", "how; may be combined"

VARIABLES = (
    Option(
        "N",
        "sessions, client and server together; a positive even number",
        Number(2, even=True),
        goals=each("mem", default=of_mem("n"))
        | {"compare": OfCampaign("compare", "n")}
        | {"bench": "2000", "bench-attribution": "10000", "selfcheck": "40", "profile": "1000"},
        example="N=10000",
    ),
    Option(
        "A",
        "the old build: a stack, LIBRARY@git:REVISION, or LIBRARY@path:DIRECTORY",
        Build(),
        goals={"compare": REQUIRED},
        example="A=openssl@git:openssl-3.5.5",
    ),
    Option(
        "B",
        "the new build, named likewise",
        Build(),
        goals={"compare": REQUIRED},
        example="B=openssl@path:.",
    ),
    Option(
        "LIB",
        "a library with several releases among the stacks, and its variants: openssl, rustls+aws-lc",
        Library(),
        goals={"compare-versions": REQUIRED},
        commands={"plot_versions": REQUIRED},
        flags=("--library", "--lib"),
        metavar="NAME",
        required=True,
        example="LIB=openssl",
    ),
    Option(
        "VERSIONS",
        "only these releases of it",
        goals={"compare-versions": Words("all")},
        commands={"plot_versions": Words("all")},
        metavar="NAMES",
        example="VERSIONS=3.0.22,3.5.5",
    ),
    Option(
        "RECORDINGS",
        "one or several, directories below data/; each is told by its machine",
        goals={"report": Words("your newest, and the newest with memory, all stacks and time")},
        metavar="NAMES",
        example="RECORDINGS=data/local/2026-01-31-some-cpu",
    ),
    Option(
        "STACK",
        "what to profile, one stack (names: make stacks)",
        Names("stack", single=NOT_TWO_PROFILES),
        goals={"profile": "openssl@3.5.5"},
        commands={"packages": "openssl@3.5.5"},
        example="STACK=rustls+ring@0.23.46",
    ),
    Option(
        "STACKS",
        "what to measure, first the one that others are compared with; or all (names: make stacks)",
        Names("stack", all_too=True),
        goals=each("mem", "bench", "selfcheck", default=of_mem("stacks"))
        | {name: OfCampaign("throughput", "stacks") for name in TIMED}
        | {"stacks": "all"}
        | {"check": OfCampaign("check", "stacks")}
        | each("bench-attribution", "bench-loop", default="openssl@3.5.5 rustls+aws-lc@0.23.46"),
        commands=each("packages"),
        example='STACKS="openssl@3.5.5 null@c"',
    ),
    Option(
        "PREFIX",
        "where the library of openssl@path is installed: a directory with include/ and lib/",
        Directory("where your library was installed: its include/ and lib/"),
        goals=each("mem", *TIMED, "compare", "check", *BENCHES, "selfcheck", "profile", default=Words("none")),
        commands=each("packages", "build"),
        example="PREFIX=/opt/openssl",
    ),
    Option(
        "SUITE",
        "its protocol configuration (memtest/suites.toml)",
        Names("suite", single=NOT_TWO_PROFILES),
        goals={"profile": "tls13-rsa-aes256"},
        example="SUITE=tls12-rsa-aes256",
    ),
    Option(
        "SUITES",
        "protocol configurations (memtest/suites.toml)",
        Names("suite"),
        goals=each("mem", "bench", default=of_mem("suites"))
        | {name: OfCampaign(name, "suites") for name in ("compare", "throughput")}
        | {"handshake": Words("those of the campaign handshake in memtest/campaigns.toml")}
        | {"compare-versions": Words(" ".join(choices.RELEASE_SUITES)), "bench-attribution": "tls13-rsa-aes256"}
        | {"selfcheck": "tls13-rsa-aes256 tls12-rsa-aes256"},
        commands={"plot_versions": Words(" ".join(choices.RELEASE_SUITES))},
        example="SUITES=tls13-rsa-aes256,tls12-rsa-aes256",
    ),
    Option(
        "TOOL",
        "who looks: sites (the heap meter), heaptrack, massif or dhat",
        Choice(choices.PROFILERS),
        goals={"profile": "heaptrack"},
        commands={"packages": "heaptrack"},
        example="TOOL=massif",
    ),
    Option(
        "ROLES",
        "together: both roles in one process; split: a process each",
        Choice(choices.PROCESSES_OF_ROLES),
        goals={"mem": of_mem("roles", "together")},
        example="ROLES=split",
    ),
    Option(
        "KEEP",
        "client or server: the sessions that stay, in one process that frees their peers, window by window",
        Choice(ROLES),
        goals={"mem": Words("both")},
        example="KEEP=server",
    ),
    Option(
        "CLIENT",
        "a stack, to be measured against SERVER=, a process each",
        Names("stack", single="it is one stack"),
        goals={"mem": Words("none: each stack with itself")},
        commands=each("packages"),
        example="CLIENT=openssl@3.5.5",
    ),
    Option(
        "SERVER",
        "a stack, to be measured against CLIENT=, a process each",
        Names("stack", single="it is one stack"),
        goals={"mem": Words("none: each stack with itself")},
        commands=each("packages"),
        example="SERVER=rustls+ring@0.23.46",
    ),
    Option(
        "ENV",
        "lab, deployed (randomised, the host's huge pages, four threads), or both",
        Choice(choices.ENVIRONMENTS),
        goals={"mem": of_mem("envs", "lab")},
        example="ENV=both",
    ),
    Option(
        "ALLOCATOR",
        "malloc of the whole process (memtest/allocators.toml)",
        Names("allocator", single="a process has one malloc"),
        goals={"mem": of_mem("allocators")} | {name: OfCampaign("throughput", "allocators") for name in TIMED},
        commands=each("packages"),
        example="ALLOCATOR=jemalloc",
    ),
    Option(
        "CPU",
        "features of the CPU that the library may use (memtest/cpus.toml)",
        Choice(choices.CPU_FEATURES),
        goals={"mem": of_mem("cpus", "all")} | {name: OfCampaign("throughput", "cpus", "all") for name in TIMED},
        example="CPU=no-avx512",
    ),
    Option(
        "OPTIONS",
        "of the library: default, or low-memory: what it documents to hold less at rest (docs/stacks.md)",
        Choice(choices.LIBRARY_OPTIONS),
        goals={"mem": of_mem("options", "default")}
        | {name: OfCampaign("throughput", "options", "default") for name in TIMED},
        example="OPTIONS=low-memory",
    ),
    Option(
        "TICKETS",
        "that a server issues a session, or library: as many as it issues by itself",
        Number(0, word="library"),
        goals=each("mem", *TIMED, default=Words("as the suite has it")),
        example="TICKETS=library",
    ),
    Option(
        "DATA",
        "short: sessions send and receive 1 KiB; full: 16 KiB each way too, and then wait in a read",
        Choice(choices.DATA),
        goals={"mem": of_mem("data", "short")},
        example="DATA=full",
    ),
    Option(
        "WINDOW",
        "pairs in the handshake at a time, or all; with KEEP 100 unless given",
        Number(word="all"),
        goals={"mem": of_mem("windows")},
        example="WINDOW=100",
    ),
    Option(
        "SIZES",
        "bytes of a write, one or several",
        Numbers(2**30),  # memtest/arguments.c has the same limit, and that of THREADS
        goals={"throughput": OfCampaign("throughput", "sizes")},
        example="SIZES=16,1024,1048576",
    ),
    Option(
        "THREADS",
        "how many run at once, one or several; more than there are CPUs are marked",
        Numbers(256),
        goals=each("throughput", "handshake", default=Words("1"))
        | {"threads": Words("1, 2, 3, 4, 8, ... up to the number of CPUs")},
        example="THREADS=1,2,4",
    ),
    Option(
        "REPEATS",
        "how often each run is made",
        Number(most=1000),
        goals={"mem": of_mem("repeats")}
        | {name: OfCampaign("throughput", "repeats") for name in TIMED[:3]}
        | {"measure": Words("30"), "bench": "7", "bench-attribution": "5", "bench-loop": "15"},
        example="REPEATS=3",
    ),
    Option(
        "HEAP",
        "how many of the smallest numbers of sessions are run under the heap meter too, or all",
        Number(0, word="all"),
        goals={"mem": of_mem("heap")},
        example="HEAP=all",
    ),
    Option(
        "JOBS",
        "runs at a time, each on a CPU of its own",
        Number(),
        goals=each("mem", "selfcheck", "profile", "prove", default="2"),
        example="JOBS=1",
    ),
    Option(
        "GIT",
        "the clone that has the revisions; else that of a directory that is compared, or where you are",
        Directory("a clone of the library's repository"),
        goals={"compare": Words("none")},
        example="GIT=~/src/openssl",
    ),
    Option(
        "LIKE",
        "the stack whose steps build both; else that of the newest release not above theirs",
        Names("stack", single="a build has one table of steps"),
        goals={"compare": Words("none")},
        example="LIKE=openssl@3.5.5",
    ),
    Option(
        "ROLE",
        "whose sessions are shown: client, server or both",
        Choice(choices.SIDES),
        goals=each("compare", "compare-versions", default="both"),
        commands={"plot_versions": "both"},
        example="ROLE=server",
    ),
    Option(
        "FRESH",
        "measure again what has been measured",
        Flag(),
        goals=each("mem", *TIMED, "profile", "prove", default="0"),
        example="FRESH=1",
    ),
    Option(
        "OUT",
        "directory of the recording and the pictures; one in data/ itself needs a clean tree",
        Directory(),
        goals=each("mem", *TIMED, "profile", "prove", default=DATED)
        | {"compare": Words("build/compare"), "compare-versions": Words("build/versions/LIB")},
        example="OUT=data/local/mine",
    ),
    Option(
        "OUT",
        "where the report goes: a file or directory",
        File(),
        goals={"report": Words("report.html, report, or stdout, by --format")},
        flags=("-o", "--out"),
        dest="output",
        metavar="FILE",
        example="OUT=both.html",
    ),
    Option(
        "FORMAT",
        "form of the tables",
        Choice(choices.FORMATS),
        goals=each("compare", "compare-versions", default=ON_TERMINAL),
        commands=each("compare", "gate", "inspect_heaptrack", "kernel_bytes", "list_stacks", default=ON_TERMINAL)
        | each("profile_heap", "tabulate", "dev/selfcheck", *PLANS, default=ON_TERMINAL),
        example="FORMAT=csv",
    ),
    Option(
        TIME_MULTIPLIER,
        "a positive number that lengthens (0.1: shortens) every run; the environment may say it too",
        Multiplier(),
        goals=each(*TIMED, default="1"),
        example="BENCH_MULTIPLIER=0.1",
    ),
)

PATH = Parsed(Path, "a path")
WHOLE = Parsed(int, "a whole number")
TIME_OF_RUN = Parsed(amounts.parse_time_limit, "seconds")
SIZE = Parsed(amounts.parse_size, "a size: `16GiB`")
BYTES = Parsed(amounts.parse_size_or_zero, "a size, or 0")
COUNT = Parsed(amounts.parse_count, "a number: `100000`, `10M`")
POSITIVE = Parsed(amounts.parse_positive, "a whole number from 1 on")
TIME = Parsed(amounts.parse_seconds, "a time: `200ms`, `10s`")
DURATION = Parsed(amounts.parse_duration, "a time above 0: `10s`")
RATE = Parsed(amounts.parse_rate, "a rate: `500/s`")
POSITIVE_RATE = Parsed(amounts.parse_positive_rate, "a rate above 0: `500/s`")
SHARE = Parsed(amounts.parse_share, "a share: `5%`, or a number")
ONE_RECORDING = "a directory under data/, or one of its files"
ARE_TABLED = ("tabulate", "compare")

SHARED_ARGUMENTS = (  # of several commands
    Option(
        "recording",
        ONE_RECORDING,
        PATH,
        commands=each("tabulate", *PLOTS, "plot_timing", "plot_versions"),
    ),
    Option(
        "--into",
        "write into this Markdown file, where the command stands",
        PATH,
        commands=each("compare", "compare_versions", "explain_buckets", "gate", "list_stacks", "tabulate")
        | each("names", "dev/prove", *PLANS),
        metavar="FILE",
    ),
    Option(
        "--into",
        "tables into this Markdown file, where the command stands",
        commands=each("inspect_heaptrack"),
        metavar="FILE",
        group=HOW,
    ),
    Option(
        "--output",
        "FILE.png, FILE.svg, or FILE for both",
        PATH,
        commands=each(*PLOTS, "plot_buckets", "plot_versions"),
        flags=("-o", "--output"),
        required=True,
    ),
    Option(
        "--campaign",
        "only runs of this table of memtest/campaigns.toml",
        commands=each("tabulate", *PLOTS, "plot_timing"),
        metavar="NAME",
    ),
    Option(
        "--stack",
        "only this stack, may be repeated; the first is what others are compared with",
        commands=each("tabulate", "explain_buckets", *PLOTS, "plot_buckets", "plot_timing"),
        repeat=True,
    ),
    Option(
        "--suite",
        "only this suite; may be repeated",
        commands=each(*ARE_TABLED, "explain_buckets", "plot_mem", "plot_releases", "plot_timing"),
        repeat=True,
    ),
    Option("--suite", "of a recording with several", commands=each("plot_buckets", "plot_stacks")),
    Option("--allocator", "only this allocator; may be repeated", commands=each(*ARE_TABLED), repeat=True),
    Option(
        "--window",
        "only so many pairs in the handshake at once, or all; may be repeated",
        commands=each(*ARE_TABLED),
        repeat=True,
    ),
    Option(
        "--roles",
        "only together, split, keep-client or keep-server; may be repeated",
        commands=each(*ARE_TABLED, *PLOTS),
        repeat=True,
    ),
    Option(
        "--env",
        "only lab, deployed or deployed-thp; may be repeated",
        commands=each(*ARE_TABLED, "plot_mem"),
        repeat=True,
    ),
    Option(
        "--cpu",
        "only all, no-avx512, no-adx, no-aes or baseline; may be repeated",
        commands=each(*ARE_TABLED, "plot_mem"),
        repeat=True,
    ),
    Option(
        "--stage",
        "when sessions are told apart by bucket",
        Choice(tuple(choices.STAGE_PHASES)),
        commands=each("compare_versions", "plot_versions", default="established"),
    ),
    Option(
        "--timeout",
        "time limit of a run",
        TIME_OF_RUN,
        commands=each("measure", "profile_heap", default=Words("by its size")),
        metavar="SECONDS",
    ),
)

ARGUMENTS = (  # of one command, or of commands that are alike
    # build, measure, list
    Option(
        "stacks",
        "as in memtest/stacks.toml; all when none is named",
        commands=each("build"),
        nargs="*",
        metavar="STACK",
    ),
    Option(
        "--campaign",
        "the stacks of this table of memtest/campaigns.toml",
        commands=each("build"),
        metavar="NAME",
    ),
    Option("campaign", "a table of memtest/campaigns.toml", commands={"measure": "mem"}, nargs="?"),
    Option("--list", "print the runs and which are recorded; run nothing", Flag(), commands=each("measure")),
    Option("--verify", "every built stack and suite, 2 sessions; record nothing", Flag(), commands=each("measure")),
    Option(
        "--sources",
        "what they are, where they come from, how they are made",
        Flag(),
        commands=each("list_stacks"),
    ),
    # names, packages
    Option("options", "as given to make", commands=each("names"), nargs="*", metavar="OPTION=VALUE"),
    Option(
        "--goal",
        "the target of make that they are for",
        Choice(tuple(GOALS)),
        commands={"names": "mem"},
        metavar="TARGET",
    ),
    Option(
        "--list",
        "show the options of a target, or of all, with meanings, values and defaults",
        Choice((ALL_GOALS, *GOALS)),
        commands=each("names"),
        metavar="TARGET",
        nargs="?",
        const=ALL_GOALS,
    ),
    Option(
        "--default",
        "show the default of an option of the target profile",
        Choice(tuple(option.name for option in VARIABLES if "profile" in option.goals)),
        commands=each("names"),
    ),
    Option("--makefile", "show what each target of make takes, as a makefile", Flag(), commands=each("names")),
    Option("--reference", "show every option of make and of the commands", Flag(), commands=each("names")),
    Option(
        "purpose",
        f"what needs them: {', '.join(choices.PURPOSES)}",
        Choice(choices.PURPOSES),
        commands=each("packages"),
        metavar="PURPOSE",
    ),
    # heap, kernel_bytes, records, query
    Option("pid", "a process that was started under the meter", WHOLE, commands=each("heap"), nargs="?", metavar="PID"),
    Option(
        "--interval",
        "seconds between reports",
        Parsed(amounts.parse_interval, "seconds, from 0.01 to 3600"),
        commands={"heap": "1"},
        metavar="S",
    ),
    Option("--once", "one report: now, or of a command at its end", Flag(), commands=each("heap")),
    Option("--json", "NDJSON: an object for each program and one for all", Flag(), commands=each("heap")),
    Option(
        "--out",
        "where to",
        commands={"heap": Words("stderr with a command, else stdout")},
        metavar="FILE",
    ),
    Option(
        "--pairs",
        "connections of which both ends are here",
        Parsed(amounts.parse_pairs, f"a whole number from 1 to {amounts.MOST_PAIRS:,}"),
        commands={"kernel_bytes": "8000"},
        metavar="N",
    ),
    Option("--schema", "print the JSON schema of a record", Flag(), commands=each("records")),
    Option(
        "recording",
        "it is complete, and takes no more runs once it is sealed",
        PATH,
        commands=each("records seal"),
        metavar="DIRECTORY",
    ),
    Option(
        "recordings",
        "each line is checked, and sealed files against their manifest",
        PATH,
        commands=each("records verify"),
        nargs="+",
        metavar="DIRECTORY",
    ),
    Option("page", "a Markdown file, which is written anew", PATH, commands=each("query")),
    # compare, compare_builds, compare_versions, explain_buckets
    Option(
        "recording",
        "OLD and NEW; with --by one recording will do",
        commands=each("compare"),
        nargs="+",
        metavar="RECORDING",
    ),
    Option(
        "--by",
        f"what OLD and NEW are told apart by ({', '.join(choices.ASPECTS)}), and its values",
        commands=each("compare"),
        nargs=3,
        metavar=("ASPECT", "OLD", "NEW"),
    ),
    Option(
        "--force",
        "compare although declared settings differ, and say in what",
        Flag(),
        commands=each("compare"),
    ),
    Option(
        "--stack",
        "only this stack, may be repeated; OLD=NEW where it has another name in each",
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--role",
        "only figures of this; may be repeated",
        Choice(choices.HOLDERS),
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--meter",
        "only figures of this; may be repeated",
        Choice(tuple(choices.METERS)),
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--phase",
        f"ends of these phases, may be repeated; `{choices.ALL_PHASES}`: of every phase",
        commands={"compare": Words(", ".join(choices.COMPARED_STAGES))},
        repeat=True,
    ),
    Option("--bisect", "exit 0, 1 or 125, for `git bisect run`", Flag(), commands=each("compare_builds")),
    Option("recording", ONE_RECORDING, PATH, commands=each("compare_versions"), nargs="?"),
    Option(
        "--table",
        "only this table; may be repeated",
        Choice(choices.RELEASE_TABLES),
        commands=each("compare_versions"),
        repeat=True,
    ),
    Option(
        "recording",
        "a recording below data/, or profiles, a stack each",
        PATH,
        commands=each("explain_buckets"),
        nargs="+",
    ),
    # gate
    Option("budget", "a file of budgets: docs/ci.md", PATH, commands=each("gate"), metavar="BUDGET.toml"),
    Option(
        "--recording",
        "judge this recording, and measure nothing",
        PATH,
        commands=each("gate"),
        metavar="DIR",
        exclusive="where",
    ),
    Option(
        "--out",
        "keep what is measured",
        PATH,
        commands={"gate": Words("a temporary directory")},
        metavar="DIR",
        exclusive="where",
    ),
    Option(
        "--new-baseline",
        "measure into DIR, and judge nothing",
        PATH,
        commands=each("gate"),
        metavar="DIR",
        exclusive="where",
    ),
    Option("--list", "print the runs that would be made", Flag(), commands=each("gate"), exclusive="where"),
    Option(
        "--git",
        "the clone that has the commits of stacks @git:REF",
        PATH,
        commands=each("gate"),
        metavar="DIR",
    ),
    Option("--junit", "write JUnit XML too", PATH, commands=each("gate"), metavar="FILE"),
    Option(
        "--summary",
        "append a summary in Markdown to this file too",
        PATH,
        commands=each("gate"),
        metavar="FILE",
    ),
    # inspect_heaptrack
    Option("profile", "what to look at", commands=each("inspect_heaptrack"), nargs="?", metavar="PROFILE"),
    Option(
        "--diff",
        "two profiles instead: what NEW holds more",
        commands=each("inspect_heaptrack"),
        nargs=2,
        metavar=("OLD", "NEW"),
    ),
    Option("--force", "compare although suite or N differ", Flag(), commands=each("inspect_heaptrack")),
    Option("--suite", "of a recording: of which suite, where it has several", commands=each("inspect_heaptrack")),
    Option(
        "--stack",
        "of a recording, a directory: of which stack, such as openssl@3.5.5",
        commands=each("inspect_heaptrack"),
    ),
    Option(
        "--phase",
        "a phase, `peak` or `end`",
        commands={"inspect_heaptrack": Words("where most is live; with --diff established")},
        metavar="MOMENT",
        group=LOOK,
    ),
    Option(
        "--role",
        "whose memory",
        Choice(OWNERS),
        commands={"inspect_heaptrack": Words("everybody's")},
        group=LOOK,
    ),
    Option(
        "--by",
        "what makes a site large",
        Choice(choices.BY),
        commands={"inspect_heaptrack": Words("bytes that are live")},
        group=LOOK,
    ),
    Option(
        "--top",
        "sites to show",
        POSITIVE,
        commands={"inspect_heaptrack": Words(f"{choices.ROWS}")},
        metavar="K",
        group=LOOK,
    ),
    Option(
        "--sessions",
        "of both roles together, where no record says it",
        POSITIVE,
        commands=each("inspect_heaptrack"),
        metavar="N",
        group=LOOK,
    ),
    Option(
        "--filter",
        "stacks with such a function, file or module",
        commands=each("inspect_heaptrack"),
        metavar="REGEX",
        group=LOOK,
    ),
    Option("--callers", "a tree of who called the allocator", Flag(), commands=each("inspect_heaptrack"), group=HOW),
    Option("--sizes", "how many blocks of which size", Flag(), commands=each("inspect_heaptrack"), group=HOW),
    Option(
        "--buckets",
        "what a session's bytes are for, and why",
        Flag(),
        commands=each("inspect_heaptrack"),
        group=HOW,
    ),
    Option(
        "--folded",
        "folded stacks; without FILE to stdout",
        commands=each("inspect_heaptrack"),
        nargs="?",
        const="-",
        metavar="FILE",
        group=HOW,
    ),
    Option(
        "--speedscope",
        "for speedscope: every moment; - is stdout",
        commands=each("inspect_heaptrack"),
        metavar="FILE",
        group=HOW,
    ),
    Option(
        "--flamegraph",
        "FILE.svg: one moment; FILE.html: a page with all moments",
        commands=each("inspect_heaptrack"),
        metavar="FILE",
        group=HOW,
    ),
    Option(
        "--json",
        "as --format json",
        Flag(),
        commands=each("inspect_heaptrack"),
        const=choices.JSON,
        dest="format",
        group=HOW,
    ),
    # plot_*
    Option(
        "source",
        "a recording below data/, or profiles, a stack each",
        PATH,
        commands=each("plot_buckets"),
        nargs="+",
    ),
    Option(
        "--n",
        "sessions of the lower row",
        WHOLE,
        commands={"plot_mem": Words("the most there are")},
        metavar="N",
    ),
    Option(
        "--library",
        f"in order, up to {choices.MOST_SUITES} suites each; may be repeated",
        commands={"plot_releases": Words(f"all of {choices.LEAST_RELEASES} releases")},
        repeat=True,
        metavar="NAME",
    ),
    Option("--role", "whose sessions", Choice(ROLES), commands={"plot_stacks": "server"}),
    Option(
        "--out",
        "directory of the pictures",
        PATH,
        commands={"plot_timing": "pictures"},
        dest="output",
        metavar="DIR",
    ),
    # report, tabulate
    Option("recording", "directories under data/, or files of them", PATH, commands=each("report"), nargs="*"),
    Option("--format", "form of the report", Choice(choices.REPORT_FORMATS), commands={"report": choices.HTML}),
    Option(
        "--table",
        "only this table, as text; may be repeated",
        commands=each("report"),
        repeat=True,
        metavar="NAME",
    ),
    Option("--table", "only this table; may be repeated", Choice(TABLES), commands=each("tabulate"), repeat=True),
    Option("--n", "rows of the table of peaks; may be repeated", WHOLE, commands=each("tabulate"), repeat=True),
    Option(
        "--peer",
        f"of mixed pairs, the client's stack; {ITSELF}: no mixed pairs",
        commands=each("tabulate"),
        repeat=True,
    ),
    Option(
        "--process",
        "only rows of this process (a role of split runs, or both), in tables that tell them apart",
        Choice(PROCESSES),
        commands=each("tabulate"),
    ),
    # plan
    Option(
        "--stack",
        "may be repeated",
        commands=each(*PLANS, default=Words("those whose law is recorded")),
        repeat=True,
    ),
    Option("--suite", "of the sessions", commands=each(*PLANS, default=choices.PLAN_SUITE)),
    Option("--allocator", "system (glibc), jemalloc, mimalloc or tcmalloc", commands=each(*PLANS, default="system")),
    Option(
        "--role",
        "who holds the connections; both: a proxy, TLS on either side",
        Choice(choices.SIDES),
        commands=each(*PLANS, default="server"),
    ),
    Option(
        "--recording",
        "a directory under data/; may be repeated",
        PATH,
        commands=each(*PLANS, default=Words("all but data/local, the newest that has what is needed")),
        repeat=True,
        metavar="DIR",
    ),
    Option("--kernel-bytes", "kernel memory of a connection", BYTES, commands=each(*PLANS), metavar="K"),
    Option("--record-bytes", "what a full record in flight adds", BYTES, commands=each(*PLANS), metavar="BYTES"),
    Option(
        "--table",
        "only this table; may be repeated",
        Choice(choices.PLAN_TABLES),
        commands=each(*PLANS),
        repeat=True,
    ),
    Option(
        "--connections",
        "established, all of one process",
        COUNT,
        commands=each("plan memory"),
        metavar="N",
        required=True,
        example="--connections 100000",
    ),
    Option(
        "--memory",
        "what there is for them",
        SIZE,
        commands=each("plan fit"),
        metavar="SIZE",
        required=True,
        example="--memory 16GiB",
    ),
    Option("--memory", "of -m", SIZE, commands={"plan haproxy": "16GiB"}, metavar="SIZE"),
    Option(
        "--handshaking",
        "how many are in the handshake: 5% of the connections, or 5000 of them",
        SHARE,
        commands=each(*LOADED),
        metavar="SHARE",
    ),
    Option(
        "--in-flight",
        "how many have a full record in flight: 20%, or so many",
        SHARE,
        commands=each(*LOADED),
        metavar="SHARE",
    ),
    Option(
        "--rate",
        "new connections a second; those that come in --rtt and --client-time are in the handshake",
        RATE,
        commands=each(*LOADED),
        metavar="PER_S",
    ),
    Option("--rtt", "a round trip between client and server", TIME, commands=each(*LOADED), metavar="TIME"),
    Option(
        "--client-time",
        "what the client takes itself in a handshake",
        TIME,
        commands=each(*LOADED),
        metavar="TIME",
    ),
    Option(
        "--stalled-rate",
        "peers a second that begin a handshake and never go on",
        RATE,
        commands=each(*LOADED),
        metavar="PER_S",
    ),
    Option(
        "--timeout",
        "after which the server ends a handshake that does not go on",
        DURATION,
        commands=each(*LOADED),
        metavar="TIME",
    ),
    Option(
        "--clients",
        "that come back; of a fleet those of all hosts together",
        COUNT,
        commands=each(*CROWDED),
        metavar="N",
        required=True,
    ),
    Option("--within", "all come in so long", DURATION, commands=each(*CROWDED, default="10s"), metavar="TIME"),
    Option("--arrivals", "how they come", Choice(choices.ARRIVALS), commands=each(*CROWDED, default="uniform")),
    Option("--seed", "of the arrivals", WHOLE, commands=each(*CROWDED, default="1"), metavar="N"),
    Option(
        "--cores",
        "that make handshakes",
        COUNT,
        commands=each(*CROWDED, default=Words("those of the recording's machine")),
        metavar="N",
    ),
    Option(
        "--handshake-rate",
        "handshakes a second of one core",
        POSITIVE_RATE,
        commands=each(*CROWDED, default=Words("as recorded")),
        metavar="PER_S",
    ),
    Option(
        "--rtt", "a round trip between client and server", TIME, commands=each(*CROWDED, default="50ms"), metavar="TIME"
    ),
    Option(
        "--client-time",
        "what the client takes itself in a handshake",
        TIME,
        commands=each(*CROWDED, default="5ms"),
        metavar="TIME",
    ),
    Option(
        "--limit",
        "handshakes at a time; the others wait without a session",
        COUNT,
        commands=each(*CROWDED),
        metavar="W",
    ),
    Option(
        "--timeout",
        "after which clients give up, and come back",
        DURATION,
        commands=each(*CROWDED),
        metavar="TIME",
    ),
    Option(
        "--retry",
        "how much later they come back, half as much more or less; then twice as much",
        DURATION,
        commands=each(*CROWDED, default="1s"),
        metavar="TIME",
    ),
    Option("--attempts", "how often each comes at most", COUNT, commands=each(*CROWDED, default="10"), metavar="N"),
    Option(
        "--output",
        "a picture: FILE.png, FILE.svg, or FILE for both",
        PATH,
        commands=each(*CROWDED),
        flags=("-o", "--output"),
    ),
    Option("--hosts", "of the fleet", COUNT, commands=each("plan fleet"), metavar="N", required=True),
    Option("--fail", "hosts that fail", COUNT, commands={"plan fleet": "1"}, metavar="N"),
    Option(
        "--handshaking",
        "of a host's connections at any time, as 1% or so many",
        SHARE,
        commands={"plan fleet": "0%"},
        metavar="SHARE",
    ),
    Option(
        "--in-flight",
        "of a host's connections, with a full record in flight",
        SHARE,
        commands={"plan fleet": "0%"},
        metavar="SHARE",
    ),
    # dev/
    Option(
        "recording",
        ONE_RECORDING,
        PATH,
        commands={"dev/prove": Words("what this machine recorded today in data/local")},
        nargs="?",
    ),
    Option("--quick", "DHAT, one run per phase, at two phases only", Flag(), commands=each("dev/selfcheck")),
    Option(
        "--leave-out",
        "what cannot be checked is left out, and not refused",
        Flag(),
        commands=each("dev/selfcheck"),
    ),
    Option("--meter", "another build of the heap meter", PATH, commands=each("dev/selfcheck"), metavar="LIBRARY"),
)

OPTIONS = (*VARIABLES, *SHARED_ARGUMENTS, *ARGUMENTS)


def options_of_goal(goal: str) -> dict[str, Option]:
    """The variables that a target of make takes, by name."""
    return {option.name: option for option in OPTIONS if goal in option.goals}


def goals_of_command(command: str) -> list[str]:
    return [goal for goal, called in GOALS.items() if called == command]


def options_of_command(command: str) -> list[tuple[Option, Default]]:
    """The options of tools/COMMAND.py, each with its default; None where several targets of make have several."""
    goals, taken = goals_of_command(command), []
    for option in OPTIONS:
        defaults = [option.goals[goal] for goal in goals if goal in option.goals]
        if command in option.commands:
            taken.append((option, option.commands[command]))
        elif defaults:
            taken.append((option, defaults[0] if len(goals) == 1 else None))
    return taken
