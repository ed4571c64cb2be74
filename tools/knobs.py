"""Every knob of make, what it may be, and which do not go together. Standard library only."""

KNOBS = {  # of `make mem`
    "N": "sessions, client and server together; a positive even number",
    "STACKS": "what to measure, first the one that others are compared with (names: tools/build.py --list)",
    "SUITES": "protocol configurations (memtest/suites.toml)",
    "ROLES": "together: both roles in one process; split: a process each",
    "KEEP": "client or server: the sessions that stay, in one process that frees their peers, window by window",
    "CLIENT": "a stack, to be measured against SERVER=, a process each",
    "SERVER": "a stack, to be measured against CLIENT=, a process each",
    "ENV": "lab, deployed (randomised, the host's huge pages, four threads), or both",
    "ALLOCATOR": "malloc of the whole process: system, jemalloc, mimalloc, tcmalloc (memtest/allocators.toml)",
    "WINDOW": "pairs in the handshake at a time, or all; with KEEP 100 unless given",
    "REPEATS": "how often each run is made",
    "HEAP": "how many of the smallest numbers of sessions are run under the heap meter too, or all",
    "JOBS": "runs at a time, each on a CPU of its own",
    "FRESH": "1 measures again what has been measured",
    "OUT": "directory of the recording and the pictures",
}
DEFAULTS = {"JOBS": "2", "FRESH": "0", "OUT": "data/DATE-CPU", "KEEP": "both"}
DEFAULTS |= dict.fromkeys(("CLIENT", "SERVER"), "none: each stack with itself")
WORDS = {"ALLOCATOR": "allocators", "WINDOW": "windows", "ENV": "envs"}  # of a campaign, where they are not the knob's
OF_PROFILE = {  # which takes some of the others too
    "STACK": "what to profile, one stack (names: tools/build.py --list)",
    "SUITE": "its protocol configuration (memtest/suites.toml)",
    "TOOL": "who looks: sites (the heap meter), heaptrack, massif or dhat",
}
EVERY = KNOBS | OF_PROFILE
PROFILE = {"STACK": "openssl@3.5.5", "SUITE": "tls13-rsa-aes256", "N": "1000", "TOOL": "heaptrack"}  # with defaults
PROFILE |= {knob: DEFAULTS[knob] for knob in ("JOBS", "OUT", "FRESH")}
MOST = {"REPEATS": 1000} | dict.fromkeys(("N", "WINDOW", "HEAP", "JOBS"), 10**9)  # memtest/arguments.c's own
LEAST = {"N": 2, "HEAP": 0}  # else 1
LISTS = {"STACKS": "stack", "SUITES": "suite", "ALLOCATOR": "allocator", "CLIENT": "stack", "SERVER": "stack"}
LISTS |= {"STACK": "stack", "SUITE": "suite"}
ONE = {"ALLOCATOR": "a process has one malloc", "CLIENT": "it is one stack", "SERVER": "it is one stack"}
ONE |= dict.fromkeys(("STACK", "SUITE"), "a profile is of one run")
CHOICES = {
    "ROLES": ("together", "split"),
    "KEEP": ("client", "server"),
    "ENV": ("lab", "deployed", "both"),
    "FRESH": ("0", "1"),
    "TOOL": ("sites", "heaptrack", "massif", "dhat"),
}


def check_together(given: dict[str, str], nulls: set[str]) -> None:
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
