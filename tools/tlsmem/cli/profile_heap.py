"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase.

The run is made under a profiler, on the system's allocator and without address randomisation; it is no measurement of
RSS or time. What it comes to is kept beside a recording, in OUT/profiles: the tool's own file, compressed, and the
record of the run. A profile of the same run that is there already is not taken again."""

import argparse

from tlsmem.base import venv
from tlsmem.cli.time_limit import seconds
from tlsmem.config import option_check
from tlsmem.tables.forms import FORMATS

EXAMPLES = """examples:
  tools/profile_heap.py                                     OpenSSL's sessions under heaptrack
  tools/profile_heap.py --stack rustls+aws-lc@0.23.46 --tool massif
  tools/profile_heap.py --tool dhat --n 100 --out /tmp/mine  minutes: a run for each phase"""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for knob, default in option_check.PROFILE_DEFAULTS.items():
        if knob == "FRESH":
            made.add_argument("--fresh", action="store_true", help="take a profile again that is there already")
        else:
            meaning = f"{option_check.ALL_OPTIONS[knob]} (default: {default})"
            given = None if knob in ("OUT", "PREFIX") else default
            made.add_argument(f"--{knob.lower()}", metavar=knob, default=given, help=meaning)
    made.add_argument("--timeout", type=seconds, metavar="SECONDS", help="time limit of a run (default: by its size)")
    made.add_argument("--format", choices=FORMATS, help="of tables; default: table on a terminal, else markdown")
    return made


def main() -> None:
    given = parser().parse_args()
    asked = {knob: getattr(given, knob.lower()) for knob in option_check.PROFILE_DEFAULTS if knob != "FRESH"}
    option_check.check_options_or_exit(
        {knob: value for knob, value in asked.items() if value is not None}, list(option_check.PROFILE_DEFAULTS)
    )
    venv.activate()
    from tlsmem.cli import profile_stack

    profile_stack.run(given)
