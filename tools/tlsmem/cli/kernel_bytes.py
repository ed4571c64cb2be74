"""Measure what an idle TCP connection costs the kernel: open loopback connections, both ends in an epoll set, and read
what the memory cgroup of each end is charged.

The server's end and the client's cost differently. Socket buffers are empty here; under load they are the larger part.
It needs root, for a network namespace and two memory cgroups. A second table has the slabs of both ends by name."""

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
    from tlsmem.live.idle_sockets import measure_idle_sockets
    from tlsmem.tables import kernel_bytes, render

    found = measure_idle_sockets(given.pairs)
    render.print_all([kernel_bytes.end_table(given.pairs, found), kernel_bytes.slab_table(found)], given.format)
