"""What a measured record of a timed run has."""

from typing import Any

from tlsmem.schema import timed_parts


def check(record: Any) -> None:
    """ValueError with a sentence at the first that is wrong; `record` is one of records.py, which asks."""
    counted = record.meter == "instructions"
    if None in (record.threads, record.rounds, record.noise) or record.meter not in ("time", "instructions"):
        raise ValueError("a timed run has its meter, threads, rounds and the noise meanwhile")
    if (record.size_bytes is None) != (record.scenario == "handshake"):
        raise ValueError("a run of throughput has the size of a write, and one of handshakes has none")
    if bool(record.timings) == counted or (record.instructions is None) == counted:
        raise ValueError("a timed run has its timings, one under callgrind its instructions, and neither both")
    if not counted and [one.thread for one in record.timings] != list(range(record.threads)):
        raise ValueError("a timed run has as many timings as threads, in order")
    for timing in record.timings or ():
        check_parts(record.scenario, timing)


def check_parts(scenario: str, timing: Any) -> None:
    if not timed_parts.whole(scenario, [part.part for part in timing.parts]):
        raise ValueError(f"thread {timing.thread}: its parts are not those of the scenario {scenario}, each once")
    for part in timing.parts:
        if (part.histogram is None) == (part.part in timed_parts.INTERVALS[scenario]):
            raise ValueError(f"thread {timing.thread}: {part.part}: what has intervals has their histogram, no other")
