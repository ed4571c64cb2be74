"""How much memory many TLS connections need, how many fit, and what a storm of reconnecting clients adds.

The first line is the answer, from recorded RSS: memory = process + N·(E + own + K) + W·H + F·R.

  N  connections
  E  RSS per connection: in use, or at rest with --state at-rest
  own  what the server of --as holds per connection beside TLS
  K  kernel memory per connection: measured once on Linux 6.18 (server 3,866 B); set yours with --kernel-bytes
  W  the most concurrent handshakes so far
  H  extra RSS per concurrent handshake
  F  full records in flight
  R  what one of them adds

--details prints the tables behind the answer, --format the same tables for programs."""

import argparse
import signal

from tlsmem.base import venv
from tlsmem.config.option_model import PLANS
from tlsmem.config.option_parser import CommandParser, add_options, make_parser

EXAMPLES = """examples:
  tools/plan.py memory --connections 100000 --stack openssl@3.5.5
  tools/plan.py memory --connections 100000 --stack openssl@3.5.5 --as nginx
  tools/plan.py memory --connections 100000 --handshaking 5% --in-flight 20%
  tools/plan.py memory --connections 1M --rate 500/s --rtt 100ms --client-time 20ms     handshakes by Little's law
  tools/plan.py memory --connections 50k --stalled-rate 200/s --timeout 60s             peers that stop mid-handshake
  tools/plan.py fit --memory 16GiB --handshaking 5% --in-flight 20% --role both
  tools/plan.py storm --clients 100000 --within 10s -o storm
  tools/plan.py storm --clients 100000 --within 10s --limit 1000 --cores 8 --stack openssl@3.5.5
  tools/plan.py fleet --clients 10M --hosts 40 --fail 1
  tools/plan.py haproxy --memory 16GiB --role both
  tools/plan.py check                                       how far the model is off where it was not fitted"""
ABOUT = {
    "memory": "the memory to provision for N connections",
    "fit": "how many connections fit into a given memory",
    "storm": "the memory and queue when all clients reconnect within seconds",
    "fleet": "the memory per host when some hosts fail and their clients move to the others",
    "haproxy": "the two constants of HAProxy's automatic maxconn, measured",
    "check": "the error of the memory model at recorded runs that it was not fitted to",
}


def parser() -> CommandParser:
    commands = make_parser("plan", __doc__, EXAMPLES)
    answers = commands.add_subparsers(dest="answer", required=True, metavar="ANSWER", parser_class=CommandParser)
    for command in PLANS:
        name = command.removeprefix("plan ")
        own = answers.add_parser(
            name,
            help=ABOUT[name],
            description=ABOUT[name],
            epilog=command_examples(command),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_options(own, command)
    return commands


def command_examples(command: str) -> str:
    """Return the examples of one answer."""
    script = command.replace(" ", ".py ", 1)
    lines = (line for line in EXAMPLES.splitlines() if line.startswith(f"  tools/{script} "))
    return "\n".join(["examples:", *lines])


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    venv.activate()
    from tlsmem.plan import answer

    return answer.print_answer(given, asked)
