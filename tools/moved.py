#!/usr/bin/env python3
"""What a script of an earlier release is now: names like tools/cost.py are links to this file, for one release."""

import os
import sys
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.base.errors import UserError
from tlsmem.cli.main import run
from tlsmem.cli.registry import describe_old_script


def answer() -> None:
    raise UserError(describe_old_script(Path(sys.argv[0]).stem), 2)


if __name__ == "__main__":
    run(answer)
