"""How much memory TLS connections need: by the measured law, memory = fixed + N (E + K) + H x most handshakes at once.

E, H and fixed are from recordings, K (the kernel's part) and a full record in flight are assumed or given; each answer
says which, and what it leaves out."""

import argparse
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tlsmem.base import venv
from tlsmem.plan import amounts
from tlsmem.tables.forms import FORMATS

EXAMPLES = """examples:
  tools/plan.py memory --connections 100000 --handshaking 5% --in-flight 20%
  tools/plan.py memory --connections 1M --rate 500/s --rtt 100ms --client-time 20ms     W by Little's law
  tools/plan.py memory --connections 50k --stalled-rate 200/s --timeout 60s             peers that never go on
  tools/plan.py fit --memory 16GiB --handshaking 5% --in-flight 20% --role both
  tools/plan.py storm --clients 100000 --within 10s -o storm
  tools/plan.py storm --clients 100000 --within 10s --limit 1000 --cores 8 --stack openssl@3.5.5
  tools/plan.py fleet --clients 10M --hosts 40 --fail 1
  tools/plan.py haproxy --memory 16GiB --role both
  tools/plan.py check                                       how far off the law is where it was not fitted"""
SUITE = "tls13-rsa-aes256"
TABLES = ("memory", "fit", "storm", "fleet", "haproxy", "check", "estimates", "terms", "left-out")
ARRIVALS = ("uniform", "poisson", "even", "at-once")


def common() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(add_help=False)
    add = made.add_argument
    add("--stack", action="append", help="may be repeated (default: those whose law is recorded)")
    add("--suite", default=SUITE, help=f"default: {SUITE}")
    add("--allocator", default="system", help="system (glibc), jemalloc, mimalloc or tcmalloc")
    add("--role", choices=("server", "client", "both"), default="server", help="both: a proxy, TLS on either side")
    where = "a directory under data/; may be repeated (default: all but data/local, the newest that has what is needed)"
    add("--recording", type=Path, action="append", metavar="DIR", help=where)
    add("--kernel-bytes", type=amounts.parse_size_or_zero, metavar="K", help="kernel memory of a connection")
    add("--record-bytes", type=amounts.parse_size_or_zero, metavar="BYTES", help="what a full record in flight adds")
    add("--table", choices=TABLES, action="append", help="only this one; may be repeated")
    add("--format", choices=FORMATS, help="default: table on a terminal, else markdown")
    add("--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command stands")
    return made


def load() -> argparse.ArgumentParser:
    """How many are in the handshake, said or from Little's law, and have a record in flight."""
    made = argparse.ArgumentParser(add_help=False)
    add = made.add_argument
    add("--handshaking", type=amounts.parse_share, metavar="SHARE", help="5%% of the connections, or 5000 of them")
    add("--in-flight", type=amounts.parse_share, metavar="SHARE", help="with a full record in flight: 20%%, or so many")
    add(
        "--rate",
        type=amounts.parse_rate,
        metavar="PER_S",
        help="new connections a second: in the handshake are as many as",
    )
    add("--rtt", type=amounts.parse_seconds, metavar="TIME", help="... come in a round trip")
    add("--client-time", type=amounts.parse_seconds, metavar="TIME", help="... and in what the client takes itself")
    add("--stalled-rate", type=amounts.parse_rate, metavar="PER_S", help="peers a second that never go on, each until")
    add("--timeout", type=amounts.parse_duration, metavar="TIME", help="... the server ends its handshake")
    return made


def crowd() -> argparse.ArgumentParser:
    """How clients come back, and what serves them."""
    made = argparse.ArgumentParser(add_help=False)
    add = made.add_argument
    add(
        "--within", type=amounts.parse_duration, default=10.0, metavar="TIME", help="all come in so long (default: 10s)"
    )
    add("--arrivals", choices=ARRIVALS, default="uniform", help="default: uniform")
    add("--seed", type=int, default=1, help="of the arrivals (default: 1)")
    add("--cores", type=amounts.parse_count, help="that make handshakes (default: those of the recording's machine)")
    add(
        "--handshake-rate", type=amounts.parse_positive_rate, metavar="PER_S", help="of one core (default: as recorded)"
    )
    add("--rtt", type=amounts.parse_seconds, default=0.05, metavar="TIME", help="default: 50ms")
    add("--client-time", type=amounts.parse_seconds, default=0.005, metavar="TIME", help="default: 5ms")
    add(
        "--limit", type=amounts.parse_count, metavar="W", help="handshakes at a time; the others wait without a session"
    )
    add("--timeout", type=amounts.parse_duration, metavar="TIME", help="clients give up after it, and come back")
    add(
        "--retry",
        type=amounts.parse_duration,
        default=1.0,
        metavar="TIME",
        help="... so much later, then twice as much (default: 1s, and half as much more or less)",
    )
    add("--attempts", type=amounts.parse_count, default=10, help="... at most so often (default: 10)")
    add("-o", "--output", type=Path, help="a picture: FILE.png, FILE.svg, or FILE for both")
    return made


def add_answers(to: argparse.ArgumentParser) -> None:
    found = to.add_subparsers(dest="answer", required=True, metavar="ANSWER")
    shared = common()

    def command(name: str, about: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return found.add_parser(name, parents=[shared, *parents], help=about, description=about)

    size: dict[str, Any] = {"type": amounts.parse_size, "metavar": "SIZE"}
    one = command("memory", "the memory of so many connections", load())
    one.add_argument("--connections", type=amounts.parse_count, required=True, metavar="N")
    one = command("fit", "how many connections fit into so much memory", load())
    one.add_argument("--memory", required=True, help="16GiB", **size)
    one = command("storm", "all clients come back within seconds", crowd())
    one.add_argument("--clients", type=amounts.parse_count, required=True, metavar="N")
    one = command("fleet", "some hosts of many fail, and their clients go to the others", crowd())
    one.add_argument("--clients", type=amounts.parse_count, required=True, metavar="N", help="of all hosts together")
    one.add_argument("--hosts", type=amounts.parse_count, required=True)
    one.add_argument("--fail", type=amounts.parse_count, default=1, help="default: 1")
    usual: dict[str, Any] = {"type": amounts.parse_share, "metavar": "SHARE", "default": Fraction(0)}
    one.add_argument("--handshaking", help="of a host's connections at any time, as 1%% or so many", **usual)
    one.add_argument("--in-flight", help="of a host's connections, with a full record in flight", **usual)
    one = command("haproxy", "the two constants of HAProxy's automatic maxconn")
    one.add_argument("--memory", default=16 * 2**30, help="of -m (default: 16GiB)", **size)
    command("check", "the law against recorded runs that it was not fitted to")


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(prog="plan.py", description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    add_answers(made)
    return made


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.plan import answer

    answer.ended(given, asked)
