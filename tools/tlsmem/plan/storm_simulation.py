"""All clients come back at once: who waits, who is in the handshake, and when, simulated event by event.

A server takes events in the order in which they arrive, as an event loop does: a ClientHello takes one core for the
time of a handshake, and what the client sends last no time, but it stands in the same queue. Between the two lie the
round trip and the client's own time. Memory in its course, of process and kernel, is by the memory model."""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy
from numpy.typing import NDArray

from tlsmem.plan.capacity import Price
from tlsmem.plan.connection_model import ConnectionModel

Values = NDArray[numpy.float64]
Counts = NDArray[numpy.intp]
MOST = 2_000_000  # attempts that a simulation makes: some twenty seconds a million
ARRIVE, RETURN, LEAVE, LOSE_PATIENCE = range(4)


@dataclass(frozen=True)
class Service:
    """The server's side and the clients'. Times in seconds."""

    each: float  # of one core, a handshake
    cores: int
    away: float  # round trip and client's time
    limit: int | None = None  # handshakes at a time; the others wait outside, without a session
    timeout: float | None = None  # after which a client gives up
    retry: float = 1.0  # and comes back, each time after twice as long
    attempts: int = 10  # and then no more
    spread: float = 0.0  # of the time until it is back, at random: 0.5 is from half to half as much again


@dataclass
class Course:
    """What happened, as times of attempts in seconds, each list increasing."""

    arrived: list[float] = field(default_factory=list)  # connected
    entered: list[float] = field(default_factory=list)  # given a session
    begun: list[float] = field(default_factory=list)  # its ClientHello taken: in the handshake
    left: list[float] = field(default_factory=list)  # not in the handshake any more
    established: list[float] = field(default_factory=list)  # of these, those with a client at the other end
    waits: dict[int, float] = field(default_factory=dict)  # client to how long it took from its first attempt on
    first: dict[int, float] = field(default_factory=dict)  # client to when that was
    lost: int = 0  # clients that gave up for good

    @property
    def attempts(self) -> int:
        return len(self.arrived)

    @cached_property
    def times(self) -> Values:
        """Of all that happened."""
        return numpy.unique(numpy.concatenate([self.arrived, self.begun, self.left]))

    def shaking(self, at: Values) -> Counts:
        return by(self.begun, at) - by(self.left, at)

    def queued(self, at: Values) -> Counts:
        """Connected, and their ClientHello not taken yet."""
        return by(self.arrived, at) - by(self.begun, at)

    def sessions(self, at: Values) -> Counts:
        """Those that the server has made and not freed: on the way, and established."""
        return by(self.entered, at) - by(self.left, at) + by(self.established, at)

    def connections(self, at: Values) -> Counts:
        """The same, and those that wait outside."""
        return by(self.arrived, at) - by(self.left, at) + by(self.established, at)


def by(times: Sequence[float], at: Values) -> Counts:
    """How many there were up to then."""
    return numpy.searchsorted(numpy.asarray(times), at, side="right")


def arrivals(clients: int, within: float, kind: str, seed: int) -> Values:
    """When they come, increasing. even: spaced alike; uniform: anywhere; poisson: as many a second on average, so
    that the last may come later; at-once: all at 0."""
    numbers = numpy.random.default_rng(seed)
    if kind == "even":
        return numpy.arange(clients, dtype=float) * (within / clients)
    if kind == "at-once":
        return numpy.zeros(clients)
    if kind == "poisson":
        return numpy.cumsum(numbers.exponential(within / clients, clients))
    return numpy.sort(numbers.uniform(0, within, clients))


