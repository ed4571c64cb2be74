"""What an idle TCP connection costs the kernel: loopback connections, both ends in an epoll set, against the slabs.

A connection is one end; both ends are alike, so it is half of what a pair adds. Pages of slabs, not only objects, from
/proc/slabinfo, which only root may read. Socket buffers are empty here: under load they are the larger part."""

import argparse

from tlsmem.base import venv
from tlsmem.cli import table_arguments


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--pairs", type=int, default=8_000, help="default: 8000")
    table_arguments.add_format(made)
    return made


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    if not 0 < given.pairs <= 100_000:
        asked.error("--pairs is from 1 to 100000")
    venv.activate()
    from tlsmem.tables import kernel_bytes

    kernel_bytes.run(given)
