"""Make a million live TLS sessions in one process, and compare their memory with what two smaller runs predict.

The sessions are all of one role; their peers are freed when their handshakes are done. Of each stack two runs come
first, of 10 and 20 times the window: the line through them says what a million needs. If that is more than this machine
has, the largest number that fits is run instead. Recorded runs are skipped, so the same command continues."""

import signal

from tlsmem.base import venv
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser
from tlsmem.config.options import options_of_command

EXAMPLES = """examples:
  tools/c1m.py                                   every stack of the campaign c1m that is built
  tools/c1m.py --stack rustls+aws-lc@0.23.46     one stack: 8 GB and a quarter of an hour
  tools/c1m.py --stack openssl@3.5.5 --window 100
  tools/c1m.py --stack openssl@3.5.5 --options low-memory
  tools/c1m.py --n 100000 --out data/local/c100k

Exit status 1: a run failed, took more than 1 % more or less than predicted, or too few sessions fit to compare."""


def parser() -> CommandParser:
    return make_parser("c1m", __doc__, EXAMPLES)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGPIPE):  # nothing is lost by dying of them, and harnesses go along
        signal.signal(number, signal.SIG_DFL)
    given = parser().parse_args()
    names = (option.name for option, _ in options_of_command("c1m") if option.is_variable and option.option_strings)
    options = {name: getattr(given, name.lower()) for name in names if name != "FRESH"}
    option_check.check_goal_or_exit("c1m", options)
    venv.activate()
    from tlsmem.cli import million_sessions

    return million_sessions.run(given)
