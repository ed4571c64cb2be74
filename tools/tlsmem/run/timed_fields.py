"""What a record has of a timed run."""

from typing import Any

from tlsmem.config.run import Run
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run.validate import Outcome
from tlsmem.schema import histogram
from tlsmem.schema.harness_output import CountedPart, Thread


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
