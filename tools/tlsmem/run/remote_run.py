"""One run on whatever machine a cluster gives it: only if the builds are the same, and never two on one machine.

The same run may be made twice: a cluster that loses a machine makes again what that machine had finished, too. Nothing
is recorded here; the line goes back to who asked, who takes each run once."""

import asyncio
import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.config import definitions
from tlsmem.config.run import Run
from tlsmem.run import exclusive, heap_page, preflight, provenance
from tlsmem.run.provenance import HARNESSES, Provenance, is_built
from tlsmem.run.runner import Runner

MACHINE_LOCK = "memtest-measurement.lock"  # in the directory for temporary files, which all clones of a machine share
DIGITS = 12  # of a binary's SHA-256, in the name of what a worker offers


class RefusedRun(Exception):
    """A machine cannot make a run; the sentence says why. Nothing was measured."""


def offered_builds() -> dict[str, str]:
    """Return the SHA-256 of each stack that is built here."""
    names = [file.name.removesuffix(".json") for file in HARNESSES.glob("*.json")]
    return {name: provenance.read_manifest(name).binary_sha256 for name in sorted(names) if is_built(name)}


def resource_name(stack: str, sha256: str) -> str:
    """Return what a worker with this build offers, and what a run of it needs."""
    return f"build-{stack}-{sha256[:DIGITS]}"


def measure(run: Run, builds: Mapping[str, str], cell: str, limit_s: float | None) -> bytes:
    """Make the run and return its record, a line of JSON.

    `builds` are the SHA-256 of its binaries and `cell` its key on any machine, as who asked has them. Raises RefusedRun
    where they are others here."""
    forget_builds()
    try:
        check_builds(builds)
        known = Provenance(definitions.suites(), definitions.allocators())
        if known.cell_key(run) != cell:
            raise RefusedRun("the builds are the same, but not the heap meter, the allocator or memtest/*.toml")
        with hold_machine():
            heap_page.remove_stale_pages()
            return asyncio.run(measure_here(Runner(known, limit_s), run))
    except UserError as refusal:
        raise RefusedRun(str(refusal)) from None


async def measure_here(runner: Runner, run: Run) -> bytes:
    """Make the run if it fits into memory, and return its record."""
    cpus = exclusive.cores_first()[:1]
    preflight.limit_jobs(await runner.forecast([run], cpus), 1, run.sessions)
    return runner.provenance.record(run, await runner.run(run, cpus[0])).to_json_line()


def check_builds(builds: Mapping[str, str]) -> None:
    """Raise RefusedRun at the first that is another one here."""
    for stack, sha256 in builds.items():
        here = provenance.read_manifest(stack).binary_sha256
        if here != sha256:
            raise RefusedRun(f"its build of {stack} is {here[:DIGITS]}, not {sha256[:DIGITS]}")


def forget_builds() -> None:
    """Read builds again: a worker runs for days, and builds change."""
    for cached in (provenance.read_manifest, provenance.sha256, provenance.checkout, provenance.installed):
        cached.cache_clear()


@contextlib.contextmanager
def hold_machine(folder: str | None = None) -> Iterator[None]:
    """Hold the machine's lock: other workers of this machine wait. The kernel lets go of it, however this one ends."""
    file = Path(folder or tempfile.gettempdir()) / MACHINE_LOCK
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o644))
    descriptor = os.open(file, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
