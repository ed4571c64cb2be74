"""Memory in the course of a storm: process and kernel, by the memory model."""

from dataclasses import dataclass

import numpy

from tlsmem.plan.capacity import Price
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.storm_simulation import Course


@dataclass(frozen=True)
class StormMemory:
    """Of a server that had so many connections before."""

    model: ConnectionModel
    price: Price
    course: Course
    before: int = 0  # connections, established and staying
    shaking: int = 0  # of these, in the handshake at any time, beside the storm
    resting: int = 0  # bytes for what these connections do beside, such as records in flight

    def bytes_at(self, times: numpy.ndarray) -> numpy.ndarray:
        """Bytes of process and kernel at these times, increasing."""
        price, course = self.price, self.course
        process = price.fixed + self.resting + price.connection * (self.before + course.sessions(times))
        kernel = price.kernel * (self.before + course.connections(times))
        return process + kernel + price.handshake * self.handshakes_with_memory(times)

    def handshakes_with_memory(self, times: numpy.ndarray) -> numpy.ndarray:
        """Handshakes whose memory is there: those under way, and what the allocator keeps of the most so far."""
        now, most = self.course.shaking(times), self.most_so_far(times)
        return self.shaking + now + self.model.handshake_retention * (most - now)

    def most_so_far(self, times: numpy.ndarray) -> numpy.ndarray:
        every = self.course.times
        most = numpy.maximum.accumulate(self.course.shaking(every))
        found = numpy.searchsorted(every, times, side="right")
        return numpy.concatenate([[0], most])[found]

    @property
    def without_handshakes(self) -> float:
        """Bytes when all is over, had no handshakes of the storm been concurrent."""
        price, connections = self.price, self.before + len(self.course.established)
        return (
            price.fixed
            + self.resting
            + (price.connection + price.kernel) * connections
            + price.handshake * self.shaking
        )

    @property
    def peak(self) -> tuple[float, float]:
        """Seconds, bytes: the first of equals."""
        sizes = self.bytes_at(self.course.times)
        first = int(numpy.argmax(sizes))
        return float(self.course.times[first]), float(sizes[first])

    @property
    def start(self) -> float:
        return float(self.bytes_at(numpy.array([-1.0]))[0])

    @property
    def end(self) -> float:
        return float(self.bytes_at(self.course.times[-1:])[0])

    @property
    def most_shaking(self) -> int:
        return self.shaking + int(self.course.shaking(self.course.times).max())
