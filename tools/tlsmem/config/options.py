"""Every knob of make, what it may be, and which do not go together. Standard library only."""

import re
from collections.abc import Iterable
from pathlib import Path

MEMORY_OPTIONS = {  # of `make mem`
    "N": "sessions, client and server together; a positive even number",
    "STACKS": "what to measure, first the one that others are compared with; or all (names: make stacks)",
    "PREFIX": "where the library of openssl@path is installed: a directory with include/ and lib/",
    "SUITES": "protocol configurations (memtest/suites.toml)",
    "ROLES": "together: both roles in one process; split: a process each",
    "KEEP": "client or server: the sessions that stay, in one process that frees their peers, window by window",
    "CLIENT": "a stack, to be measured against SERVER=, a process each",
    "SERVER": "a stack, to be measured against CLIENT=, a process each",
    "ENV": "lab, deployed (randomised, the host's huge pages, four threads), or both",
    "ALLOCATOR": "malloc of the whole process: system, jemalloc, mimalloc, tcmalloc (memtest/allocators.toml)",
    "CPU": "features of it that the library may use: all, no-avx512, no-aes, or baseline (memtest/cpus.toml)",
    "WINDOW": "pairs in the handshake at a time, or all; with KEEP 100 unless given",
    "REPEATS": "how often each run is made",
    "HEAP": "how many of the smallest numbers of sessions are run under the heap meter too, or all",
    "JOBS": "runs at a time, each on a CPU of its own",
    "FRESH": "1 measures again what has been measured",
    "OUT": "directory of the recording and the pictures; one in data/ itself needs a clean tree",
}
FIXED_DEFAULTS = {"JOBS": "2", "FRESH": "0", "OUT": "data/local/DATE-CPU", "KEEP": "both"}
FIXED_DEFAULTS |= dict.fromkeys(("CLIENT", "SERVER"), "none: each stack with itself") | {"PREFIX": "none"}
CAMPAIGN_KEYS = {
    "ALLOCATOR": "allocators",
    "WINDOW": "windows",
    "ENV": "envs",
    "CPU": "cpus",
}  # of a campaign; else the knob's
TIME_MULTIPLIER = "BENCH_MULTIPLIER"  # beside MEMTEST_CACHE all that may come from the environment
TIMED_OPTIONS = {  # knobs of throughput, handshake, threads and measure, which take some of mem's too
    "SIZES": "bytes of a write, one or several: 16,1024,1048576 (throughput)",
    "THREADS": "how many run at once, one or several: 1,2,4; more than there are CPUs are marked",
    TIME_MULTIPLIER: "a positive number that lengthens (0.1: shortens) every run; the environment may say it too",
}
TIMED_DEFAULTS = {  # as the campaigns of campaigns.toml have them
    "STACKS": "openssl@3.5.5 boringssl@5.4.0 rustls+aws-lc@0.23.46, which are built first where they can be",
    "PREFIX": "none",
    "SUITES": "those of the table in memtest/campaigns.toml (throughput, handshake)",
    "SIZES": "1048576",
    "THREADS": "1; of threads 1, 2, 3, 4, 8, ... up to the number of CPUs",
    "REPEATS": "5; of measure 30",
    "ALLOCATOR": "system",
    "CPU": "all",
    "FRESH": "0",
    "OUT": "data/local/DATE-CPU",
    TIME_MULTIPLIER: "1",
}
TIMED_OPTION_NAMES = {
    "throughput": list(TIMED_DEFAULTS),
    "handshake": [knob for knob in TIMED_DEFAULTS if knob != "SIZES"],
}
OF_PROFILE = {  # which takes some of the others too
    "STACK": "what to profile, one stack (names: make stacks)",
    "SUITE": "its protocol configuration (memtest/suites.toml)",
    "TOOL": "who looks: sites (the heap meter), heaptrack, massif or dhat",
}
COMPARE_OPTIONS = {  # which takes SUITES, N and OUT too
    "A": "the old build: a stack, LIBRARY@git:REVISION, or LIBRARY@path:DIRECTORY",
    "B": "the new build, named likewise",
    "GIT": "the clone that has the revisions; else that of a directory that is compared, or where you are",
    "LIKE": "the stack whose steps build both; else that of the newest release not above theirs",
    "ROLE": "whose sessions are shown: client, server or both",
    "FORMAT": "of the answer: table, markdown, csv or json",
}
OF_VERSIONS = {  # which takes SUITES, ROLE, OUT and FORMAT too
    "LIB": "a library with several releases among the stacks, and its variants: openssl, rustls+aws-lc",
    "VERSIONS": "only these releases of it: 3.0.22,3.5.5",
}
OF_REPORT = {"RECORDINGS": "one or several, directories below data/; each is told by its machine"}  # and OUT
ALL_OPTIONS = MEMORY_OPTIONS | TIMED_OPTIONS | OF_PROFILE | COMPARE_OPTIONS | OF_VERSIONS | OF_REPORT
COMPARE_DEFAULTS = {
    "A": "none: it is required",
    "B": "none: it is required",
    "SUITES": "tls12-rsa-aes256 tls13-rsa-aes256",
}
COMPARE_DEFAULTS |= {
    "ROLE": "both",
    "N": "200",
    "GIT": "none",
    "LIKE": "none",
    "PREFIX": "none",
    "OUT": "build/compare",
}
COMPARE_DEFAULTS |= {"FORMAT": "table on a terminal, else markdown"}
VERSION_DEFAULTS = {"LIB": "none: it is required", "VERSIONS": "all", "SUITES": "tls13-rsa-aes256 tls12-rsa-aes256"}
VERSION_DEFAULTS |= {"ROLE": "both", "OUT": "build/versions/LIB", "FORMAT": "table on a terminal, else markdown"}
REPORT_DEFAULTS = {
    "RECORDINGS": "your newest, and the newest with memory, all stacks and time",
    "OUT": "here: report.html",
}
TREE_STACK_NAME = re.compile(r"([^@]*)@(git|path):(.*)", re.DOTALL)  # LIBRARY(+VARIANT)*, and where its tree is
PROFILE_DEFAULTS = {
    "STACK": "openssl@3.5.5",
    "SUITE": "tls13-rsa-aes256",
    "N": "1000",
    "TOOL": "heaptrack",
}  # with defaults
PROFILE_DEFAULTS |= {knob: FIXED_DEFAULTS[knob] for knob in ("PREFIX", "JOBS", "OUT", "FRESH")}
NUMBER_LISTS = ("SIZES", "THREADS")  # lists of them
MOST = {"REPEATS": 1000, "SIZES": 2**30, "THREADS": 256}  # memtest/arguments.c's own
MOST |= dict.fromkeys(("N", "WINDOW", "HEAP", "JOBS"), 10**9)
LEAST = {"N": 2, "HEAP": 0}  # else 1
NAME_LISTS = {"STACKS": "stack", "SUITES": "suite", "ALLOCATOR": "allocator", "CLIENT": "stack", "SERVER": "stack"}
NAME_LISTS |= {"STACK": "stack", "SUITE": "suite", "LIKE": "stack"}
SINGLE_VALUED = {"ALLOCATOR": "a process has one malloc", "CLIENT": "it is one stack", "SERVER": "it is one stack"}
SINGLE_VALUED |= dict.fromkeys(("STACK", "SUITE"), "a profile is of one run") | {
    "LIKE": "a build has one table of steps"
}
CHOICES = {
    "ROLES": ("together", "split"),
    "KEEP": ("client", "server"),
    "ENV": ("lab", "deployed", "both"),
    "CPU": ("all", "no-avx512", "no-aes", "baseline"),
    "FRESH": ("0", "1"),
    "TOOL": ("sites", "heaptrack", "massif", "dhat"),
    "ROLE": ("client", "server", "both"),
    "FORMAT": ("table", "markdown", "csv", "json"),
}


