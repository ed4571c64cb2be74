"""Measure what connections to a real, unmodified server cost: its own memory, and the kernel's at both ends.

The server runs as its package has it, on the loopback of a network of its own, with real sockets. Clients complete a
verified handshake, at most WINDOW of them at a time, ask once, exchange a full body, stay idle, and close. Each run
starts the server afresh: plain and over TLS, as it is (RSS) and under the heap meter (live heap). Recorded runs are
skipped, so the same command continues. It needs root, for network namespaces and memory cgroups."""

import argparse
import signal

from tlsmem.base import venv
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/live.py --server nginx                               1,000, 3,000 and 9,900 connections
  tools/live.py --server haproxy --n 1000 --window 1,100,all
  tools/live.py --server nginx --n 9900 --hollow             clients that forget TLS once they are connected
  tools/live.py --server nginx --list                        what would run, and what is recorded already
  tools/live.py data/local/2026-11-24-some-cpu               the tables of what is recorded; nothing runs
  tools/live.py data/local/2026-11-24-some-cpu --server go   the same of one server

Exit status 1: a run failed; its record says why."""


def parser() -> CommandParser:
    return make_parser("live", __doc__, EXAMPLES)


def refuse_options_of_runs(words: CommandParser, given: argparse.Namespace) -> None:
    """Raise UserError where a recording is to be printed and an option is given that only new runs have."""
    usual = vars(words.parse_args([])) | {"recording": given.recording, "server": given.server}
    for name, value in vars(given).items():
        if value != usual[name]:
            option = f"--{name.replace('_', '-')}"
            words.error(f"{option} is of new runs, and RECORDING prints what is recorded; --server selects from it")


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = parser()
    given = words.parse_args()
    if given.recording:
        refuse_options_of_runs(words, given)
        venv.activate()
        from tlsmem.cli import live_campaign

        live_campaign.show(given.recording, server=given.server)
        return 0
    options = {"SERVER": given.server, "N": given.n, "WINDOW": given.window, "OUT": given.out}
    option_check.check_goal_or_exit("live", options, whole=True)
    venv.activate()
    from tlsmem.cli import live_campaign

    return live_campaign.run(given)
