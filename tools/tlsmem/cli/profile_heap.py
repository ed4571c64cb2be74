"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase.

The stack runs under a profiler, with the system's allocator and without address randomisation, so the run does not
measure RSS or time. The profile is kept beside a recording, in OUT/profiles: the tool's own file, compressed, and the
record of the run. A profile that is already there is not taken again."""

from tlsmem.base import venv
from tlsmem.config import option_check
from tlsmem.config.option_parser import CommandParser, make_parser
from tlsmem.config.options import options_of_goal

EXAMPLES = """examples:
  tools/profile_heap.py                                     OpenSSL's sessions under heaptrack
  tools/profile_heap.py --stack rustls+aws-lc@0.23.46 --tool massif
  tools/profile_heap.py --tool dhat --n 100 --out /tmp/mine  minutes: a run for each phase"""


def parser() -> CommandParser:
    return make_parser("profile_heap", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    asked = {name: getattr(given, name.lower()) for name in options_of_goal("profile") if name != "FRESH"}
    option_check.check_goal_or_exit("profile", asked)
    venv.activate()
    from tlsmem.cli import profile_stack

    profile_stack.run(given)
