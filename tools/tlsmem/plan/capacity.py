"""The arithmetic of a plan: fixed + N (E + K) + W H + records in flight, in whole bytes, and what fits."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.amounts import Share
from tlsmem.plan.connection_model import ConnectionModel

HANDSHAKE, IN_FLIGHT, OWN = "in the handshake, H", "with a full record in flight", "of the server's own"


class Price(NamedTuple):
    """Bytes: of the process, of a connection, of a handshake under way, of a record in flight, of the kernel for a
    connection, and of the server's own for a connection beside TLS."""

    fixed: int
    kept: int
    handshake: int
    record: int
    kernel: int
    own: int = 0

    @property
    def connection(self) -> int:
        """Of a connection in its process: E and the server's own."""
        return self.kept + self.own


@dataclass(frozen=True)
class Demand:
    """How many of N connections are in the handshake at once, and have a full record in flight."""

    handshaking: Share = Fraction(0)
    in_flight: Share = Fraction(0)

    def shaking(self, sessions: int) -> Fraction:
        return part(self.handshaking, sessions)

    def flying(self, sessions: int) -> Fraction:
        """At most those that are not in the handshake."""
        return min(part(self.in_flight, sessions), sessions - self.shaking(sessions))


def part(of: Share, sessions: int) -> Fraction:
    return of * sessions if isinstance(of, Fraction) else Fraction(min(of, sessions))


class Term(NamedTuple):
    what: str
    count: Fraction
    each: int  # bytes

    @property
    def size(self) -> int:
        return math.ceil(self.count * self.each)


def price_model(law: ConnectionModel, kernel: int, record: int | None, assumed: int) -> Price:
    """`record`: what one in flight adds; None: what the recording says, or what is assumed."""
    flying = law.record(assumed)[0] if record is None else record
    own = (law.configuration.own_bytes or 0) if law.configuration else 0
    return Price(*map(round, (law.fixed, law.kept, law.handshake or 0.0, flying)), kernel, own)


def process_terms(of: Price, demand: Demand, sessions: int) -> list[Term]:
    own = [Term(OWN, Fraction(sessions), of.own)] if of.own else []
    return [
        Term("fixed", Fraction(1), of.fixed),
        Term("connections, E", Fraction(sessions), of.kept),
        Term(HANDSHAKE, demand.shaking(sessions), of.handshake),
        Term(IN_FLIGHT, demand.flying(sessions), of.record),
        *own,
    ]


def kernel_term(of: Price, sessions: int) -> Term:
    return Term("in the kernel, K", Fraction(sessions), of.kernel)


def memory_bytes(of: Price, demand: Demand, sessions: int) -> int:
    """Bytes of process and kernel, rounded up term by term."""
    return sum(term.size for term in (*process_terms(of, demand, sessions), kernel_term(of, sessions)))


def fit_connections(of: Price, demand: Demand, size: int) -> int | None:
    """The most connections whose memory is at most `size`; None where not even the process fits."""
    if memory_bytes(of, demand, 0) > size:
        return None
    low, high = 0, size // max(1, of.connection + of.kernel) + 1
    while high - low > 1:  # memory(low) fits, memory(high) does not: it grows with every connection
        middle = (low + high) // 2
        low, high = (middle, high) if memory_bytes(of, demand, middle) <= size else (low, middle)
    return low


def after_handshakes(of: Price, law: ConnectionModel, demand: Demand, sessions: int) -> int:
    """What the process still holds once the handshakes are complete."""
    given_back = math.floor((1 - law.held_shaking) * of.handshake * demand.shaking(sessions))
    return sum(term.size for term in process_terms(of, demand, sessions)) - given_back


def after_closing(of: Price, law: ConnectionModel, demand: Demand, sessions: int) -> int:
    """What the process still holds once every connection is closed."""
    return of.fixed + math.ceil(law.held_closed * (after_handshakes(of, law, demand, sessions) - of.fixed))


def apply_littles_law(rate: float, seconds: float) -> int:
    """How many are under way at once: arrivals a second by how long each takes; rounded up."""
    return math.ceil(round(rate * seconds, 9))