class Simulation:
    """One storm; `run` gives its course."""

    def __init__(self, times: Sequence[float] | Values, service: Service):
        self.service, self.course = service, Course()
        self.free = [0.0] * service.cores  # when each core is next
        self.outside: deque[int] = deque()
        self.inside = 0
        self.client: list[int] = []  # by attempt
        self.tries: dict[int, int] = {}
        self.gone: set[int] = set()
        self.done: set[int] = set()
        self.events: list[tuple[float, int, int, int]] = []  # time, order, what, attempt
        self.order = itertools.count()
        self.random = random.Random(1)
        for client, time in enumerate(times):
            self.course.first[client] = float(time)
            self.attempt(client, float(time))

    def attempt(self, client: int, time: float) -> None:
        self.client.append(client)
        if len(self.client) > MOST:
            raise ValueError(
                f"more than {MOST:,} attempts are not simulated; fewer --clients or a longer --timeout help"
            )
        self.push(time, ARRIVE, len(self.client) - 1)

    def push(self, time: float, what: int, attempt: int) -> None:
        heapq.heappush(self.events, (time, next(self.order), what, attempt))

    def run(self) -> Course:
        handle = (self.arrive, self.come_back, self.leave, self.lose_patience)
        while self.events:
            time, _, what, attempt = heapq.heappop(self.events)
            handle[what](time, attempt)
        return self.course

    def arrive(self, time: float, attempt: int) -> None:
        self.course.arrived.append(time)
        if self.service.timeout is not None:
            self.push(time + self.service.timeout, LOSE_PATIENCE, attempt)
        if self.service.limit is not None and self.inside >= self.service.limit:
            self.outside.append(attempt)
        else:
            self.enter(time, attempt)

    def enter(self, time: float, attempt: int) -> None:
        """The ClientHello stands in the queue; the first core that is free takes it."""
        self.inside += 1
        self.course.entered.append(time)
        begun = max(time, heapq.heappop(self.free))
        ended = begun + self.service.each
        heapq.heappush(self.free, ended)
        self.course.begun.append(begun)
        self.push(ended + self.service.away, RETURN, attempt)

    def come_back(self, time: float, attempt: int) -> None:
        """Behind all that came before: when a core is free, and no time of it."""
        self.push(max(time, self.free[0]), LEAVE, attempt)

    def leave(self, time: float, attempt: int) -> None:
        self.inside -= 1
        self.course.left.append(time)
        if attempt not in self.gone:
            client = self.client[attempt]
            self.done.add(attempt)
            self.course.established.append(time)
            self.course.waits[client] = time - self.course.first[client]
        if self.outside:
            self.enter(time, self.outside.popleft())

    def lose_patience(self, time: float, attempt: int) -> None:
        """The server finds out only when it comes to it: its work is lost."""
        if attempt in self.done:
            return
        self.gone.add(attempt)
        client = self.client[attempt]
        tried = self.tries[client] = self.tries.get(client, 0) + 1
        if tried < self.service.attempts:
            self.attempt(client, time + self.back_after(tried))
        else:
            self.course.lost += 1

    def back_after(self, tried: int) -> float:
        spread = self.random.uniform(1 - self.service.spread, 1 + self.service.spread)
        times_as_long: int = 2 ** (tried - 1)
        return self.service.retry * times_as_long * spread


def simulate(times: Sequence[float] | Values, service: Service) -> Course:
    """Raises ValueError with a sentence when it comes to too many attempts."""
    if len(times) > MOST:
        raise ValueError(f"{len(times):,} clients are too many: at most {MOST:,} are simulated; give fewer --clients")
    return Simulation(times, service).run()


@dataclass(frozen=True)
class StormMemory:
    """Of a server that had so many connections before."""

    model: ConnectionModel
    price: Price
    course: Course
    before: int = 0  # connections, established and staying
    shaking: int = 0  # of these, in the handshake at any time, beside the storm
    resting: int = 0  # bytes for what these connections do beside, such as records in flight

    def bytes_at(self, times: Values) -> Values:
        """Bytes of process and kernel at these times, increasing."""
        kernel = self.price.kernel * (self.before + self.course.connections(times))
        return self.process_at(times) + kernel

    def process_at(self, times: Values) -> Values:
        """Bytes of the process at these times."""
        return self.process_with(self.before + self.course.sessions(times), self.handshakes_with_memory(times))

    def process_with(self, connections: Values | Counts, handshakes: Values | Counts) -> Values:
        """Bytes of the process with so many connections, and memory of so many handshakes."""
        price = self.price
        first = numpy.where(connections, price.first, 0)
        added: Values = numpy.maximum(0, first + price.connection * connections + price.handshake * handshakes)
        return price.fixed + self.resting + added

    def handshakes_with_memory(self, times: Values) -> Values:
        """Handshakes whose memory is there: those under way, and what the allocator keeps of the most so far."""
        now, most = self.course.shaking(times), self.most_so_far(times)
        return self.shaking + now + self.model.handshake_retention * (most - now)

    def most_so_far(self, times: Values) -> Counts:
        every = self.course.times
        most = numpy.maximum.accumulate(self.course.shaking(every))
        found = numpy.searchsorted(every, times, side="right")
        return numpy.concatenate([[0], most])[found]

    @property
    def without_handshakes(self) -> float:
        """Bytes when all is over, had no handshakes of the storm been concurrent."""
        return self.end_with(self.shaking)

    def end_with(self, handshakes: int) -> float:
        """Bytes when all is over, had so many handshakes been concurrent."""
        connections = self.before + len(self.course.established)
        process = self.process_with(numpy.array([connections]), numpy.array([handshakes]))
        return float(process[0]) + self.price.kernel * connections

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
