"""What a record keeps of a timed run: times by part, the noise meanwhile, or instructions."""

from typing import Annotated

from pydantic import AfterValidator, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlsmem.schema.harness_output import Model, Part, PartName, Thread
from tlsmem.schema.histogram import intact


class TimedPart(Part):
    # Of the intervals in ns: HdrHistogram's own text (V2, compressed, base64).
    histogram: Annotated[str, AfterValidator(intact)] | None = None


class Timing(Thread):
    parts: list[TimedPart]

    def part(self, name: str) -> TimedPart | None:
        return next((part for part in self.parts if part.part == name), None)


class Noise(Model):
    """What else went on while a timed run was made: of the machine, read before and after it."""

    load: NonNegativeFloat  # runnable tasks in the last minute, before the run
    steal_ns: NonNegativeInt  # taken by the hypervisor, of all CPUs
    busy_ns: NonNegativeInt  # used by other processes, of all CPUs
    mhz: tuple[NonNegativeFloat, NonNegativeFloat] | None  # of the run's CPUs, before and after


class Instructions(Model):
    """Of one round, by part: the difference of two runs under callgrind, which have other numbers of rounds."""

    tool: str  # with its version
    hides: str  # what of the CPU it does not have
    rounds: tuple[PositiveInt, PositiveInt]
    parts: dict[PartName, NonNegativeFloat]
