"""Measure what an idle TCP connection costs the kernel: open loopback connections, both ends in an epoll set, and read
the growth of slabs.

The figures count whole pages of slabs, from /proc/slabinfo, which only root may read. A connection is one end: half of
what a pair adds, since both ends are alike. Socket buffers are empty here; under load they are the larger part."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  sudo tools/kernel_bytes.py
  sudo tools/kernel_bytes.py --pairs 2000 --format json"""


def parser() -> CommandParser:
    return make_parser("kernel_bytes", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.tables import kernel_bytes

    kernel_bytes.run(given)
