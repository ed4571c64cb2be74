"""The heap meter on a command and all that it starts, or on a process that is already metered."""

import io
import os
import shlex
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import IO, TextIO, cast

import rich.console
import rich.text
from rich.live import Live

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.monitor import process, report
from tlsmem.monitor.endpoint import Endpoint, render_metrics
from tlsmem.monitor.growth import ConnectionGrowth, Growth, count_connections, describe_connections
from tlsmem.monitor.program_file import foresee_go
from tlsmem.monitor.tree import LOST, RUNNING, LiveSum, MeteredProgram, ProcessTree, sum_live
from tlsmem.run import heap_page
from tlsmem.tables import render
from tlsmem.tables import table as tables

ALL_COLUMNS = "--json"  # shows what a terminal has no room for
LOADING_S = 0.1  # so long a program that is being loaded may have no page
POLL_S = 0.02  # processes that come and go are seen by the pages that they leave; only what execs sooner is not


@dataclass(frozen=True)
class ReportOptions:
    """How often reports are written, where and in which form, and what is counted for them."""

    interval_s: float  # between two reports
    once: bool  # one report only, without those between
    json: bool  # NDJSON
    growth: bool  # what grew most, too
    ports: Sequence[int]  # local ports whose connections are counted
    listen: str | None  # `HOST:PORT` of the endpoint
    hosts: Sequence[str]  # names that requests to it may have, besides those of this machine
    out: str | None  # a new file


