#!/usr/bin/env python3
"""Check the heap meter against three profilers that are not ours: on the same run of the same binary all tell the same
live bytes at the end of every phase, to the byte.

Asked are the heap meter, its sites run, heaptrack, massif and DHAT (one run per phase). What a tool sees of itself is
subtracted by name. Results go to stdout, progress and what does not agree to stderr; exit 1 when anything differs."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.config import option_check
from tlsmem.tables.forms import FORMATS

DEFAULTS = {"SUITES": "tls13-rsa-aes256 tls12-rsa-aes256", "N": "40", "JOBS": "2"}
QUICK = ["contexts", "established"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for knob, default in ({"STACKS": option_check.memory_defaults()["STACKS"]} | DEFAULTS).items():
        meaning = f"{option_check.MEMORY_OPTIONS[knob]} (default: %(default)s)"
        parser.add_argument(f"--{knob.lower()}", metavar=knob, default=default, help=meaning)
    parser.add_argument("--prefix", metavar="PREFIX", help=option_check.MEMORY_OPTIONS["PREFIX"])
    quick = f"DHAT, one run per phase, at {' and '.join(QUICK)} only"
    parser.add_argument("--quick", action="store_const", const=QUICK, help=quick)
    parser.add_argument("--leave-out", action="store_true", help="what cannot be checked is left out, and not refused")
    parser.add_argument("--format", choices=FORMATS, help="default: table on a terminal, else markdown")
    parser.add_argument("--meter", type=Path, metavar="LIBRARY", help="another build of the heap meter")
    given = parser.parse_args()
    asked = {knob: getattr(given, knob.lower()) for knob in ("STACKS", "PREFIX", *DEFAULTS)}
    option_check.check_options_or_exit({knob: value for knob, value in asked.items() if value is not None})
    return given


def main() -> None:
    option_check.check_options_or_exit({})  # the defaults are read from the definitions
    given = arguments()
    venv.activate()
    import meter_check

    meter_check.run(given)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