def check_number(knob: str, value: str) -> None:
    if knob in ("WINDOW", "HEAP") and value == "all":
        return
    if re.fullmatch(r"-[0-9]+", value):
        raise ValueError(f"{knob}={value} is negative; the least is {LEAST.get(knob, 1)}")
    if not re.fullmatch(r"[0-9]+", value):
        or_all = " or all" if knob in ("WINDOW", "HEAP") else ""
        raise ValueError(f"{knob}={value} is not a whole number{or_all}")
    if len(value.lstrip("0")) > 10 or int(value.lstrip("0") or "0") > MOST[knob]:
        raise ValueError(f"{knob}={value} is too large; the most is {MOST[knob]}")
    if knob == "N" and (int(value) < 2 or int(value) % 2):
        raise ValueError(f"N={value}: sessions come in pairs of client and server, so N is a positive even number")
    if knob != "HEAP" and int(value) < 1:
        raise ValueError(f"{knob}={value} must be at least 1")


def check_numbers(knob: str, value: str) -> None:
    several = [one for one in re.split(r"[\s,]+", value) if one]
    if not several:
        raise ValueError(f"{knob} names no number; {ALL_OPTIONS[knob]}")
    for one in several:
        check_number(knob, one)


def check_multiplier(value: str) -> None:
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,6})?", value) or not 0 < float(value) <= 1000:
        raise ValueError(f"{TIME_MULTIPLIER}={value} is not a positive number of at most 1000, such as 4 or 0.5")


