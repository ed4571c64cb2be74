"""tls-memtest measure: run campaigns and record every run."""

import argparse
import signal
import sys

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.repository import require_clone
from tlsmem.cli import checks
from tlsmem.cli.command import CLUSTER as CLUSTER_PACKAGES
from tlsmem.cli.command import IN_WORDS, TREES, Command, CommandParser, Takes, campaign_default, each
from tlsmem.cli.options import OPTIONS, Default, Option, Words
from tlsmem.cli.show import ON_TERMINAL
from tlsmem.config import toml_tables
from tlsmem.config.choices import LIVE_SERVERS, SETTINGS

DATED = Words("data/local/DATE-CPU-pPATH")
BY_SIZE = Words("by the size of the run")
RECORDS: Takes = {"fresh": None, "out": DATED, "timeout": BY_SIZE, "list": None}
MEMORY: Takes = {
    "n": campaign_default("n"),
    "stacks": campaign_default("stacks"),
    "suites": campaign_default("suites"),
    "roles": campaign_default("roles", otherwise="together"),
    "keep": Words("both"),
    "client": Words("none: each stack with itself"),
    "server": Words("none: each stack with itself"),
    "env": campaign_default("envs", otherwise="lab"),
    "allocator": campaign_default("allocators"),
    "cpu": campaign_default("cpus", otherwise="all"),
    "options": campaign_default("options", otherwise="default"),
    "tickets": Words("as in the suite"),
    "data": campaign_default("data", otherwise="short"),
    "window": campaign_default("windows"),
    "repeats": campaign_default("repeats"),
    "heap": campaign_default("heap"),
    "jobs": Words("2"),
}
CLUSTER: Takes = each("cluster", "tls")
RESTART = "Recorded runs are skipped, so the same command continues."
FAILED = 1  # the status where runs failed


def timed(**more: Default) -> Takes:
    """The options of timed campaigns."""
    return {
        "stacks": campaign_default("stacks", "throughput"),
        "allocator": campaign_default("allocators", "throughput"),
        "cpu": campaign_default("cpus", "throughput", "all"),
        "options": campaign_default("options", "throughput", "default"),
        "repeats": campaign_default("repeats", "throughput"),
        "prefix": Words("none"),
        "tickets": Words("as in the suite"),
        "multiplier": Words("1"),
        **more,
        **RECORDS,
    }


def check(given: argparse.Namespace, asked: CommandParser) -> None:
    """Names and numbers of a command whose campaigns are its own."""
    checks.check_runs(given)
    if "throughput" in given.campaigns:
        checks.check_resumed(getattr(given, "suites", None) or ())


def check_any(given: argparse.Namespace, asked: CommandParser) -> None:
    """The same of any campaign: it takes the options of its scenario."""
    checks.check_definitions()
    campaigns = toml_tables.read_tables("campaigns")
    if given.campaign not in campaigns:
        near = suggest_nearest(given.campaign, [*campaigns, *GROUPS])
        raise UserError(f"no campaign {given.campaign} in memtest/campaigns.toml{near}", 2)
    given.campaigns = (given.campaign,)
    scenario = OF_SCENARIO.get(str(campaigns[given.campaign].get("scenario")), OF_SCENARIO["memory"])
    taken = {OPTIONS[key].name for key in (*scenario.takes, *ALWAYS)}
    for option in asked_options():
        if option.name not in taken and getattr(given, option.name):
            name, known = asked.name_options(option, scenario.options)
            near = suggest_nearest(name, known) or f"; it takes {', '.join(known)}"
            raise UserError(f"`measure {given.campaign}` does not take {name}{near}", 2)
    check(
        argparse.Namespace(**{name: value for name, value in vars(given).items() if name in taken | {"campaigns"}}),
        asked,
    )


def asked_options() -> list[Option]:
    """Every option that a campaign may take."""
    return [OPTIONS[key] for key in ANY.takes]


