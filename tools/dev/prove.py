#!/usr/bin/env python3
"""What the project claims of its own figures, checked on a recording of the campaigns that `make prove` records.

One row a claim, stack and suite: what was measured, the limit, the verdict. Exit 1 when one does not hold and is not
known for it, or when a run is missing."""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_arguments import parse
from tlsmem.base import venv
from tlsmem.cli.main import run
from tlsmem.schema.recording_name import default_recording

EXAMPLES = """examples:
  make prove                      record the campaigns and check them
  tools/dev/prove.py data/local/mine"""


def main() -> int:
    given, asked = parse("prove", __doc__, EXAMPLES)
    given.recording = given.recording or default_recording()
    venv.activate()
    import proof
    from tlsmem.tables import table_command

    return table_command.run_command(given, partial(proof.run, parser=asked))


if __name__ == "__main__":
    run(main)
