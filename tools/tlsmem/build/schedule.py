"""Several stacks, two at a time: what one stands on before it. One that fails stops no other.

The exit status says whether all are there."""

import argparse
import sys
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tlsmem.base import termination
from tlsmem.base.errors import raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.build import c_stack, cache, harness, jobserver, shared_resources, system_packages, trees
from tlsmem.build.commands import CONSOLE, BuildFailed, Unavailable
from tlsmem.build.progress import BuildCount
from tlsmem.config import definitions, toml_tables
from tlsmem.config.definitions import Stack, campaigns, stacks

UNAVAILABLE = 77
AT_A_TIME = 2


def stands_on(name: str, stack: Stack) -> set[str]:
    """What it uses, and whose library it shares."""
    shared = c_stack.library_owner(name, stack) if stack.source else name
    return {one for one in (stack.uses, shared) if one and one != name}


class Schedule:
    def __init__(self, chosen: list[str], known: dict[str, Stack], root: Path = ROOT, at: Path | None = None) -> None:
        self.known, self.root, self.at = known, root, at
        self.below = {name: stands_on(name, known[name]) for name in chosen}
        self.waiting = sorted(chosen, key=self.order)
        self.workers = min(AT_A_TIME, shared_resources.count_cpus(), len(chosen))
        self.running: dict[Future[str], str] = {}
        self.failures: dict[str, Exception] = {}

    def order(self, name: str) -> tuple[bool, int]:
        """What has been built before is likely to be so still, and is out of the way soon; then what most wait for."""
        stamp = self.root / "build/harness" / f"{name}.stamp"
        return not stamp.is_file(), -sum(name in below for below in self.below.values())

    def run(self) -> dict[str, Exception]:
        """Why each that failed did. However this is left, nothing that was started goes on."""
        with BuildCount(len(self.waiting)) as count, ThreadPoolExecutor(self.workers) as pool:
            try:
                while self.fill(pool, count) or self.running:
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        name = self.running.pop(future)
                        count.end(name)
                        self.finish(name, future)
            finally:
                if self.running:
                    shared_resources.stop_requested.set()
        return self.failures

    def fill(self, pool: ThreadPoolExecutor, count: BuildCount) -> bool:
        """True while there is something to wait for."""
        while len(self.running) < self.workers and (name := self.next()):
            shared_resources.running_builds = min(self.workers, len(self.running) + 1 + len(self.waiting))
            count.start(name)
            self.running[pool.submit(self.build, name)] = name
        return bool(self.waiting)

    def next(self) -> str | None:
        """The first that stands on nothing which is still to be built."""
        unfinished = {*self.waiting, *self.running.values()}
        name = next((name for name in self.waiting if not self.below[name] & unfinished), None)
        if name:
            self.waiting.remove(name)
        return name

    def build(self, name: str) -> str:
        for below in self.below[name] & self.failures.keys():
            kind = Unavailable if isinstance(self.failures[below], Unavailable) else BuildFailed
            raise kind(f"{name}: what it stands on, {below}, was not built; see there")
        with jobserver.jobserver().token():
            return harness.build(name, self.known[name], self.root, self.at)

    def finish(self, name: str, future: Future[str]) -> None:
        try:
            made = future.result()
        except (BuildFailed, ValueError) as error:
            made = "not to be had" if isinstance(error, Unavailable) else "failed"
            self.failures[name] = error
        if made not in (harness.BUILT, harness.CACHED):  # which say so themselves
            why = "" if name not in self.failures else "; why is said at the end"
            CONSOLE.print(f"{name}: {made}{why}", markup=False)


def run(chosen: list[str], known: dict[str, Stack], prefix: Path | None) -> int:
    """The exit status."""
    if not (ROOT / "build/core/libmemtest.a").is_file():
        raise BuildFailed("build/core/libmemtest.a is not there: run `make core` first")
    system_packages.require_cargo_for(chosen)
    cache.check_writable()
    failures = Schedule(chosen, known, ROOT, prefix).run()
    for name, error in failures.items():
        print(f"memtest: {name}: {str(error).removeprefix(f'{name}: ')}", file=sys.stderr)
    if all(isinstance(error, Unavailable) for error in failures.values()):
        return UNAVAILABLE if failures else 0
    return 1


def requested_stacks(given: argparse.Namespace) -> list[str]:
    """The stacks that were named, and those of the campaign; all where there are none. Their names are known."""
    campaign = campaigns()[given.campaign].every_stack if given.campaign else []
    return toml_tables.expand_stacks([*given.stacks, *campaign] or [toml_tables.ALL_STACKS], given.prefix)


def build_requested(given: argparse.Namespace) -> int:
    """Return the exit status, as `run` does. Raises UserError."""
    termination.end_on_signals()
    definitions.check_definitions()
    trees.resolve_named(given)
    with raise_user_errors("build"):
        return run(requested_stacks(given), stacks(), given.prefix and given.prefix.absolute())
