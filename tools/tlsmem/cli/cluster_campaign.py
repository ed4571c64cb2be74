"""A campaign on the machines of a Dask cluster: who may make its runs, and what comes back."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from tlsmem.base.errors import UserError
from tlsmem.cli import cluster_connection
from tlsmem.cli.campaign_plan import Plan
from tlsmem.run import spread_runs
from tlsmem.run.provenance import read_manifest
from tlsmem.run.remote_run import DIGITS, resource_name
from tlsmem.run.spread_runs import SpreadResult

if TYPE_CHECKING:  # an environment without it imports this module
    from distributed import Client


def measure(plan: Plan, address: str, tls: Path | None, limit_s: float | None) -> SpreadResult:
    """Make the runs that are to go on the cluster's machines, and record each as it arrives."""
    print(f"memtest: {plan.summary()}", file=sys.stderr)
    if not plan.to_go:
        return SpreadResult(0, 0)
    from distributed import Client

    security = cluster_connection.read_security(address, tls, "client")
    cluster_connection.check_scheduler(address, security, "client", "--cluster ")
    client = Client(address, timeout=cluster_connection.CONNECT_S, set_as_default=False, security=security)
    try:
        check_workers(client, plan.campaign.every_stack, address)

        def executor_of(builds: Mapping[str, str]) -> Executor:
            needs = {resource_name(stack, sha256): 1 for stack, sha256 in builds.items()}
            return client.get_executor(resources=needs, pure=False)

        return spread_runs.record_all(plan.to_go, executor_of, plan.provenance, plan.recording, limit_s)
    finally:
        client.close()


def check_workers(client: "Client", stacks: Iterable[str], address: str) -> None:
    """Say which workers get no runs of a stack; raise UserError where nobody has its build."""
    workers = {name: set(about["resources"]) for name, about in client.scheduler_info(n_workers=-1)["workers"].items()}
    if not workers:
        raise UserError(
            f"--cluster {address}: no workers; start one on each machine: tools/tls-memtest measure worker {address}"
        )
    for stack in stacks:
        sha256 = read_manifest(stack).binary_sha256
        able = {name for name, offers in workers.items() if resource_name(stack, sha256) in offers}
        for sentence in describe_unable(stack, sha256, {name: workers[name] for name in workers.keys() - able}):
            print(f"memtest: {sentence}", file=sys.stderr)
        if not able:
            way_out = (
                f"check out the same commit there, run `tools/tls-memtest build {stack}`, and start the worker again"
            )
            raise UserError(f"no worker has this clone's build of {stack} ({sha256[:DIGITS]}): {way_out}")


def describe_unable(stack: str, sha256: str, workers: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a sentence for each of the workers, none of which has this build."""
    prefix = f"build-{stack}-"
    for name, offers in sorted(workers.items()):
        other = next((one.removeprefix(prefix) for one in offers if one.startswith(prefix)), None)
        why = f"its build is {other}, not {sha256[:DIGITS]}" if other else "it has no build of it"
        yield f"{name} gets no run of {stack}: {why}"
