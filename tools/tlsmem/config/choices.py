"""The values that options offer by name, and what an option shares with the code behind it. Standard library only."""

from pathlib import Path
from typing import Literal, get_args

from tlsmem.config import toml_tables

# Forms of tables and reports
TABLE, MARKDOWN, CSV, JSON = FORMATS = ("table", "markdown", "csv", "json")
HTML, DIRECTORY, FILES = "html", "directory", "files"
QUERY_TABLES = ("runs", "phases", "blocks", "stacks", "live", "live_samples")  # of recordings, for queries
TABLE_FILES = ("parquet", "csv")
FIGURE_FORMATS = ("github-action-benchmark", "bencher", "openmetrics")  # of what a session costs, for a CI
EXPORT_FORMATS = (*TABLE_FILES, *FIGURE_FORMATS)
FILE_FORMATS = (MARKDOWN, CSV, JSON)
REPORT_FORMATS = (HTML, DIRECTORY, *FILE_FORMATS, FILES)

# How runs are made
PROCESSES_OF_ROLES = ("together", "split")
ENVIRONMENTS = ("lab", "deployed", "both")
DATA = ("short", "full")
LIBRARY_OPTIONS = ("default", "low-memory", "drop-peer-chain")
CPU_FEATURES = ("all", "no-avx512", "no-adx", "no-aes", "baseline")
TIME_MULTIPLIER = "BENCH_MULTIPLIER"  # in the environment: a factor for the length of every timed run
PROFILERS = ("sites", "heaptrack", "massif", "dhat")
BOTH = "both"
SIDES = ("client", "server", BOTH)  # whose sessions are shown

# Comparisons of recordings
ASPECTS = ("stack", "allocator", "compiler", "roles", "window", "cpu", "env", "suite")  # what --by tells sides apart by
NARROWED = ("suite", "allocator", "window", "roles", "env", "cpu")  # by options of these names
HOLDERS = ("client", "server", "pair", "process")  # of compared figures
ALL_PHASES = "all"
PEAK = "peak"
COMPARED_STAGES = ("created", PEAK, "established", "reply", "idle", "closed")  # unless others are asked for
METERS: dict[str, str] = {  # meter to its unit
    "heap": "B",  # live bytes a session
    "blocks": "blocks",  # live blocks a session; at the peak those live at that moment
    "allocations": "blocks",  # allocated since `contexts` up to the end of the phase, a session, whatever was freed
    "allocated": "B",  # the same in bytes
    "rest": "B",  # tables of the library's own, of a process: what the larger run has more of than the smaller
    "rss": "B",  # a session: the slope over N; of roles together a pair: two sessions
    "peak-rss": "B",  # of the process, at an N
    "handshakes": "handshakes/s",  # of a role's own work
    "send": "MiB/s",
    "receive": "MiB/s",
}

# Walks along a library's releases
RELEASE_STAGES = {"created": "created", "peak": "peak, one more of many", "established": "established", "idle": "idle"}
STAGE_PHASES = {"created": "sessions", "established": "established", "idle": "idle"}  # at whose end a stage is
RELEASE_SUITES = ("tls13-rsa-aes256", "tls12-rsa-aes256")  # unless others are asked for
RELEASE_TABLES = ("versions", "buckets", "changes")
LEAST_RELEASES = 3  # in the picture of releases, of a library that was not named
MOST_SUITES = 3  # lines of a panel of that picture

# Views of a heap profile
Live = Literal["bytes", "blocks"]
OfRun = Literal["allocations", "allocated", "temporary"]
By = Literal["bytes", "blocks", "allocations", "allocated", "temporary"]
LIVE, OF_RUN, BY = get_args(Live), get_args(OfRun), get_args(By)
ROWS = 10  # sites that are shown
VIEWS = ("callers", "sizes", "buckets", "tls")
OF_ONE_PROFILE = ("speedscope", "pprof", "parquet")  # files that no diff has
PROFILE_FILES = ("folded", *OF_ONE_PROFILE, "flamegraph")
FLAMEGRAPH_SUFFIXES = (".html", ".svg")


def list_tables(file: str) -> tuple[str, ...]:
    """Return the names of the tables of memtest/FILE.toml."""
    try:
        return tuple(toml_tables.read_tables(file))
    except ValueError:
        return ()  # what reads the tables says what is wrong


# Purposes of system packages
PACKAGED = "system"  # as the stack of a live run: the server as its package has it, or as this repository builds it
CLIENT = "-client"  # ends the name of a runtime's client


def list_runtimes() -> tuple[str, ...]:
    """Return the names of memtest/runtimes.toml, and of the clients among them."""
    try:
        tables = toml_tables.read_tables("runtimes")
    except ValueError:
        return ()  # what reads the tables says what is wrong
    return (*tables, *(name + CLIENT for name, one in tables.items() if one.get("is_client")))


RUNTIMES = list_runtimes()
LIVE_SERVERS = (  # whose configuration tlsmem/live/servers.py has, and those of memtest/live_servers.toml
    *("nginx", "haproxy", "go", "rustls"),
    *list_tables("live_servers"),
    *RUNTIMES,
)
CONFIGURED_SERVERS = ("nginx", "haproxy")  # whose settings tlsmem/live/settings.py has
SETTINGS = ("certificates", "session-cache", "worker-connections", "backends", "client-roots", "ticket-keys")
ALL_SERVERS = "all"  # as a name: EVERY_SERVER; as a stack: those that a server was tried on
EVERY_SERVER = tuple(name for name in LIVE_SERVERS if name not in RUNTIMES)
PURPOSES = (
    *("mem", "timed", "selfcheck", "check", "check-pages", "check-ci-page", "compare", "profile"),
    *(f"live-{server}" for server in (*LIVE_SERVERS, "openssl-s_server", "path", "source", "sites", "all")),
)

# Plans
ARRIVALS = ("uniform", "poisson", "even", "at-once")
PLAN_TABLES = ("memory", "fit", "storm", "fleet", "haproxy", "check", "servers", "predictions", "terms", "left-out")
PLAN_STATES = ("in-use", "at-rest")
PLAN_SUITE = "tls13-rsa-aes256"


def flamegraph_suffix(file: Path | str) -> str:
    if (found := Path(file).suffix.lower()) not in FLAMEGRAPH_SUFFIXES:
        raise ValueError(f"{file}: a flamegraph file must end in .svg (one moment) or .html (all moments)")
    return found
