"""Looks at processes again and again: a line for each, metrics for Prometheus, a picture, and at the end what grew."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tlsmem.base import stdout
from tlsmem.base.errors import Usage, UserError
from tlsmem.base.printable import printable_text
from tlsmem.census.census import ProcessCensus, take_census
from tlsmem.census.growth import Look, add_up, describe, find_growth
from tlsmem.census.metrics import Looks, render_census
from tlsmem.monitor.endpoint import Endpoint

REDRAW_S = 60  # a picture of a run that is killed is not older

Draw = Callable[[Sequence[Look], Sequence[str]], object]  # looks, and the programs that were looked at


@dataclass(frozen=True)
class WatchOptions:
    """How often is looked, and where what is seen goes besides stdout.

    `waits`: processes that have ended may come again, as those of a service do."""

    every_s: float
    is_json: bool = False
    endpoint: Endpoint | None = None
    draw: Draw | None = None
    waits: bool = False


@dataclass
class Watch:
    """What was seen so far. `looks`: all of them for a picture, else the first and the last: it may run for weeks."""

    list_processes: Callable[[], Sequence[int | Path]]
    options: WatchOptions
    began: float = field(default_factory=time.monotonic)
    looks: list[Look] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    taken: int = 0
    failed: int = 0
    said: set[str] = field(default_factory=set)
    metrics: str = ""
    drawn: float = field(default_factory=time.monotonic)

    def run(self) -> None:
        """Look again and again, until the processes have ended. Raises UserError where the first look finds nothing."""
        if self.options.endpoint:
            self.options.endpoint.start(lambda: self.metrics)
        is_open = False
        while True:
            now = time.monotonic()
            if not self.look(now):
                break
            if self.options.endpoint and not is_open:
                print(f"memtest: metrics are at {self.options.endpoint.url}", file=sys.stderr, flush=True)
                is_open = True
            if self.options.draw and now - self.drawn >= REDRAW_S:
                self.drawn = now
                self.draw()
            time.sleep(max(0.0, now + self.options.every_s - time.monotonic()))

    def look(self, now: float) -> bool:
        """Look once; return whether to go on."""
        found: list[ProcessCensus] = []
        try:
            found, remarks = take_census(self.list_processes())
            self.warn(*remarks)
        except Usage as error:  # no such process any more
            if not self.looks:
                raise
            if not self.options.waits:
                self.warn(f"counting ended: {error}")
                return False
        except UserError as error:
            if not self.looks:
                raise
            self.failed += 1
            print(f"memtest: {error}", file=sys.stderr, flush=True)
        if found:
            self.keep(add_up(now - self.began, found))
            self.programs = [*dict.fromkeys([*self.programs, *(one.target.program for one in found)])]
            self.report(self.looks[-1])
        looks = Looks(self.taken, self.failed, time.monotonic() - now, time.time())
        self.metrics = render_census(found, self.programs, looks)
        return True

    def warn(self, *remarks: str) -> None:
        """Say on stderr what was not said before."""
        for remark in remarks:
            if remark not in self.said:
                self.said.add(remark)
                print(f"memtest: {printable_text(remark)}", file=sys.stderr, flush=True)

    def keep(self, look: Look) -> None:
        if not self.options.draw:
            del self.looks[1:]
        self.looks.append(look)
        self.taken += 1

    def report(self, look: Look) -> None:
        with stdout.raise_write_errors():
            print(json.dumps(asdict(look)) if self.options.is_json else describe(look), flush=True)

    def draw(self) -> None:
        if self.options.draw and self.looks:
            self.options.draw(self.looks, self.programs)

    def conclude(self) -> None:
        """Draw the picture, and say what has grown since the first look."""
        if not self.looks:
            return
        self.draw()
        grown = list(find_growth(self.looks[0], self.looks[-1]))
        for sentence in grown or ["nothing has grown beyond what connections explain"]:
            print(f"census: {sentence}", file=sys.stderr)


def follow(list_processes: Callable[[], Sequence[int | Path]], options: WatchOptions) -> int:
    """Look again and again, until the processes have ended or Ctrl-C; then say what has grown. Returns 0.

    Raises UserError where the first look finds nothing, or the picture cannot be written."""
    watch = Watch(list_processes, options)
    with suppress(KeyboardInterrupt):
        watch.run()
    watch.conclude()
    return 0