def run(given: argparse.Namespace, asked: CommandParser) -> int:
    """Measure the campaigns one after the other, all of them also when runs of one fail; return the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is lost by dying of it, and harnesses go along
    *first, last = given.campaigns
    nothing = dict.fromkeys(option.name for option in asked_options())
    worst = 0
    for campaign in first:
        try:
            worst = max(worst, run_campaign(argparse.Namespace(**nothing | vars(given) | {"campaign": campaign})))
        except UserError as error:
            if error.status != FAILED:
                raise
            print(f"memtest: {error}", file=sys.stderr)
            worst = FAILED
    return max(worst, run_campaign(argparse.Namespace(**nothing | vars(given) | {"campaign": last})))


def run_campaign(given: argparse.Namespace) -> int:
    if given.list and not given.verify:
        from tlsmem.cli import campaign_plan

        campaign_plan.show(given)
        return 0
    from tlsmem.cli import measure_campaign

    return measure_campaign.run(given)


def axes_campaigns() -> tuple[str, ...]:
    """A short campaign of each axis: their names begin so."""
    try:
        return tuple(name for name in toml_tables.read_tables("campaigns") if name.startswith("axes-"))
    except ValueError:
        return ()  # the check of the definitions says it


def campaign_command(
    words: str, summary: str, campaigns: tuple[str, ...], takes: Takes, target: str, *examples: str
) -> Command:
    """A command that measures campaigns of its own."""
    about = f"{summary[0].upper()}{summary[1:]}.\n\n{RESTART}"
    lines = "\n".join(f"  tools/tls-memtest {words} {one}".rstrip() for one in examples)
    return Command(words, summary, takes, run, about, lines, check, target=target, campaigns=campaigns)


def check_million(given: argparse.Namespace, asked: CommandParser) -> None:
    checks.check_runs(given)
    checks.check_million(given.window, given.n)


def measure_million(given: argparse.Namespace, asked: CommandParser) -> int | None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tlsmem.cli import million_sessions

    return million_sessions.run(given)


def check_live(given: argparse.Namespace, asked: CommandParser) -> None:
    if given.recording:
        selecting = {name: getattr(given, name) for name in ("recording", "server", "stack", "format", "output")}
        usual = vars(asked.parse_args([])) | selecting
        for name, value in vars(given).items():
            if value != usual[name]:
                option = f"--{name.replace('_', '-')}"
                asked.error(
                    f"{option} is of new runs, and RECORDING prints what is recorded; --server and --stack select"
                )
        return
    require_clone("measure live without a RECORDING")
    if not given.server:
        missing = OPTIONS["server live"].describe_missing(asked.is_of_make)
        raise UserError(f"{missing}; or name a RECORDING to show", 2)
    checks.check_runs(given)


def measure_live(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.cli import live_campaign

    if given.recording:
        live_campaign.show(given.recording, given.server, given.stack, given.format)
        return 0
    return live_campaign.run(given)


def check_configuration(given: argparse.Namespace, asked: CommandParser) -> None:
    if given.recording:
        printing = {name: getattr(given, name) for name in ("recording", "format", "output")}
        usual = vars(asked.parse_args([])) | printing
        for name, value in vars(given).items():
            if value != usual[name]:
                asked.error(f"--{name} is of new runs, and RECORDING prints what is recorded; leave one out")
        return
    require_clone("measure configuration without a RECORDING")
    checks.check_runs(given)


def measure_configuration(given: argparse.Namespace, asked: CommandParser) -> int | None:
    from tlsmem.cli import configuration_campaign

    if given.recording:
        configuration_campaign.show(given.recording, given.format)
        return 0
    return configuration_campaign.run(given)


def measure_kernel(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.live import idle_sockets
    from tlsmem.tables import render

    found = idle_sockets.measure_idle_sockets(given.pairs)
    render.print_all([idle_sockets.end_table(given.pairs, found), idle_sockets.slab_table(found)], given.format)


def offer_machine(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.cli import cluster_connection

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a connection that is lost is an error of that connection
    cluster_connection.run_worker(given.address, given.tls)


def schedule(given: argparse.Namespace, asked: CommandParser) -> None:
    from tlsmem.cli import cluster_connection

    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a connection that is lost is an error of that connection
    cluster_connection.run_scheduler(given.address, given.tls)


CLUSTER_EXAMPLES = """\
  tools/tls-memtest measure scheduler tcp://127.0.0.1:8786                              on this machine alone
  tools/tls-memtest measure scheduler tls://10.0.0.1:8786 --tls build/cluster.pem       makes the file; copy it
  tools/tls-memtest measure worker tls://10.0.0.1:8786 --tls build/cluster.pem          on each machine that measures
  tools/tls-memtest measure mem --cluster tls://10.0.0.1:8786 --tls build/cluster.pem   where the recording is to be"""
