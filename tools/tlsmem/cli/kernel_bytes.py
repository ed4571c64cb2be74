"""What an idle TCP connection costs the kernel: loopback connections, both ends in an epoll set, against the slabs.

A connection is one end; both ends are alike, so it is half of what a pair adds. Pages of slabs, not only objects, from
/proc/slabinfo, which only root may read. Socket buffers are empty here: under load they are the larger part."""

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
