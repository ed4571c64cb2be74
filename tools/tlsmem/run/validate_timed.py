"""What a harness printed of a timed run: whether it is whole, and of what was asked for."""

from collections.abc import Iterator

from tlsmem.config.definitions import Suite
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.schema import timed_parts
from tlsmem.schema.harness_output import EndLine, Line, RunLine, ThreadLine

NEARLY = 0.99  # of its seconds: the clock is read for their end before it is read for the time


def threads(lines: list[Line]) -> list[ThreadLine]:
    return [line for line in lines if isinstance(line, ThreadLine)]


def incomplete(lines: list[Line]) -> str | None:
    """What is missing from a measurement: a run line, as many threads as it says with the parts of its scenario, an
    end; nothing else."""
    first, *inner, last = lines
    if not isinstance(first, RunLine) or len(threads(inner)) != len(inner) or not isinstance(last, EndLine):
        return "its output is not a run line, threads and an end line"
    if [line.thread for line in inner] != list(range(first.threads)):
        return f"its run line says {first.threads} threads, and its thread lines are not numbered so"
    if last.status != "measured" or last.negotiated is None:
        return f"exit 0, but its end line says {last.status} and not what was negotiated"
    return next(filter(None, (wrong(line, first) for line in inner)), None)


def wrong(line: ThreadLine, said: RunLine) -> str | None:
    place = f"thread {line.thread}"
    if not timed_parts.whole(said.scenario, [part.part for part in line.parts]):
        return f"{place}: its parts are not those of the scenario {said.scenario}, each once"
    if line.rounds > said.rounds:
        return f"{place}: {line.rounds} rounds, but all stop after {said.rounds}"
    for part in line.parts:
        counted = sum(count for _, count in part.histogram or ())
        if part.part in timed_parts.INTERVALS[said.scenario] and (counted, part.count) != (line.rounds, line.rounds):
            return f"{place}: {part.part}: its histogram does not have an interval for each round"
    return None


def compared(
    run: TimedRun, suite: Suite, said: RunLine, threads: list[ThreadLine]
) -> Iterator[tuple[str, object, object]]:
    """Name, asked for, answered."""
    yield "meter", "time", said.meter  # which is what a harness says that is to be counted, too
    for name in ("scenario", "rounds", "size_bytes", "threads", "sessions", "window"):
        yield name, getattr(run, name), getattr(said, name)
    for line in threads:
        yield "CPU", said.cpus[line.thread % len(said.cpus)] if said.cpus else None, line.cpu
        yield "resumed handshakes", line.rounds if suite.resume == "on" else 0, line.resumed
    if not run.seconds or max(line.elapsed_ns for line in threads) < NEARLY * 1e9 * run.seconds:
        yield "rounds of the thread that stopped all", run.rounds, max(line.rounds for line in threads)
