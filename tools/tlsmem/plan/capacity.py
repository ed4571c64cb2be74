"""The arithmetic of a plan: process + N·(E + own + K) + W·H + F·R, in whole bytes, and what fits."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.amounts import Share
from tlsmem.plan.amounts import take_share
from tlsmem.plan.connection_model import ConnectionModel

FIXED, CONNECTIONS, HANDSHAKE = "process without connections", "TLS connections, E", "concurrent handshakes, H"
IN_FLIGHT, OWN, KERNEL = "records in flight, R", "server's own", "kernel, K"


class Price(NamedTuple):
    """Bytes: of the process, of a connection, of a handshake under way, of a record in flight, of the kernel for a
    connection, and of the server's own for a connection beside TLS."""

    fixed: int
    tls: int
    handshake: int
    record: int
    kernel: int
    own: int = 0

    @property
    def connection(self) -> int:
        """Of a connection in its process: TLS and the server's own."""
        return self.tls + self.own


@dataclass(frozen=True)
class Demand:
    """How many of N connections are in the handshake at once, and have a full record in flight."""

    handshaking: Share = Fraction(0)
    in_flight: Share = Fraction(0)

    def shaking(self, sessions: int) -> Fraction:
        return take_share(self.handshaking, sessions)

    def flying(self, sessions: int) -> Fraction:
        """At most those that are not in the handshake."""
        return min(take_share(self.in_flight, sessions), sessions - self.shaking(sessions))


class Term(NamedTuple):
    what: str
    count: Fraction
    each: int  # bytes

    @property
    def size(self) -> int:
        return math.ceil(self.count * self.each)


def price_model(model: ConnectionModel, kernel: int, record: int | None, assumed: int) -> Price:
    """`record`: what one in flight adds; None: what the recording says, or what is assumed."""
    flying = model.record(assumed)[0] if record is None else record
    sizes = (model.fixed, model.connection, model.handshake or 0.0, flying)
    return Price(*map(round, sizes), kernel, model.configuration.own_bytes or 0)


def process_terms(price: Price, demand: Demand, sessions: int) -> list[Term]:
    own = [Term(OWN, Fraction(sessions), price.own)] if price.own else []
    return [
        Term(FIXED, Fraction(1), price.fixed),
        Term(CONNECTIONS, Fraction(sessions), price.tls),
        Term(HANDSHAKE, demand.shaking(sessions), price.handshake),
        Term(IN_FLIGHT, demand.flying(sessions), price.record),
        *own,
    ]


def kernel_term(price: Price, sessions: int) -> Term:
    return Term(KERNEL, Fraction(sessions), price.kernel)


def memory_bytes(price: Price, demand: Demand, sessions: int) -> int:
    """Bytes of process and kernel, rounded up term by term."""
    return sum(term.size for term in (*process_terms(price, demand, sessions), kernel_term(price, sessions)))


def fit_connections(price: Price, demand: Demand, size: int) -> int | None:
    """The most connections whose memory is at most `size`; None where not even the process fits."""
    if memory_bytes(price, demand, 0) > size:
        return None
    low, high = 0, size // max(1, price.connection + price.kernel) + 1
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
    grown = after_handshakes(price, model, demand, sessions) - price.fixed
    return price.fixed + math.ceil(model.closed_retention * grown)


def apply_littles_law(rate: float, seconds: float) -> int:
    """How many are under way at once: arrivals a second by how long each takes; rounded up."""
    return math.ceil(round(rate * seconds, 9))
