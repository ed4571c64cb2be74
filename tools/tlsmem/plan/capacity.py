"""The arithmetic of a plan: process + first + N·(E + own + K) + W·H + F·R + backends, in whole bytes, and what fits.

report/assets/plan_memory.js has the sum for the report, without a server; a test compares both over a grid."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.amounts import Share
from tlsmem.plan.amounts import take_share
from tlsmem.plan.configuration_costs import SettingCost
from tlsmem.plan.connection_model import ConnectionModel
from tlsmem.plan.server_memory import ServerMemory

FIXED, CONNECTIONS, HANDSHAKE = "process without connections", "TLS connections, E", "concurrent handshakes, H"
RESTING = "TLS connections at rest"
FIRST = "first connections, once"
IN_FLIGHT, OWN, KERNEL = "records in flight, R", "server's own", "kernel, K"
BACKENDS, CONTEXTS, BACKEND_KERNEL = "backend connections", "backend contexts", "kernel, backends"


class ContextCost(NamedTuple):
    """The RSS of one more context for a server behind a proxy, in bytes, and what was measured, in words."""

    size: int
    source: str


class Backends(NamedTuple):
    """A proxy's backend connections and contexts: how many, and the bytes of each. `context` is None if it is not
    recorded; contexts are then not counted."""

    connections: int
    tls: int
    kernel: int
    contexts: int
    context: ContextCost | None


class Price(NamedTuple):
    """Bytes: of the process, of a connection, of a handshake under way, of a record in flight, of the kernel for a
    connection, and of the server's own for a connection beside TLS."""

    fixed: int
    tls: int
    handshake: int
    record: int
    kernel: int
    own: int = 0
    backends: Backends | None = None
    rest: int | None = None  # of a connection at rest in its process; None: not recorded
    settings: tuple[SettingCost, ...] = ()  # of the server's configuration
    first: int = 0  # what the first connections add to the process once: less than 0 where they use what was there
    first_at_rest: int = 0  # the same of connections at rest

    @property
    def connection(self) -> int:
        """Of a connection in its process: TLS and the server's own."""
        return self.tls + self.own


@dataclass(frozen=True)
class Demand:
    """How many of N connections are in the handshake at once, have a full record in flight, and are in the state of
    the plan; the others are at rest."""

    handshaking: Share = Fraction(0)
    in_flight: Share = Fraction(0)
    in_use: Share = Fraction(1)

    def shaking(self, sessions: int) -> Fraction:
        return take_share(self.handshaking, sessions)

    def flying(self, sessions: int) -> Fraction:
        """At most those that are not in the handshake."""
        return min(take_share(self.in_flight, sessions), sessions - self.shaking(sessions))

    def resting(self, sessions: int) -> Fraction:
        """Return how many are at rest: none of those that are in the handshake or have a record in flight."""
        busy = self.shaking(sessions) + self.flying(sessions)
        return max(Fraction(0), sessions - max(busy, take_share(self.in_use, sessions)))


class Term(NamedTuple):
    what: str
    number: Fraction  # of them
    each: int  # bytes
    remark: str = ""

    @property
    def size(self) -> int:
        return math.ceil(self.number * self.each)


def price_model(
    model: ConnectionModel, kernel: int, record: int | None, assumed: int, server: ServerMemory | None = None
) -> Price:
    """`record`: what a record in flight adds; None: as recorded, or else as assumed. `server`: gives the process, and
    its own memory for each client connection; None: the harness's process."""
    flying = model.record(assumed)[0] if record is None else record
    fixed = server.process if server else model.fixed
    own = server.own(model.configuration.is_at_rest) if server and model.role != "client" else 0
    state = "at-rest" if model.configuration.is_at_rest else "in-use"
    fixed, tls, handshake, flying = map(round, (fixed, model.connection, model.handshake or 0.0, flying))
    first, first_at_rest = (-server.reused[state], -server.reused["at-rest"]) if server else (0, 0)
    return Price(fixed, tls, handshake, flying, kernel, own, first=first, first_at_rest=first_at_rest)


