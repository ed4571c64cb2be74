"""Tests in several processes that are forks of the one that has collected them: `--forks=N`, or `auto`.

Each worker of pytest-xdist imports and collects all tests anew: 7 s of CPU time for each of six. A fork has them
already. The files are in order in every worker, and a counter that they share says whose turn the next file is. What
becomes of a test is sent to the first process, which reports it.

Files, not tests, are handed out, as by `--dist=loadfile`: fixtures of a module are set up once. A worker that dies
fails the test that it ran; it is not started again. `--pdb`, and snapshots that are to be written, need one process or
pytest-xdist."""

import itertools
import multiprocessing
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized

import pytest

CONTEXT = multiprocessing.get_context("fork")
SECONDS_TO_END = 10  # of a worker whose fixtures clean up

Files = list[list[pytest.Item]]


class ForkedWorkers:
    """A plugin that runs the tests of a session in `count` processes."""

    def __init__(self, count: int) -> None:
        self.count = count

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly or self.count < 2:
            return None  # pytest's own loop
        session.config._tmp_path_factory.getbasetemp()  # workers have theirs in it
        session.config.get_terminal_writer().flush()
        files = [list(items) for _, items in itertools.groupby(session.items, lambda item: item.path)]
        turns = CONTEXT.Value("i", 0)
        workers: list[Worker] = []
        try:
            for number in range(min(self.count, len(files))):
                workers.append(Worker(number, session, files, turns, [worker.reading for worker in workers]))
            report_all(session, workers, turns, len(files))
        finally:
            turns.value = len(files)
            for worker in workers:
                worker.end()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True


def report_all(session: pytest.Session, workers: list["Worker"], turns: Synchronized, end: int) -> None:
    """Report what the workers send until all have ended; those that are to stop are given no file any more."""
    by_way = {worker.reading: worker for worker in workers}
    while by_way:
        for way in wait(list(by_way)):
            try:
                by_way[way].report(*way.recv())
            except (EOFError, ConnectionResetError):
                by_way.pop(way).report_death()
        if session.shouldfail or session.shouldstop:
            turns.value = end


class Worker:
    """A process that runs tests, seen from the one that reports them."""

    def __init__(
        self, number: int, session: pytest.Session, files: Files, turns: Synchronized, others: list[Connection]
    ) -> None:
        self.hook, self.config = session.config.hook, session.config
        self.running: tuple[str, tuple[str, int | None, str]] | None = None
        self.has_ended = False
        self.reading, writing = CONTEXT.Pipe(duplex=False)
        words = (number, session, files, turns, writing, [*others, self.reading])
        self.process = CONTEXT.Process(target=work, args=words)
        self.process.start()
        writing.close()

    def report(self, kind: str, content: object) -> None:
        if kind == "begin":
            self.running = content
            self.hook.pytest_runtest_logstart(nodeid=content[0], location=content[1])
        elif kind == "end":
            nodeid, location = self.running
            self.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
            self.running = None
        elif kind == "report":
            report = self.hook.pytest_report_from_serializable(config=self.config, data=content)
            self.hook.pytest_runtest_logreport(report=report)
        else:
            self.has_ended = True

    def report_death(self) -> None:
        """Fail the test that ran when the process died; nothing if it had said that it ends."""
        if self.has_ended:
            return
        self.process.join(SECONDS_TO_END)
        nodeid, location = self.running or ("a worker between two tests", ("", None, ""))
        why = f"the worker process died, with exit status {self.process.exitcode}; the rest of this file is not tested"
        report = pytest.TestReport(nodeid, location, {}, "failed", why, "call")
        self.hook.pytest_runtest_logreport(report=report)

    def end(self) -> None:
        self.reading.close()
        self.process.join(SECONDS_TO_END)
        self.process.kill()
        self.process.join()


def work(
    number: int,
    session: pytest.Session,
    files: Files,
    turns: Synchronized,
    writing: Connection,
    others: list[Connection],
) -> None:
    """Run the files whose turn it is, until there are none."""
    for way in others:
        way.close()  # a worker whose first process is gone is then told so, and ends
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of the first process
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory = session.config._tmp_path_factory
    factory._basetemp = factory.getbasetemp() / f"worker{number}"
    factory._basetemp.mkdir(mode=0o700)
    plugins.register(Sender(session.config, writing))
    try:
        for item, following in itertools.pairwise(itertools.chain(take_items(files, turns), [None])):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)
    finally:
        session._setupstate.teardown_exact(None)  # of a session that is to stop; else nothing is left
    writing.send(("ended", None))


def take_items(files: Files, turns: Synchronized) -> Iterator[pytest.Item]:
    while (number := take_turn(turns)) < len(files):
        yield from files[number]


def take_turn(turns: Synchronized) -> int:
    with turns.get_lock():
        turns.value += 1
        return turns.value - 1


class Sender:
    """A plugin of a worker that sends what becomes of its tests."""

    def __init__(self, config: pytest.Config, writing: Connection) -> None:
        self.config, self.writing = config, writing

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.writing.send(("begin", (nodeid, location)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.writing.send(("report", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self.writing.send(("end", None))
