"""Offer this machine to a Dask cluster, whose scheduler is at ADDRESS: one run at a time, of the stacks built here.

Start one on each machine. It offers the builds that it has when it starts; a run goes only to a machine that has the
same binary as the clone that requests it. If the worker is killed, its run is killed too, and its supervisor starts
another worker. Ctrl-C ends it.

It listens only at the address from which this machine reaches the scheduler. Anyone who can connect to the scheduler or
to the worker can run code as your user. With tls://, only holders of the file of `--tls` can connect."""

import sys

from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli import cluster_connection
from tlsmem.config.option_parser import CommandParser, make_parser


def parser() -> CommandParser:
    return make_parser("worker", __doc__, cluster_connection.EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate(cluster=True)
    from tlsmem.run.remote_run import offered_builds, resource_name

    builds = offered_builds()
    if not builds:
        raise UserError("no stack is built here; build those of the campaign with `tools/build.py`")
    security = cluster_connection.read_security(given.address, given.tls, "worker")
    host = cluster_connection.check_scheduler(given.address, security, "worker")
    offers = " ".join(f"{resource_name(stack, sha256)}=1" for stack, sha256 in builds.items())
    words = [given.address, "--nworkers=1", "--nthreads=1", "--resources", offers]
    words += ["--memory-limit=0", f"--local-directory={ROOT / 'build/cluster'}"]
    print(f"memtest: offers {', '.join(builds)}", file=sys.stderr, flush=True)
    cluster_connection.become_dask("worker", given.address, security, host, words)
