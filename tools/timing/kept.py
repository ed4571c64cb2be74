"""What a record has of a timed run."""

from typing import Any

from lines import CountedPart, Thread
from run import Run
from timing import histogram
from timing.runs import TimedRun
from verdict import Outcome


def fields(run: Run, outcome: Outcome) -> dict[str, Any]:
    """None of memory. Of a run that was to be counted its times say nothing."""
    if not isinstance(run, TimedRun):
        return {}
    known = {"threads": run.threads, "rounds": run.rounds, "size_bytes": run.size_bytes}
    known |= {"noise": outcome.noise and outcome.noise.model_dump()}
    if outcome.status != "measured":
        return known
    known |= {"sealed": outcome.end.sealed, "instructions": outcome.instructions and outcome.instructions.model_dump()}
    return known | ({"timings": list(map(timing, outcome.threads))} if run.meter == "time" else {})


def timing(line: Thread) -> dict[str, Any]:
    said = line.model_dump(include=set(Thread.model_fields))
    return said | {"parts": list(map(part, line.parts))}


def part(one: CountedPart) -> dict[str, Any]:
    said = one.model_dump(exclude={"histogram"})
    return said | ({"histogram": histogram.text(one.histogram)} if one.histogram else {})
