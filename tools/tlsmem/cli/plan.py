"""How much memory TLS connections need: by the measured law, memory = fixed + N (E + K) + H x most handshakes at once.

Connections are in use, as the library or a server (--as) has them by default, where that is recorded, else at rest.
E, H and fixed are from recordings, K (the kernel's part) and a full record in flight are assumed or given; each answer
says which, and what it leaves out."""

import argparse
import signal

from tlsmem.base import venv
from tlsmem.config.option_model import PLANS
from tlsmem.config.option_parser import CommandParser, add_options, make_parser

EXAMPLES = """examples:
  tools/plan.py memory --connections 100000 --handshaking 5% --in-flight 20%
  tools/plan.py memory --connections 100000 --stack openssl@3.5.5 --as nginx
  tools/plan.py memory --connections 1M --rate 500/s --rtt 100ms --client-time 20ms     W by Little's law
  tools/plan.py memory --connections 50k --stalled-rate 200/s --timeout 60s             peers that never go on
  tools/plan.py fit --memory 16GiB --handshaking 5% --in-flight 20% --role both
  tools/plan.py storm --clients 100000 --within 10s -o storm
  tools/plan.py storm --clients 100000 --within 10s --limit 1000 --cores 8 --stack openssl@3.5.5
  tools/plan.py fleet --clients 10M --hosts 40 --fail 1
  tools/plan.py haproxy --memory 16GiB --role both
  tools/plan.py check                                       how far off the law is where it was not fitted"""
ABOUT = {
    "memory": "the memory of so many connections",
    "fit": "how many connections fit into so much memory",
    "storm": "all clients come back within seconds",
    "fleet": "some hosts of many fail, and their clients go to the others",
    "haproxy": "the two constants of HAProxy's automatic maxconn",
    "check": "the law against recorded runs that it was not fitted to",
}


def parser() -> CommandParser:
    made = make_parser("plan", __doc__, EXAMPLES)
    answers = made.add_subparsers(dest="answer", required=True, metavar="ANSWER", parser_class=CommandParser)
    for command in PLANS:
        name = command.removeprefix("plan ")
        own = answers.add_parser(
            name,
            help=ABOUT[name],
            description=ABOUT[name],
            epilog=examples_of(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_options(own, command)
    return made


def examples_of(command: str) -> str:
    """Those of one answer."""
    script = command.replace(" ", ".py ", 1)
    lines = (line for line in EXAMPLES.splitlines() if line.startswith(f"  tools/{script} "))
    return "\n".join(["examples:", *lines])


def main() -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.plan import answer

    answer.print_answer(given, asked)