class Listener:
    """A stream whose first error is kept in `gone` and ends what is written to it: the rest is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.gone: OSError | None = None
        self.encoding, self.isatty, self.fileno = stream.encoding, stream.isatty, stream.fileno

    def write(self, text: str) -> int:
        self.attempt(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self.attempt(self.stream.flush)

    def attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            self.gone = error
            nowhere = os.open(os.devnull, os.O_WRONLY)  # else Python tries again when it closes the stream
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)


class TreeWatcher:
    """Follows a tree and reports on `out` every interval, and once more at the end, while somebody listens."""

    def __init__(
        self,
        tree: ProcessTree,
        what: str,
        options: ReportOptions,
        out: Listener,
        endpoint: Endpoint | None,
        has_command: bool,
    ) -> None:
        """`what`: what is followed, in words. `has_command`: it was started by us."""
        self.tree, self.what, self.options, self.out, self.endpoint = tree, what, options, out, endpoint
        self.has_command = has_command
        file = cast(IO[str], out)  # it has all that a console asks for
        self.console = rich.console.Console(file=file, width=None if out.isatty() else 120, highlight=False)
        self.began = self.said = time.monotonic()
        covered = has_command and stdout.is_terminal()  # the command's output is on this terminal too
        live = out.isatty() and not covered and not options.once and not options.json
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if live else None
        self.of_connections = ConnectionGrowth()
        self.growth = Growth(self.of_connections) if options.growth else None
        self.told = set[MeteredProgram]()  # of those that have ended
        self.peak = LiveSum()
        self.strangers = process.Strangers()

    def connections(self) -> dict[int, int]:
        """Return the number of connections by port, of those that are to be counted; none once no program runs.

        Two threads call it: the list is taken at once, since the other one may change the processes meanwhile."""
        for pid in list(self.tree.current)[:1]:
            counts = {port: count_connections(pid, port) for port in self.options.ports}
            return {port: count for port, count in counts.items() if count is not None}
        return {}

    def metrics(self) -> str:
        """Return what the endpoint serves, from the thread that serves it."""
        programs, connections = list(self.tree.programs), self.connections()
        growth = self.of_connections.above(programs, sum(connections.values())) if connections else None
        return render_metrics(programs, connections, growth)

    def poll(self) -> None:
        """Read all programs. A program's own peak was live at one moment too, which readings may have missed."""
        before, known = list(self.tree.current.values()), len(self.tree.programs)
        self.tree.poll()
        changed = (*before, *self.tree.programs[known:])
        peaks = (LiveSum(one.page.total.peak_bytes, one.page.total.peak_blocks) for one in changed)
        self.peak = max(self.peak, sum_live(self.tree.current.values()), *peaks)

    def tick(self) -> None:
        self.poll()
        if not self.options.once and time.monotonic() - self.said >= self.options.interval_s:
            self.said = time.monotonic()
            self.tree.replace_unmetered()
            self.strangers.look(self.tree)
            connections = self.connections()
            if connections:
                self.of_connections.observe(self.tree.current.values(), sum(connections.values()))
            if not self.out.gone:
                self.report(connections)
            if self.has_command:
                self.tree.remove_pages()

    def report(self, connections: dict[int, int]) -> None:
        """What runs, and what has ended since the report before."""
        report.update_rss(self.tree.programs)
        ended = [one for one in self.tree.programs if one.state != RUNNING and one not in self.told]
        self.told.update(ended)
        seconds = self.said - self.began
        if self.options.json:
            recent = set(ended)
            shown = [one for one in self.tree.programs if one.state == RUNNING or one in recent]
            self.write(self.ndjson(shown, connections))
        elif self.growth and not self.live:
            self.write(self.growth.lines(seconds, self.tree.programs, connections))
            self.write(report.lines(seconds, ended, connections))
        elif self.live:
            first = self.growth_table(self.growth, connections) if self.growth else self.table(connections)
            both = [first, report.rss_table(self.what, self.tree.programs)]
            drawn = [render_table(table, self.console.width) for table in both if table]
            self.live.update(rich.text.Text("\n\n").join(drawn), refresh=True)
        else:
            shown = [*self.tree.current.values(), *ended]
            self.write(report.lines(seconds, shown, connections))

    def ndjson(self, shown: list[MeteredProgram], connections: dict[int, int]) -> str:
        """Objects of the programs that are to be shown, what grew, and what all hold."""
        seconds = self.said - self.began
        grown = self.growth.ndjson(seconds, self.tree.programs, connections) if self.growth else ""
        everything = report.all_ndjson(seconds, self.tree.programs, self.peak, connections)
        return report.ndjson(seconds, shown) + grown + everything

    def summary(self) -> None:
        self.tree.replace_unmetered()
        if self.tree.suspects:
            time.sleep(LOADING_S)
            self.poll()
            self.tree.replace_unmetered()
        self.said, connections = time.monotonic(), self.connections()
        if self.out.gone:
            return
        report.update_rss(self.tree.programs)
        if self.options.json:
            self.write(self.ndjson(self.tree.programs, connections))
        elif self.tree.programs:
            render.terminal(self.table(connections), self.console, ALL_COLUMNS)
            if self.growth and self.tree.current:
                self.console.print()
                render.terminal(self.growth_table(self.growth, connections), self.console, ALL_COLUMNS)
            self.show_rss()

    def show_rss(self) -> None:
        """The table of RSS below the one of live heap."""
        if table := report.rss_table(self.what, self.tree.programs):
            self.console.print()
            render.terminal(table, self.console, ALL_COLUMNS)
        for sentence in report.rss_remarks(self.tree.programs):
            tell(sentence)

    def table(self, connections: dict[int, int]) -> tables.Table:
        is_now = self.options.once and not self.has_command
        title = f"Heap of {self.what}" + ("" if is_now else f" after {self.said - self.began:.1f} s")
        return report.table(title, self.tree.programs, self.peak, POLL_S, describe_connections(connections))

    def growth_table(self, growth: Growth, connections: dict[int, int]) -> tables.Table:
        return growth.table(self.what, self.said - self.began, self.tree.programs, connections)

    def write(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()

    def run(self, ended: Callable[[signal.struct_siginfo | None], bool]) -> None:
        """Until `ended(signal or None)` says so; signals come here and nowhere else."""
        if self.endpoint:
            self.endpoint.start(self.metrics)
            tell(f"metrics are at {self.endpoint.url}")
        with self.live or nullcontext():
            while not ended(signal.sigtimedwait(process.SIGNALS, min(POLL_S, self.options.interval_s))):
                self.tick()
        self.poll()


def render_table(table: tables.Table, width: int) -> rich.text.Text:
    text = io.StringIO()
    canvas = rich.console.Console(file=text, width=width, force_terminal=True, highlight=False)
    render.terminal(table, canvas, ALL_COLUMNS)
    return rich.text.Text.from_ansi(text.getvalue())


@contextmanager
def open_listener(path: str | None, standard: Callable[[], TextIO]) -> Iterator[Listener]:
    """Where reports go: a new file, or the standard stream; to stderr when it is given up for another reason than that
    its reader has gone."""
    try:
        stream: AbstractContextManager[TextIO] = open_new(path) if path else nullcontext(standard())
    except FileExistsError:
        raise UserError(f"--out {path}: it is there already; give another name, or remove it") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    with stream as file:
        out = Listener(file)
        yield out
        out.flush()
        if out.gone and not isinstance(out.gone, BrokenPipeError):
            tell(f"{path or file.name}: {out.gone.strerror}; what was to be reported after that is not there")


def open_new(path: str) -> TextIO:
    """Open a new file to write, or one that holds nothing: a device, a FIFO. Raises OSError."""
    is_file = os.path.isfile(path)
    return open(path, "x" if is_file or not os.path.exists(path) else "w")


def tell(sentence: str) -> None:
    """Whether somebody listens or not."""
    errors = Listener(sys.stderr)
    errors.write(f"memtest: {sentence}\n")
    errors.flush()


def open_endpoint(options: ReportOptions) -> Endpoint | None:
    """Raises UserError where the port is taken."""
    return Endpoint(options.listen, options.hosts) if options.listen else None


def attach(pid: int, options: ReportOptions) -> int:
    """Follow a process that runs under the meter until it has ended, ^C, or nobody listens. Return the exit status: 1
    when something was not counted, or nobody could read the reports. Raises UserError when it cannot be followed."""
    endpoint = open_endpoint(options)
    with open_listener(options.out, stdout.require_open) as out:
        tree = process.attach_tree(pid)
        for sentence in filter(None, map(foresee_go, process.program_files(tree))):
            tell(sentence)
        watch = TreeWatcher(tree, f"process {pid}", options, out, endpoint, has_command=False)
        signal.pthread_sigmask(signal.SIG_BLOCK, process.SIGNALS)
        watch.poll()

        def ended(info: signal.struct_siginfo | None) -> bool:
            asked = info is not None and info.si_signo != signal.SIGCHLD
            return asked or pid not in tree.current or out.gone is not None

        if not options.once:
            watch.run(ended)
        watch.summary()
        out.flush()
        omissions = list(process.own_allocators(tree, process.program_files(tree)))
        omissions += process.describe_unmetered(process.find_unmetered(tree))
        omissions += watch.strangers.describe(())
        for sentence in (*omissions, *process.loaded_otherwise(tree), *process.deep_forks(tree)):
            tell(sentence)
        return int(lost(tree) or bool(omissions) or out.gone is not None)


def follow(words: list[str], options: ReportOptions) -> int:
    """Run a command under the meter, and follow it until it has ended; what it leaves running stays under the meter.
    Return the command's exit status, or UNSEEN where it is 0 and something was not counted. Raises UserError when it
    cannot be started."""
    endpoint = open_endpoint(options)  # before the command: the port may be taken
    if sentence := foresee_go(words[0]):
        tell(sentence)
    what = textwrap.shorten(heap_page.printable(shlex.join(words)), 60, placeholder=" ...")
    with open_listener(options.out, lambda: sys.stderr) as out:
        command = process.MeteredCommand(words)
        watch = TreeWatcher(command.tree, what, options, out, endpoint, has_command=True)
        watch.run(command.ended)
        command.settle()
        watch.summary()
        omissions = command.omissions(watch.strangers)
        command.close()
        for sentence in (*omissions, *command.remarks()):
            tell(sentence)
        damaged = lost(command.tree)
        return command.status or process.UNSEEN * (damaged or bool(omissions))


def lost(tree: ProcessTree) -> bool:
    """Says which programs could not be followed to their end."""
    found = [program for program in tree.programs if program.state == LOST]
    for program in found:
        tell(f"{report.program_label(program)}: its page was damaged; what is shown of it is from before that")
    return bool(found)
