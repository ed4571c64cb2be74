"""Start the scheduler of a Dask cluster at ADDRESS, for `worker.py` and `measure.py --cluster`.

It listens at this address only. Anyone who can connect to it can run code as your user, on every machine of the
cluster. With tls://, only holders of the file of `--tls` can connect. With tcp://, anyone who can reach the
address can. Ctrl-C ends it."""

import os
import socket
import sys
from ipaddress import ip_address

from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.cli import cluster_connection
from tlsmem.config.option_parser import CommandParser, make_parser


def parser() -> CommandParser:
    return make_parser("scheduler", __doc__, cluster_connection.EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate(cluster=True)
    host, port = cluster_connection.split_address(given.address)
    check_free(given.address, host, port)
    is_encrypted = given.address.startswith("tls://")
    if is_encrypted and given.tls and not os.path.exists(given.tls):  # Path.exists() raises where a name is too long
        cluster_connection.make_certificate(given.tls)
        print(f"memtest: made {given.tls}; copy it to each machine of the cluster and nowhere else", file=sys.stderr)
    security = cluster_connection.read_security(given.address, given.tls, "scheduler")
    cluster_connection.become_dask("scheduler", given.address, security, host, ["--port", str(port)])


def check_free(address: str, host: str, port: int) -> None:
    """Raise UserError if the scheduler cannot listen there, or would listen on every interface."""
    try:
        name, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if ip_address(name[4][0]).is_unspecified:
            raise UserError(f"{address} means every interface of this machine; give one that the workers reach")
        with socket.socket(name[0]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name[4])
    except OSError as error:
        way_out = "give an address of this machine and a free port"
        raise UserError(f"cannot listen at {address}: {error.strerror}; {way_out}") from None
