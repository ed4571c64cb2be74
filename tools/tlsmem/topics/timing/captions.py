"""What captions of timed tables say: what is equal for all rows, how long the runs were, and what noise there was."""

from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.topics.timing import warnings
from tlsmem.topics.timing.rows import VARYING, size_text, varying_columns

MEDIANS = "Medians of {}; ±: the wider half of the median's 95 % interval, by bootstrap."


def join_sentences(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def threads_text(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def describe_common_work(timed: TimedSelection) -> str:
    """What the columns leave out. The system's allocator and the whole CPU go without saying."""
    equal = {column.key for column in VARYING} - {column.key for column in varying_columns(timed.works)}
    sizes = {work.size_bytes for work in timed.works if work.size_bytes}
    said = []
    for work in timed.works[:1]:
        said += [threads_text(work.threads)] * ("threads" in equal)
        said += [f"writes of {size_text(size)}" for size in sizes if "size_bytes" in equal]
        said += [f"allocator {work.allocator}"] * ("allocator" in equal and work.allocator != "system")
        said += [f"CPU {work.cpu}"] * ("cpu" in equal and work.cpu != "all")
    text = ", ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def describe_runs(timed: TimedSelection) -> str:
    """How long the runs were, and what noise there was."""
    measured = [one for one in timed.records if one.status == "measured" and one.meter == "time"]
    counts = sorted({one.rounds for one in measured if one.rounds})
    if not counts:
        return ""
    lengths = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    return join_sentences(f"{lengths} round{'s' * (counts != [1])} a run.", warnings.summarize_noise(measured))


def describe_conditions(timed: TimedSelection) -> str:
    """What the columns leave out, and how the runs were made."""
    return join_sentences(describe_common_work(timed), describe_runs(timed))


def repeats_text(timed: TimedSelection) -> str:
    """How many repeats a row has."""
    counts = sorted({len(runs) for series in timed.every() if (runs := series.runs())})
    if not counts:
        return "no runs"
    few = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{few} run" if counts == [1] else f"{few} runs"


def describe_medians(timed: TimedSelection) -> str:
    return MEDIANS.format(repeats_text(timed))
