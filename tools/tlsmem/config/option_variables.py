"""The options of make, which the commands that its targets call take as flags. Standard library only."""

from tlsmem.config import choices
from tlsmem.config.option_kinds import (
    STACKS,
    Build,
    Choice,
    Directory,
    File,
    Flag,
    Library,
    Multiplier,
    Names,
    Number,
    Numbers,
    ServerName,
)
from tlsmem.config.option_model import (
    BENCHES,
    CHECKS,
    PLANS,
    REQUIRED,
    TIME_MULTIPLIER,
    TIMED,
    CampaignDefault,
    Option,
    Words,
    each,
    mem_default,
)
from tlsmem.schema.roles import ROLES

DATED = Words("data/local/DATE-CPU-pPATH")
ON_TERMINAL = Words("table on a terminal, else markdown")
NOT_TWO_PROFILES = "a profile is of one run"

VARIABLES = (
    Option(
        "N",
        "number of sessions, clients and servers together; even",
        Number(2, even=True),
        goals=each("mem", default=mem_default("n"))
        | {"compare": CampaignDefault("compare", "n")}
        | {"bench": "2000", "bench-attribution": "10000", "selfcheck": "40", "profile": "1000"},
        example="N=10000",
    ),
    Option(
        "N",
        "number of live sessions of the role; more than 20 times WINDOW",
        Number(),
        goals={"c1m": "1000000"},
        example="N=100000",
    ),
    Option(
        "N",
        "numbers of connections, each in a run of its own",
        Numbers(10**7),
        goals={"live": "1000,3000,9900"},
        example="N=10000",
    ),
    Option(
        "SERVER",
        "the server to measure",
        ServerName((*choices.LIVE_SERVERS, "openssl-s_server")),
        goals={"live": REQUIRED},
        example="SERVER=nginx",
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
        "the new build, in the same form as A",
        Build(),
        goals={"compare": REQUIRED},
        example="B=openssl@path:.",
    ),
    Option(
        "LIB",
        "a library with several releases in stacks.toml, with its variants: openssl, rustls+aws-lc",
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
        "only these releases of the library",
        goals={"compare-versions": Words("all")},
        commands={"plot_versions": Words("all")},
        metavar="NAMES",
        example="VERSIONS=3.0.22,3.5.5",
    ),
    Option(
        "RECORDINGS",
        "recordings to show: directories below data/",
        goals={"report": Words("your newest, and the newest with memory, all stacks and time")},
        metavar="NAMES",
        example="RECORDINGS=data/local/2026-01-31-some-cpu",
    ),
    Option(
        "STACK",
        "the stack to profile (names: make stacks), or a tree: LIBRARY@git:REVISION, LIBRARY@path:DIRECTORY",
        Names("stack", single=NOT_TWO_PROFILES, trees=True),
        goals={"profile": "openssl@3.5.5"},
        commands={"packages": "openssl@3.5.5"},
        example="STACK=rustls+ring@0.23.46",
    ),
    Option(
        "STACK",
        "stacks to run one after the other (names: make stacks)",
        Names("stack"),
        goals={"c1m": Words("those of the campaign c1m in memtest/campaigns.toml that are built")},
        example="STACK=rustls+aws-lc@0.23.46",
    ),
    Option(
        "STACKS",
        "stacks to measure, or all; others are compared with the first (names: make stacks)",
        STACKS,
        goals=each("mem", "axes", "bench", "selfcheck", default=mem_default("stacks"))
        | {name: CampaignDefault("throughput", "stacks") for name in TIMED}
        | {"stacks": "all"}
        | {name: CampaignDefault(name, "stacks") for name in CHECKS}
        | each("bench-attribution", "bench-loop", default="openssl@3.5.5 rustls+aws-lc@0.23.46"),
        commands=each("packages"),
        example='STACKS="openssl@3.5.5 null@c"',
    ),
    Option(
        "PREFIX",
        "where the library of openssl@path is installed: the directory with include/ and lib/",
        Directory("where your library was installed: its include/ and lib/"),
        goals=each("mem", "axes", *TIMED, "compare", *CHECKS, *BENCHES, "selfcheck", "profile", default=Words("none")),
        commands=each("packages", "build"),
        example="PREFIX=/opt/openssl",
    ),
    Option(
        "SUITE",
        "protocol configuration (memtest/suites.toml)",
        Names("suite", single=NOT_TWO_PROFILES),
        goals={"profile": "tls13-rsa-aes256"},
        example="SUITE=tls12-rsa-aes256",
    ),
    Option(
        "SUITES",
        "protocol configurations (memtest/suites.toml)",
        Names("suite"),
        goals=each("mem", "bench", default=mem_default("suites"))
        | {name: CampaignDefault(name, "suites") for name in ("compare", "throughput")}
        | {"handshake": Words("those of the campaign handshake in memtest/campaigns.toml")}
        | {"compare-versions": Words(" ".join(choices.RELEASE_SUITES)), "bench-attribution": "tls13-rsa-aes256"}
        | {"selfcheck": "tls13-rsa-aes256 tls12-rsa-aes256"},
        commands={"plot_versions": Words(" ".join(choices.RELEASE_SUITES))},
        example="SUITES=tls13-rsa-aes256,tls12-rsa-aes256",
    ),
    Option(
        "TOOL",
        "profiler: sites (built in), heaptrack, massif or dhat",
        Choice(choices.PROFILERS),
        goals={"profile": "heaptrack"},
        commands={"packages": "heaptrack"},
        example="TOOL=massif",
    ),
    Option(
        "ROLES",
        "together: both roles in one process; split: a process for each role",
        Choice(choices.PROCESSES_OF_ROLES),
        goals={"mem": mem_default("roles", "together")},
        example="ROLES=split",
    ),
    Option(
        "KEEP",
        "client or server: keep sessions of this role only; the other role's are freed after each window",
        Choice(ROLES),
        goals={"mem": Words("both")},
        example="KEEP=server",
    ),
    Option(
        "ROLE",
        "client or server: whose sessions stay; their peers are freed after each window",
        Choice(ROLES),
        goals={"c1m": "server"},
        example="ROLE=client",
    ),
    Option(
        "CLIENT",
        "the client stack of a mixed pair, with SERVER=; each has its own process",
        Names("stack", single="each end has one stack"),
        goals={"mem": Words("none: each stack with itself")},
        commands=each("packages"),
        example="CLIENT=openssl@3.5.5",
    ),
    Option(
        "SERVER",
        "the server stack of a mixed pair, with CLIENT=; each has its own process",
        Names("stack", single="each end has one stack"),
        goals={"mem": Words("none: each stack with itself")},
        commands=each("packages"),
        example="SERVER=rustls+ring@0.23.46",
    ),
    Option(
        "ENV",
        "lab: controlled environment; deployed: default system settings (randomised addresses, huge pages, four "
        "threads); or both",
        Choice(choices.ENVIRONMENTS),
        goals={"mem": mem_default("envs", "lab")},
        example="ENV=both",
    ),
    Option(
        "ALLOCATOR",
        "the allocator of the whole process (memtest/allocators.toml)",
        Names("allocator", single="a process has one malloc"),
        goals={"mem": mem_default("allocators")}
        | {name: CampaignDefault("throughput", "allocators") for name in TIMED},
        commands=each("packages"),
        example="ALLOCATOR=jemalloc",
    ),
    Option(
        "CPU",
        "CPU features that the library may use (memtest/cpus.toml)",
        Choice(choices.CPU_FEATURES),
        goals={"mem": mem_default("cpus", "all")}
        | {name: CampaignDefault("throughput", "cpus", "all") for name in TIMED},
        example="CPU=no-avx512",
    ),
    Option(
        "OPTIONS",
        "library options: default; low-memory: options that make the library hold less between records; "
        "drop-peer-chain: its option for servers not to keep client certificates (docs/reference/stacks.md)",
        Choice(choices.LIBRARY_OPTIONS),
        goals={"mem": mem_default("options", "default")}
        | {name: CampaignDefault("throughput", "options", "default") for name in TIMED}
        | {"c1m": "default"},
        example="OPTIONS=low-memory",
    ),
    Option(
        "TICKETS",
        "tickets that a server issues per session; library: the library's default",
        Number(0, word="library"),
        goals=each("mem", *TIMED, default=Words("as in the suite")),
        example="TICKETS=library",
    ),
    Option(
        "DATA",
        "short: each session sends and receives 1 KiB; full: also 16 KiB each way, then it waits in a read",
        Choice(choices.DATA),
        goals={"mem": mem_default("data", "short")},
        example="DATA=full",
    ),
    Option(
        "WINDOW",
        "number of pairs in the handshake at a time, or all; default with KEEP: 100",
        Number(word="all"),
        goals={"mem": mem_default("windows")},
        example="WINDOW=100",
    ),
    Option(
        "WINDOW",
        "number of pairs in the handshake at a time",
        Number(),
        goals={"c1m": "1000"},
        example="WINDOW=100",
    ),
    Option(
        "RESERVE",
        "GiB of the available memory that a run leaves to other programs",
        Number(0, most=10**4),
        goals={"c1m": "4"},
        example="RESERVE=1",
    ),
    Option(
        "WINDOW",
        "numbers of connections in the handshake at a time, or all; each in a run of its own",
        Numbers(10**7, "all"),
        goals={"live": "100"},
        example="WINDOW=1,100,all",
    ),
    Option(
        "SIZES",
        "bytes per write; several are measured one after the other",
        Numbers(2**30, are_bytes=True),  # memtest/arguments.c has the same limit, and that of THREADS
        goals={"throughput": CampaignDefault("throughput", "sizes")},
        example="SIZES=16,1024,1048576",
    ),
    Option(
        "THREADS",
        "number of concurrent threads; several are measured one after the other",
        Numbers(256),
        goals=each("throughput", "handshake", default=Words("1"))
        | {"threads": Words("1, 2, 3, 4, 8, ... up to the number of CPUs")},
        example="THREADS=1,2,4",
    ),
    Option(
        "REPEATS",
        "number of repeats of each run",
        Number(most=1000),
        goals={"mem": mem_default("repeats")}
        | {name: CampaignDefault("throughput", "repeats") for name in TIMED[:3]}
        | {"measure": Words("30"), "bench": "7", "bench-attribution": "5", "bench-loop": "15"},
        example="REPEATS=3",
    ),
    Option(
        "HEAP",
        "heap runs for this many of the smallest session counts, or all",
        Number(0, word="all"),
        goals={"mem": mem_default("heap")},
        example="HEAP=all",
    ),
    Option(
        "JOBS",
        "number of concurrent runs, each on its own CPU",
        Number(),
        goals=each("mem", "axes", "selfcheck", "profile", "prove", default="2"),
        example="JOBS=1",
    ),
    Option(
        "GIT",
        "the clone that has the revisions; default: that of a compared directory, or the current one",
        Directory("a clone of the library's repository"),
        goals=each("mem", "profile", "compare", default=Words("none")),
        commands=each("build"),
        example="GIT=~/src/openssl",
    ),
    Option(
        "LIKE",
        "the stack whose build steps are used for the trees; default: the newest release that is not newer than theirs",
        Names("stack", single="a build has one table of steps"),
        goals=each("mem", "profile", "compare", default=Words("none")),
        commands=each("build"),
        example="LIKE=openssl@3.5.5",
    ),
    Option(
        "ROLE",
        "sessions to show: client, server or both",
        Choice(choices.SIDES),
        goals=each("compare", "compare-versions", default="both"),
        commands={"plot_versions": "both"},
        example="ROLE=server",
    ),
    Option(
        "RSS",
        "also RSS, with up to this many sessions, three times each: minutes instead of seconds",
        Number(40, most=10**6, even=True),
        goals={"compare": Words("none: live heap alone")},
        example="RSS=2000",
    ),
    Option(
        "OUTDATED",
        "ask the registries for releases that are newer than those of memtest/stacks.toml, and whether they serve them",
        Flag(),
        goals={"stacks": "0"},
        example="OUTDATED=1",
    ),
    Option(
        "FRESH",
        "measure again what is recorded",
        Flag(),
        goals=each("mem", *TIMED, "profile", "prove", "axes", "c1m", "live", default="0"),
        example="FRESH=1",
    ),
    Option(
        "OUT",
        "directory for the recording and the pictures; one directly in data/ needs a clean tree",
        Directory(),
        goals=each("mem", *TIMED, "profile", "prove", "axes", "c1m", "live", default=DATED)
        | {"compare": Words("build/compare"), "compare-versions": Words("build/versions/LIB")},
        example="OUT=data/local/mine",
    ),
    Option(
        "OUT",
        "file or directory of the report",
        File(),
        goals={"report": Words("report.html, report, or stdout, by --format")},
        flags=("-o", "--out"),
        dest="output",
        metavar="FILE",
        example="OUT=both.html",
    ),
    Option(
        "FORMAT",
        "format of the tables",
        Choice(choices.FORMATS),
        goals=each("compare", "compare-versions", default=ON_TERMINAL),
        commands=each("compare", "gate", "inspect_heaptrack", "kernel_bytes", "list_stacks", default=ON_TERMINAL)
        | each("profile_heap", "tabulate", "dev/selfcheck", default=ON_TERMINAL)
        | each(*PLANS, default=Words("the answer, not tables")),
        example="FORMAT=csv",
    ),
    Option(
        TIME_MULTIPLIER,
        "factor for the length of every run (0.1: a tenth); may also be set in the environment",
        Multiplier(),
        goals=each(*TIMED, default="1"),
        example="BENCH_MULTIPLIER=0.1",
    ),
)
