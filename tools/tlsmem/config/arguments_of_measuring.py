"""The options of commands that build, measure and keep records. Standard library only."""

from tlsmem.config import amounts, choices
from tlsmem.config.argument_kinds import COUNT_OR_ZERO, PATH, SCHEDULER, TIME, WHOLE
from tlsmem.config.option_kinds import STACKS, Choice, Flag, Parsed
from tlsmem.config.option_model import ALL_GOALS, GOALS, Option, Words, each
from tlsmem.config.option_variables import VARIABLES

MEASURING_ARGUMENTS = (
    # build, measure, list
    Option(
        "stacks",
        "stacks of memtest/stacks.toml; default: all",
        STACKS,
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
    Option(
        "--cluster",
        "make the runs on the machines of a Dask cluster, whose scheduler has this address: docs/how-to/cluster.md",
        SCHEDULER,
        commands=each("measure"),
        metavar="ADDRESS",
    ),
    Option("address", "the scheduler's address", SCHEDULER, commands=each("scheduler", "worker"), metavar="ADDRESS"),
    Option(
        "--tls",
        "file with the cluster's private key and certificate, for a tls:// address; scheduler.py creates it if it is "
        "missing; anyone who has it can run code on every machine of the cluster",
        PATH,
        commands=each("measure", "scheduler", "worker"),
        metavar="FILE",
    ),
    Option("--list", "print the runs and which are recorded; run nothing", Flag(), commands=each("live", "measure")),
    Option(
        "recording",
        "print the tables of this recording's live runs; nothing runs",
        PATH,
        commands=each("live"),
        nargs="?",
    ),
    Option("--waves", "times that all connections come and go once more", COUNT_OR_ZERO, commands={"live": "3"}),
    Option("--idle", "time without traffic before `idle` is read", TIME, commands={"live": "30s"}),
    Option(
        "--settle", "time after the last connection was closed before `settled` is read", TIME, commands={"live": "15s"}
    ),
    Option("--ktls", "the server asks for kernel TLS; nginx, where the kernel has it", Flag(), commands=each("live")),
    Option(
        "--hollow",
        "clients forget their state of TLS once they are connected, and ask for nothing: they need no memory for it",
        Flag(),
        commands=each("live"),
    ),
    Option(
        "--verify",
        "try every built stack in every suite, with 2 sessions; record nothing",
        Flag(),
        commands=each("measure"),
    ),
    Option(
        "--details",
        "show which suites each built stack can do, and its licence",
        Flag(),
        commands=each("list_stacks"),
    ),
    Option(
        "--sources",
        "show what each stack is, where it comes from and how it is built",
        Flag(),
        commands=each("list_stacks"),
    ),
    # names, packages
    Option("options", "options as given to make", commands=each("names"), nargs="*", metavar="OPTION=VALUE"),
    Option(
        "--goal",
        "the make target that takes them",
        Choice(tuple(GOALS)),
        commands={"names": "mem"},
        metavar="TARGET",
    ),
    Option(
        "--list",
        "show the options of a target, or of all: meaning, values, default",
        Choice((ALL_GOALS, *GOALS)),
        commands=each("names"),
        metavar="TARGET",
        nargs="?",
        const=ALL_GOALS,
    ),
    Option(
        "--default",
        "print the default of this option of a make target",
        Choice(tuple(option.name for option in VARIABLES)),
        commands=each("names"),
    ),
    Option("--makefile", "print what each make target takes, as a makefile", Flag(), commands=each("names")),
    Option("--reference", "print every option of make and of the commands", Flag(), commands=each("names")),
    Option(
        "purpose",
        f"what the packages are for: {', '.join(choices.PURPOSES)}",
        Choice(choices.PURPOSES),
        commands=each("packages"),
        metavar="PURPOSE",
    ),
    # heap, kernel_bytes, records, query
    Option("pid", "a process that runs under the meter", WHOLE, commands=each("heap"), nargs="?", metavar="PID"),
    Option(
        "--interval",
        "seconds between reports",
        Parsed(amounts.parse_interval, "seconds, from 0.01 to 3600"),
        commands={"heap": "1"},
        metavar="S",
    ),
    Option(
        "--listen",
        "serve what is live to Prometheus at http://127.0.0.1:PORT/metrics, on this machine alone; port 0: a free one",
        Parsed(amounts.parse_loopback, "`127.0.0.1:PORT` or `[::1]:PORT`"),
        commands={"heap": Words("off")},
        metavar="127.0.0.1:PORT",
    ),
    Option(
        "--host",
        "with --listen: also answer requests for this host name, for instance from a proxy; may be repeated",
        commands=each("heap"),
        repeat=True,
        metavar="NAME",
    ),
    Option(
        "--connections",
        "count the established TCP connections of a local port in the program's network namespace; may be repeated",
        Parsed(amounts.parse_connections, "`port:NUMBER`"),
        commands=each("heap"),
        repeat=True,
        metavar="port:NUMBER",
    ),
    Option("--growth", "show what grew most since the start, by program and role", Flag(), commands=each("heap")),
    Option("--once", "one report only: now, or when the command ends", Flag(), commands=each("heap")),
    Option("--json", "NDJSON: an object for each program, and one for all", Flag(), commands=each("heap")),
    Option(
        "--out",
        "new file of the report",
        commands={"heap": Words("stderr with a command, else stdout")},
        metavar="FILE",
    ),
    Option(
        "--pairs",
        "number of loopback connections",
        Parsed(amounts.parse_pairs, f"a whole number from 1 to {amounts.MOST_PAIRS:,}"),
        commands={"kernel_bytes": "8000"},
        metavar="N",
    ),
    Option("--schema", "print the JSON schema of a record", Flag(), commands=each("records")),
    Option(
        "recording",
        "a complete recording; it takes no more runs once it is sealed",
        PATH,
        commands=each("records seal"),
        metavar="DIRECTORY",
    ),
    Option(
        "recordings",
        "recordings to check: each line, and sealed files against their manifest",
        PATH,
        commands=each("records verify"),
        nargs="+",
        metavar="DIRECTORY",
    ),
    Option("page", "a Markdown file, which is rewritten", PATH, commands=each("query")),
)