ALWAYS = ("campaign", "verify", *RECORDS, *CLUSTER, "git", "like")
MEM = campaign_command(
    "measure mem",
    "what a session costs in memory, stacks side by side",
    ("mem",),
    MEMORY | TREES | RECORDS | CLUSTER | each(*IN_WORDS),
    "mem",
    "                                    the campaign [mem] as it stands",
    "--n 1000 --suites tls13-rsa-aes256  one suite, at most 1,000 sessions",
    "--window 100 --out data/local/window      100 pairs in the handshake at a time",
    "--roles split --n 20000             10,000 server sessions in a process of their own",
    "--cluster tls://10.0.0.1:8786 --tls build/cluster.pem       on the machines of a Dask cluster",
    "--list                              what would run, and what is recorded already",
)
OF_TIME = (
    campaign_command(
        "measure throughput",
        "bulk transfer, each suite: MiB/s sending and receiving; seven minutes and the builds",
        ("throughput",),
        timed(
            suites=campaign_default("suites", "throughput"),
            sizes=campaign_default("sizes", "throughput"),
            threads=Words("1"),
        ),
        "throughput",
        "--sizes 16,1024,65536        short and long writes",
    ),
    campaign_command(
        "measure handshake",
        "full and resumed handshakes a second, by role: a quarter of an hour and the builds; less with --suites",
        ("handshake",),
        timed(suites=Words("those of the campaign handshake in memtest/campaigns.toml"), threads=Words("1")),
        "handshake",
        "--suites tls13-rsa-aes256     one suite of 36, which take a quarter of an hour",
        "--bench-multiplier 0.1        a tenth of the rounds: for a try, no figure",
    ),
)
CAMPAIGN_KEYS = dict.fromkeys((*MEMORY, *(key for one in OF_TIME for key in one.takes), *RECORDS, *CLUSTER)) | TREES
ANY = Command(
    "measure",
    "any campaign of memtest/campaigns.toml",
    {"campaign": "mem"} | CAMPAIGN_KEYS | {"timeout": BY_SIZE, "verify": None},
    run,
    "Run a campaign of memtest/campaigns.toml and record every run. Recorded runs are skipped.",
    """\
  tools/tls-memtest measure stall                                   one campaign
  tools/tls-memtest measure interop                                 every stack against every other
  tools/tls-memtest measure stall --stacks openssl@3.5.5 --list     what would run, and what is recorded already
  tools/tls-memtest measure --verify                                every built stack and suite once, 2 sessions

After an interruption, the same command continues. Exit status 1: a run failed; its record says why.""",
    check_any,
)
COMMANDS = (
    MEM,
    *OF_TIME,
    campaign_command(
        "measure threads",
        "transfer and handshakes with 1, 2, ... threads that share a server's context",
        ("threads-handshake", "threads-throughput"),
        timed(threads=Words("1, 2, 3, 4, 8, ... up to the number of CPUs")),
        "threads",
        "--stacks openssl@3.5.5",
    ),
    campaign_command(
        "measure time",
        "throughput, handshake and threads, each run 30 times instead of 5: two to three hours",
        # Threads first: one thread is measured beside several, and not again afterwards.
        ("threads-handshake", "threads-throughput", "throughput", "handshake"),
        timed(repeats="30"),
        "measure",
        "--stacks openssl@3.5.5,rustls+aws-lc@0.23.46",
    ),
    campaign_command(
        "measure axes",
        "stalled peers, post-quantum, client certificates, contexts, resumption, churn: each in short, of two stacks",
        axes_campaigns(),
        {"stacks": campaign_default("stacks"), "prefix": Words("none"), "jobs": Words("2"), **RECORDS},
        "axes",
        "--stacks openssl@3.5.5        ten minutes",
    ),
    Command(
        "measure c1m",
        "a million live sessions in one process, predicted and measured",
        {
            "n c1m": "1000000",
            "stack c1m": Words("those of the campaign c1m in memtest/campaigns.toml that are built"),
            "role": "server",
            "options": "default",
            "window c1m": "1000",
            "reserve": "4",
            "fresh": None,
            "out": DATED,
            "timeout": BY_SIZE,
        },
        measure_million,
        f"""\
Make a million live TLS sessions in one process, and compare their memory with what two smaller runs predict.

The sessions are all of one role; their peers are freed when their handshakes are done. Of each stack two runs come
first, of 10 and 20 times the window: the line through them says what a million needs. If that is more than this machine
has, the largest number that fits is run instead. {RESTART}

Exit status 1: a run failed, took more than 1 % more or less than predicted, or too few sessions fit to compare.""",
        """\
  tools/tls-memtest measure c1m                                   every stack of the campaign c1m that is built
  tools/tls-memtest measure c1m --stack rustls+aws-lc@0.23.46     one stack: 7.3 GiB and half an hour
  tools/tls-memtest measure c1m --stack openssl@3.5.5 --window 100
  tools/tls-memtest measure c1m --stack openssl@3.5.5 --options low-memory
  tools/tls-memtest measure c1m --n 100000 --out data/local/c100k""",
        check_million,
        target="c1m",
        campaigns=("c1m",),
    ),
    Command(
        "measure live",
        "what connections to a real server cost: its heap and RSS, and the kernel's bytes; as root",
        {"live recording": None, "n live": "1000,3000,9900", "server live": None}
        | {"stack live": Words("system; of a RECORDING, all"), "window live": "100"}
        | {"fresh": None, "out": DATED, "list": None, "waves": "3", "idle": "30s", "settle": "15s"}
        | each("tls12 live", "mtls live", "resumption", "ktls", "hollow", "sites", "output text")
        | {"format": ON_TERMINAL},
        measure_live,
        f"""Measure what connections to a real, unmodified server cost: its own memory, and the kernel's at both ends.

The server runs as its package has it, or is built from source on the library of a stack, on the loopback of a network
of its own, with real sockets. Clients complete a verified handshake, at most WINDOW of them at a time, ask once,
exchange a full body, stay idle, and close. Each run starts the server afresh: plain and over TLS, as it is (RSS) and
under the heap meter (live heap). Recorded runs are skipped, so the same command continues. It needs root, for network
namespaces and memory cgroups.

SERVER is {", ".join(LIVE_SERVERS)}, openssl-s_server, path:CONFIGURATION, or all:
each but the runtimes. Exit status 1: a run failed; its record says why.""",
        """\
  tools/tls-memtest measure live --server nginx                            1,000, 3,000 and 9,900 connections
  tools/tls-memtest measure live --server haproxy --n 1000 --window 1,100,all
  tools/tls-memtest measure live --server nginx --n 9900 --hollow          clients free their TLS state
  tools/tls-memtest measure live --server nginx,haproxy --stack openssl@3.5.5,awslc@5.12.0
  tools/tls-memtest measure live --server nginx,haproxy --stack openssl@3.5.5 --tls12 --resumption
  tools/tls-memtest measure live --server postgresql --sites               call sites that hold a connection's bytes
  tools/tls-memtest measure live --server all --n 300,600,900 --list       what would run, and what is recorded
  tools/tls-memtest measure live data/2026-11-24-amd-epyc-p0457-live        the tables of what is recorded
  tools/tls-memtest measure live data/2026-11-24-amd-epyc-p0457-live --server go    the same of one server""",
        check_live,
        target="live",
    ),
    Command(
        "measure configuration",
        "what one more certificate, backend or cache entry costs a real server, and what a reload leaves; as root",
        each("configuration recording")
        | {"server configured": "nginx,haproxy", "stack live": Words("system")}
        | {"what": ",".join(SETTINGS), "sizes configured": Words("three of each setting")}
        | {"fresh": None, "out": DATED, "list": None, "output text": None}
        | {"format": ON_TERMINAL},
        measure_configuration,
        """\
Measure what the configuration of a real, unmodified server costs it, without a connection: certificates by name (SNI),
backends over TLS, session caches, tables of connections, issuers of clients and ticket keys.

The server starts with a master process and one worker, three sizes of each setting in a run each: as it is (RSS) and
under the heap meter (live heap). A client asks for each name and compares the certificate that is sent; then the server
reloads twice. Profiles by heaptrack of the smallest and the largest size say which call sites grow. Recorded runs are
skipped, so the same command continues. It needs root, for network namespaces and memory cgroups.

Exit status 1: a run failed; its record says why.""",
        """\
  tools/tls-memtest measure configuration                                   all settings of nginx and HAProxy
  tools/tls-memtest measure configuration --server nginx --stack openssl@3.5.5,awslc@5.12.0 --what certificates
  tools/tls-memtest measure configuration --server haproxy --what backends --sizes 10,100,1000
  tools/tls-memtest measure configuration --list                            what would run, and what is recorded
  tools/tls-memtest measure configuration data/local/mine                   the tables of what is recorded""",
        check_configuration,
    ),
    Command(
        "measure kernel",
        "what an idle TCP connection costs the kernel; as root",
        {"pairs": "8000", "format": ON_TERMINAL, "output text": None},
        measure_kernel,
        """\
Measure what an idle TCP connection costs the kernel: open loopback connections, both ends in an epoll set, and read
what the memory cgroup of each end is charged.

The server's end and the client's cost differently. Socket buffers are empty here; under load they are the larger part.
It needs root, for a network namespace and two memory cgroups. A second table has the slabs of both ends by name.""",
        """\
  sudo tools/tls-memtest measure kernel
  sudo tools/tls-memtest measure kernel --pairs 2000 --format json""",
    ),
    Command(
        "measure scheduler",
        "start the scheduler of a Dask cluster, which spreads runs over machines",
        each("address", "tls"),
        schedule,
        """Start the scheduler of a Dask cluster at ADDRESS: it gives each worker one run at a time.

It listens only there. Anyone who can connect to it can run code as your user on every machine of the cluster. With
tls://, only holders of the file of `--tls` can connect; the file is created if it is missing.""",
        CLUSTER_EXAMPLES,
        packages=CLUSTER_PACKAGES,
    ),
    Command(
        "measure worker",
        "offer this machine to a Dask cluster: one run at a time",
        each("address", "tls"),
        offer_machine,
        """\
Offer this machine to a Dask cluster, whose scheduler is at ADDRESS: one run at a time, of the stacks built here.

Start one on each machine. It offers the builds that it has when it starts; a run goes only to a machine that has the
same binary as the clone that requests it. If the worker is killed, its run is killed too, and its supervisor starts
another worker. Ctrl-C ends it.

It listens only at the address from which this machine reaches the scheduler. Anyone who can connect to the scheduler or
to the worker can run code as your user. With tls://, only holders of the file of `--tls` can connect.""",
        CLUSTER_EXAMPLES,
        packages=CLUSTER_PACKAGES,
    ),
    ANY,
)
GROUPS = [one.words.removeprefix("measure ") for one in COMMANDS if " " in one.words]
OF_SCENARIO = {"memory": MEM} | {one.campaigns[0]: one for one in OF_TIME}
