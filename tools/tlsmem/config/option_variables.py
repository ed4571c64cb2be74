"""The options of make, which the commands that its targets call take as flags. Standard library only."""

from tlsmem.config import choices
from tlsmem.config.option_kinds import Build, Choice, Directory, File, Flag, Library, Multiplier, Names, Number, Numbers
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
        "sessions, client and server together; a positive even number",
        Number(2, even=True),
        goals=each("mem", default=mem_default("n"))
        | {"compare": CampaignDefault("compare", "n")}
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
        "what to profile, one stack (names: make stacks), or a tree: LIBRARY@git:REVISION, LIBRARY@path:DIRECTORY",
        Names("stack", single=NOT_TWO_PROFILES, trees=True),
        goals={"profile": "openssl@3.5.5"},
        commands={"packages": "openssl@3.5.5"},
        example="STACK=rustls+ring@0.23.46",
    ),
    Option(
        "STACKS",
        "what to measure, first the one that others are compared with; or all (names: make stacks)",
        Names("stack", all_too=True, trees=True),
        goals=each("mem", "bench", "selfcheck", default=mem_default("stacks"))
        | {name: CampaignDefault("throughput", "stacks") for name in TIMED}
        | {"stacks": "all"}
        | {name: CampaignDefault(name, "stacks") for name in CHECKS}
        | each("bench-attribution", "bench-loop", default="openssl@3.5.5 rustls+aws-lc@0.23.46"),
        commands=each("packages"),
        example='STACKS="openssl@3.5.5 null@c"',
    ),
    Option(
        "PREFIX",
        "where the library of openssl@path is installed: a directory with include/ and lib/",
        Directory("where your library was installed: its include/ and lib/"),
        goals=each("mem", *TIMED, "compare", *CHECKS, *BENCHES, "selfcheck", "profile", default=Words("none")),
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
        goals={"mem": mem_default("roles", "together")},
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
        goals={"mem": mem_default("envs", "lab")},
        example="ENV=both",
    ),
    Option(
        "ALLOCATOR",
        "malloc of the whole process (memtest/allocators.toml)",
        Names("allocator", single="a process has one malloc"),
        goals={"mem": mem_default("allocators")}
        | {name: CampaignDefault("throughput", "allocators") for name in TIMED},
        commands=each("packages"),
        example="ALLOCATOR=jemalloc",
    ),
    Option(
        "CPU",
        "features of the CPU that the library may use (memtest/cpus.toml)",
        Choice(choices.CPU_FEATURES),
        goals={"mem": mem_default("cpus", "all")}
        | {name: CampaignDefault("throughput", "cpus", "all") for name in TIMED},
        example="CPU=no-avx512",
    ),
    Option(
        "OPTIONS",
        "of the library: default, or low-memory: what it documents to hold less at rest (docs/reference/stacks.md)",
        Choice(choices.LIBRARY_OPTIONS),
        goals={"mem": mem_default("options", "default")}
        | {name: CampaignDefault("throughput", "options", "default") for name in TIMED},
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
        goals={"mem": mem_default("data", "short")},
        example="DATA=full",
    ),
    Option(
        "WINDOW",
        "pairs in the handshake at a time, or all; with KEEP 100 unless given",
        Number(word="all"),
        goals={"mem": mem_default("windows")},
        example="WINDOW=100",
    ),
    Option(
        "SIZES",
        "bytes of a write, one or several",
        Numbers(2**30),  # memtest/arguments.c has the same limit, and that of THREADS
        goals={"throughput": CampaignDefault("throughput", "sizes")},
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
        goals={"mem": mem_default("repeats")}
        | {name: CampaignDefault("throughput", "repeats") for name in TIMED[:3]}
        | {"measure": Words("30"), "bench": "7", "bench-attribution": "5", "bench-loop": "15"},
        example="REPEATS=3",
    ),
    Option(
        "HEAP",
        "how many of the smallest numbers of sessions are run under the heap meter too, or all",
        Number(0, word="all"),
        goals={"mem": mem_default("heap")},
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
        "the clone that has the revisions; else that of a directory beside them, or where you are",
        Directory("a clone of the library's repository"),
        goals=each("mem", "profile", "compare", default=Words("none")),
        commands=each("build"),
        example="GIT=~/src/openssl",
    ),
    Option(
        "LIKE",
        "the stack whose steps build the trees; else that of the newest release not above theirs",
        Names("stack", single="a build has one table of steps"),
        goals=each("mem", "profile", "compare", default=Words("none")),
        commands=each("build"),
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
        "RSS",
        "RSS too, with up to so many sessions, three times each: minutes instead of seconds",
        Number(40, most=10**6, even=True),
        goals={"compare": Words("none: live heap alone")},
        example="RSS=2000",
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
        | each("profile_heap", "tabulate", "dev/selfcheck", default=ON_TERMINAL)
        | each(*PLANS, default=Words("the answer, not tables")),
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
