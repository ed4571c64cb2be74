"""Offer this machine to a Dask cluster, whose scheduler is at ADDRESS: one run at a time, of the stacks built here.

Start one on each machine. It offers the builds that it has when it starts; a run goes only to a machine that has the
same binary as the clone which asks. If the worker is killed, so is the run that it is making, and its supervisor starts
another worker. It ends with Ctrl-C."""

import os
import sys

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  build/cluster-venv/bin/dask scheduler --host 127.0.0.1     on one machine; it prints its address
  tools/worker.py tcp://127.0.0.1:8786                       on each machine that measures
  tools/measure.py mem --cluster tcp://127.0.0.1:8786        where the recording is to be"""


def parser() -> CommandParser:
    return make_parser("worker", __doc__, EXAMPLES)


def main() -> None:
    given = parser().parse_args()
    venv.activate(cluster=True)
    from tlsmem.cli.cluster_campaign import check_scheduler
    from tlsmem.run.remote_run import offered_builds, resource_name

    builds = offered_builds()
    if not builds:
        sys.exit("memtest: no stack is built here; build those of the campaign with `tools/build.py`")
    check_scheduler(given.address)
    offers = " ".join(f"{resource_name(stack, sha256)}=1" for stack, sha256 in builds.items())
    words = ["dask", "worker", given.address, "--nworkers=1", "--nthreads=1", "--resources", offers]
    words += ["--memory-limit=0", "--no-dashboard", f"--local-directory={ROOT / 'build/cluster'}"]
    print(f"memtest: offers {', '.join(builds)}", file=sys.stderr, flush=True)
    os.chdir(ROOT)
    os.execve(ROOT / venv.CLUSTER / "bin/dask", words, os.environ | {"PYTHONPATH": str(ROOT / "tools")})
