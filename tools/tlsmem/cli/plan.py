"""tls-memtest plan: how much memory many TLS connections need, and how many fit."""

import argparse
from functools import partial

from tlsmem.cli.command import IN_WORDS, Command, CommandParser, Takes, each
from tlsmem.cli.cost import USUAL_SUITE
from tlsmem.cli.options import REQUIRED, Words
from tlsmem.config import choices

ABOUT = """How much memory many TLS connections need, how many fit, and what a storm of reconnecting clients adds.

The first line is the answer, from recorded RSS: memory = process + first + N·(E + own + K) + W·H + F·R.

  N  connections
  E  RSS per connection: in use; at rest with --state at-rest, or for those that --in-use leaves
  own  what the server of --as holds per connection beside TLS
  K  kernel memory per connection: measured once on Linux 6.18 (server 3,866 B); set yours with --kernel-bytes
  W  the most concurrent handshakes so far
  H  extra RSS per concurrent handshake
  first  only with --as: what the first connections add once, less what 20 handshakes have left in the server's process
  F  full records in flight
  R  what one of them adds

--details prints the tables behind the answer, --format the same tables for programs."""

SHARED: Takes = {
    "into": None,
    "stack planned": Words("openssl@3.5.5 and rustls+aws-lc@0.23.46; haproxy: three that it can use"),
    "suite costed": USUAL_SUITE,
    "allocator planned": "system",
    "sides": "server",
    "recording read": Words("the newest in data/ that has the stack; data/local only when named"),
    "kernel bytes": None,
    "record bytes": None,
    "details": None,
    "table plan": None,
    "format": Words("the answer, not tables"),
    **each(*IN_WORDS),
}
FOR_SERVERS: Takes = {
    "as": Words("the library's defaults"),
    "state": choices.PLAN_STATES[0],
    "low memory": None,
    "tickets planned": Words("as many as the library issues"),
}
LOADED: Takes = (
    FOR_SERVERS
    | {"backends": Words("one for each client connection"), "backend servers": Words("1 with --backends")}
    | each("certificates", "reloads", "workers")
    | each("handshaking", "in flight", "rate", "rtt", "client time", "stalled rate", "timeout stalled")
)
CROWDED: Takes = FOR_SERVERS | {
    "clients": REQUIRED,
    "within": "10s",
    "arrivals": "uniform",
    "seed": "1",
    "cores": Words("as many as the recording's machine has"),
    "handshake rate": Words("as recorded"),
    "rtt": "50ms",
    "client time": "5ms",
    "limit": None,
    "timeout retry": None,
    "retry": "1s",
    "attempts": "10",
    "output picture": None,
}


def run(given: argparse.Namespace, asked: CommandParser, answer: str) -> int | None:
    from tlsmem.plan import answer as answers

    given.answer = answer
    return answers.print_answer(given, asked)


def command(answer: str, summary: str, takes: Takes, *examples: str) -> Command:
    lines = (f"  tools/tls-memtest plan {answer} {line}" for line in examples)
    return Command(f"plan {answer}", summary, takes | SHARED, partial(run, answer=answer), examples="\n".join(lines))


COMMANDS = (
    command(
        "memory",
        "the memory to provision for N connections",
        {"connections": REQUIRED, "output text": None} | LOADED | {"in use": Words("all, unless --state at-rest")},
        "--connections 100000 --stack openssl@3.5.5",
        "--connections 100000 --stack openssl@3.5.5 --as nginx",
        "--connections 100000 --as nginx --certificates 500 --reloads 2 --workers 4",
        "--connections 100000 --handshaking 5% --in-flight 20%",
        "--connections 100000 --in-use 30% --low-memory",
        "--connections 1M --rate 500/s --rtt 100ms --client-time 20ms     handshakes by Little's law",
        "--connections 50k --stalled-rate 200/s --timeout 60s             peers that stop mid-handshake",
    ),
    command(
        "fit",
        "how many connections fit into a given memory",
        {"memory": REQUIRED, "output text": None} | LOADED,
        "--memory 16GiB --handshaking 5% --in-flight 20% --role both",
    ),
    command(
        "storm",
        "the memory and queue when all clients reconnect within seconds",
        CROWDED,
        "--clients 100000 --within 10s -o storm",
        "--clients 100000 --within 10s --limit 1000 --cores 8 --stack openssl@3.5.5",
    ),
    command(
        "fleet",
        "the memory per host when some hosts fail and their clients move to the others",
        CROWDED | {"hosts": REQUIRED, "fail": "1", "handshaking": "0%", "in flight": "0%"},
        "--clients 10M --hosts 40 --fail 1",
    ),
    command(
        "haproxy",
        "the two constants of HAProxy's automatic maxconn, measured",
        {"memory haproxy": "16GiB", "output text": None},
        "--memory 16GiB --role both",
    ),
    command(
        "predict",
        "the RSS of live runs that are yet to be made, written down before them",
        {
            "as": REQUIRED,
            "n live": "1000,3000,9900",
            "window live": "1,100,all",
            "write predictions": None,
            "output text": None,
        },
        "--as haproxy --stack awslc@5.12.0 --window 100",
        "--as haproxy --stack openssl@3.5.5 --stack awslc@5.12.0 --write",
    ),
    command(
        "check",
        "the error of the memory model at recorded runs that it was not fitted to",
        {"output text": None},
        "                                       how far the model is off where it was not fitted",
    ),
)
