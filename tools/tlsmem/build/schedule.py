"""Several stacks, two at a time: what one stands on before it, the longest first. One that fails stops no other."""

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import c_stack, harness, jobserver, shared_resources
from tlsmem.build.board import Board, Prior
from tlsmem.build.commands import CONSOLE, BuildFailed, Unavailable
from tlsmem.config.definitions import Stack

AT_A_TIME = 2


def stands_on(name: str, stack: Stack) -> set[str]:
    """What it uses, and whose library it shares."""
    shared = c_stack.library_owner(name, stack) if stack.source else name
    return {stack.uses, shared} - {None, name}


class Schedule:
    def __init__(self, chosen: list[str], known: dict[str, Stack], root: Path = ROOT, at: Path | None = None) -> None:
        self.known, self.root, self.at = known, root, at
        self.below = {name: stands_on(name, known[name]) for name in chosen}
        self.waiting = sorted(chosen, key=self.order)
        self.workers = min(AT_A_TIME, shared_resources.count_cpus(), len(chosen))
        self.running: dict[Future[str], str] = {}
        self.failures: dict[str, Exception] = {}

    def order(self, name: str) -> tuple[bool, int]:
        """What has been built before is likely to be so still, and is out of the way soon."""
        stamp = self.root / "build/harness" / f"{name}.stamp"
        return not stamp.is_file(), -self.seconds(name)

    def seconds(self, name: str) -> int:
        """Of a CPU, with what cannot begin before it."""
        above = [one for one, stack in self.known.items() if stack.uses == name]
        return (self.own_seconds(name) or 0) + max(map(self.seconds, above), default=0)

    def own_seconds(self, name: str) -> int | None:
        """Nearly none where the library is another's."""
        shares = self.below.get(name, set()) - {self.known[name].uses}
        return None if shares else self.known[name].cpu_seconds

    def built_along(self) -> dict[str, Prior]:
        """The stacks whose build makes the library that they use, as nobody asked for it and it is not there."""
        used = {name: self.known[name].uses for name in self.below}
        return {
            name: (below, self.known[below].cpu_seconds)
            for name, below in used.items()
            if below and below not in used and not (self.root / "build/stacks" / f"{below}.stamp").is_file()
        }

    def run(self) -> dict[str, Exception]:
        """Why each that failed did. However this is left, nothing that was started goes on."""
        seconds = {name: self.own_seconds(name) for name in self.waiting}
        known = {name: stack.cpu_seconds for name, stack in self.known.items()}
        board = Board(seconds, shared_resources.count_cpus(), self.root, self.built_along(), known)
        with board, ThreadPoolExecutor(self.workers) as pool:
            try:
                while self.fill(pool, board) or self.running:
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        self.finish(self.running.pop(future), future, board)
            finally:
                if self.running:
                    shared_resources.stop_requested.set()
        return self.failures

    def fill(self, pool: ThreadPoolExecutor, board: Board) -> bool:
        """True while there is something to wait for."""
        while len(self.running) < self.workers and (name := self.next()):
            shared_resources.running_builds = min(self.workers, len(self.running) + 1 + len(self.waiting))
            board.start(name)
            self.running[pool.submit(self.build, name, board)] = name
        return bool(self.waiting)

    def next(self) -> str | None:
        """The first that stands on nothing which is still to be built."""
        unfinished = {*self.waiting, *self.running.values()}
        name = next((name for name in self.waiting if not self.below[name] & unfinished), None)
        if name:
            self.waiting.remove(name)
        return name

    def build(self, name: str, board: Board) -> str:
        for below in self.below[name] & self.failures.keys():
            kind = Unavailable if isinstance(self.failures[below], Unavailable) else BuildFailed
            raise kind(f"{name}: what it stands on, {below}, was not built; see there")
        with jobserver.jobserver().token(), board.following(name):
            return harness.build(name, self.known[name], self.root, self.at)

    def finish(self, name: str, future: Future[str], board: Board) -> None:
        try:
            made = future.result()
        except (BuildFailed, ValueError) as error:
            made = "not to be had" if isinstance(error, Unavailable) else "failed"
            self.failures[name] = error
        board.finish(name, made == harness.BUILT)
        if made not in (harness.BUILT, harness.CACHED):  # which say so themselves
            why = "" if name not in self.failures else "; why is said at the end"
            CONSOLE.print(f"{name}: {made}{why}", markup=False)