def check_resumed(given: dict[str, str], resumed: set[str], taken: Iterable[str]) -> None:
    """Only a target with threads and without sizes is of handshakes."""
    handshakes = "THREADS" in taken and "SIZES" not in taken
    for knob in ("SUITES", "SUITE"):
        for name in re.split(r"[\s,]+", given.get(knob, "")):
            if name in resumed and not handshakes:
                raise ValueError(f"{knob}: {name} resumes sessions, which only the target handshake does; leave it out")


def check_directory(knob: str, value: str) -> None:
    if not value.strip():
        raise ValueError(f"{knob} is empty; it names a directory")
    if value.startswith("-") or not value.isprintable():
        raise ValueError(f"{knob}={value!r} begins with a dash or holds a line break; it names a directory")
    try:
        there, is_directory = Path(value).exists(), Path(value).is_dir()
    except OSError as error:
        raise ValueError(f"{knob}={value}: {error.strerror}") from None
    if there and not is_directory:
        raise ValueError(f"{knob}={value} is a file; it must be a directory")
    if knob == "GIT" and not there:
        raise ValueError(f"GIT={value} is not there; it is a clone of the library's repository")
    if knob == "PREFIX" and not there:
        raise ValueError(f"PREFIX={value} is not there; it is where your library was installed: its include/ and lib/")


def check_prefix(given: dict[str, str], named: list[str], known: dict[str, dict]) -> None:
    """What is linked with a library of the user's own says where that is, and nothing else does."""
    linked = [name for name in named if known[name].get("prefix")]
    if linked and "PREFIX" not in given:
        raise ValueError(f"{linked[0]} needs PREFIX=DIRECTORY: where the library that it is linked with is installed")
    if "PREFIX" in given and not linked:
        theirs = " or ".join(name for name, entry in known.items() if entry.get("prefix"))
        raise ValueError(f"PREFIX={given['PREFIX']} is for {theirs} only: name it as a stack, or leave PREFIX out")


def check_combination(given: dict[str, str], nulls: set[str]) -> None:
    """ValueError with one sentence where knobs, each fine by itself, contradict each other.

    `nulls` are the stacks without TLS."""
    mixed = [knob for knob in ("CLIENT", "SERVER") if knob in given]
    if len(mixed) == 1:
        other = "SERVER" if mixed == ["CLIENT"] else "CLIENT"
        raise ValueError(f"{mixed[0]} needs {other} too: a mixed pair has two ends")
    if mixed and "STACKS" in given:
        raise ValueError("CLIENT and SERVER name the stacks; leave STACKS out")
    if mixed and given.get("ROLES") == "together":
        raise ValueError("CLIENT and SERVER are a process each; leave ROLES=together out")
    if mixed and (given["CLIENT"].strip(" ,") in nulls) != (given["SERVER"].strip(" ,") in nulls):
        raise ValueError("a null stack speaks no TLS: give it another as its peer")
    if "KEEP" in given and (mixed or given.get("ROLES") == "split"):
        raise ValueError(f"KEEP={given['KEEP']} frees the peers within one process; with two there is nothing to free")