def process_terms(price: Price, demand: Demand, sessions: int) -> list[Term]:
    """Raises ValueError if some are at rest and that is not recorded."""
    resting = demand.resting(sessions)
    if resting and price.rest is None:
        raise ValueError("RSS at rest is not recorded")
    own = [Term(OWN, sessions - resting, price.own)] if price.own else []
    of_connections = [
        Term(CONNECTIONS, sessions - resting, price.tls),
        *([Term(RESTING, resting, price.rest)] if resting and price.rest is not None else []),
        Term(HANDSHAKE, demand.shaking(sessions), price.handshake),
        Term(IN_FLIGHT, demand.flying(sessions), price.record),
        *own,
    ]
    first = first_of_mix(price, resting, sessions)
    # They cannot use more of the process than they need.
    least = -sum(term.size for term in of_connections)
    return [
        Term(FIXED, Fraction(1), price.fixed),
        *([Term(FIRST, Fraction(1), max(first, least))] if first and sessions else []),
        *of_connections,
        *(Term(one.what, Fraction(one.number), one.each, one.remark) for one in price.settings),
        *backend_terms(price.backends),
    ]


def first_of_mix(price: Price, resting: Fraction, sessions: int) -> int:
    """Return what the first connections add once, of which so many are at rest: where some are and others not, the
    more, as one connection in use suffices for what those in use add."""
    if resting == sessions:
        return price.first_at_rest
    return max(price.first, price.first_at_rest) if resting else price.first


def backend_terms(backends: Backends | None) -> list[Term]:
    if not backends:
        return []
    connections = Term(BACKENDS, Fraction(backends.connections), backends.tls)
    context = backends.context
    return [connections, *([Term(CONTEXTS, Fraction(backends.contexts), context.size)] if context else [])]


def kernel_terms(price: Price, sessions: int) -> list[Term]:
    backends = price.backends
    of_backends = [Term(BACKEND_KERNEL, Fraction(backends.connections), backends.kernel)] if backends else []
    return [Term(KERNEL, Fraction(sessions), price.kernel), *of_backends]


def kernel_bytes(price: Price, sessions: int) -> int:
    return sum(term.size for term in kernel_terms(price, sessions))


def memory_bytes(price: Price, demand: Demand, sessions: int) -> int:
    """Bytes of process and kernel, rounded up term by term."""
    return sum(term.size for term in process_terms(price, demand, sessions)) + kernel_bytes(price, sessions)


def fit_connections(price: Price, demand: Demand, size: int) -> int | None:
    """The most connections whose memory is at most `size`; None where not even the process fits."""
    if memory_bytes(price, demand, 0) > size:
        return None
    # What the first connections use of the process, too.
    room = size - min(0, price.first, price.first_at_rest)
    low, high = 0, room // max(1, price.connection + price.kernel) + 1
    while high - low > 1:  # memory(low) fits, memory(high) does not: it grows with every connection
        middle = (low + high) // 2
        low, high = (middle, high) if memory_bytes(price, demand, middle) <= size else (low, middle)
    return low


def after_handshakes(price: Price, model: ConnectionModel, demand: Demand, sessions: int) -> int:
    """What the process still holds once the handshakes are complete."""
    given_back = math.floor((1 - model.handshake_retention) * price.handshake * demand.shaking(sessions))
    return sum(term.size for term in process_terms(price, demand, sessions)) - given_back


def after_closing(price: Price, model: ConnectionModel, demand: Demand, sessions: int) -> int:
    """What the process still holds once every connection is closed."""
    before = price.fixed + sum(one.number * one.each for one in price.settings)
    grown = after_handshakes(price, model, demand, sessions) - before
    return before + math.ceil(model.closed_retention * grown)


def apply_littles_law(rate: float, seconds: float) -> int:
    """How many are under way at once: arrivals a second by how long each takes; rounded up."""
    return math.ceil(round(rate * seconds, 9))
