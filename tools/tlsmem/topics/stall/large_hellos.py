"""What a byte makes a session hold that its peer sends before it is through with the handshake: of a large ClientHello
a server, beyond a small one that is answered and not read either; of a large message of a server's a client."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record
from tlsmem.topics.stall.stalls import Stall, find_stalls

KINDS = {  # points to what is large there
    "hello-alpn": "60,000 bytes of ALPN names",
    "hello-alpn-8k": "8,192 bytes of ALPN names",
    "hello-name": "a host name of 253 bytes",
    "hello-name-256": "a host name of 256 bytes",
    "hello-name-60k": "a host name of 60,000 bytes",
    "hello-ticket": "a session ticket of 60,000 bytes",
    "hello-psk": "a pre_shared_key of 60,000 bytes",
    "hello-unknown": "an unknown extension of 60,000 bytes",
    "request-10": "10 names of authorities in a certificate request",
    "request-150": "150 names of authorities in a certificate request",
    "ticket-64k": "a session ticket of 65,529 bytes",
}
SMALL, SILENT = "unread-flight", "silent"  # what it is held against; the second where the first was not measured
SMALL_OF_SERVERS = {"request-10": "request-1", "request-150": "request-1", "ticket-64k": "ticket"}


class LargeHello(NamedTuple):
    """A stack that took a large message, or refused it, and the same stack and suite with a small one."""

    stall: Stall
    small: Stall

    @property
    def kind(self) -> str:
        """What is large."""
        return KINDS[self.stall.point]

    @property
    def sent_bytes(self) -> Fraction | Missing:
        """Bytes that the peer sent more than for the small one."""
        return self.stall.received_bytes - self.small.received_bytes

    @property
    def held_bytes(self) -> Fraction | Missing:
        """Live heap that the session holds more than with the small one."""
        return self.stall.pinned_bytes - self.small.pinned_bytes

    @property
    def held_rss_bytes(self) -> Fraction | Missing:
        """The same of resident memory."""
        return self.stall.pinned_rss_bytes - self.small.pinned_rss_bytes

    @property
    def held_per_byte(self) -> Fraction | Missing:
        """Bytes held for each byte sent."""
        return self.held_bytes / self.sent_bytes


def find_large_hellos(records: Iterable[Record]) -> list[LargeHello]:
    """Return them by kind, then as they were recorded; without stacks that do not do the suite at all."""
    return pair_with_small(find_stalls(records))


def pair_with_small(stalls: Sequence[Stall]) -> list[LargeHello]:
    """Return the large ones, each with the small one of its stack and suite."""
    known = {(one.stack, one.suite, one.point): one for one in stalls if not one.refusal}
    found = []
    for stall in stalls:
        if stall.point in KINDS:
            points = [SMALL_OF_SERVERS[stall.point]] if stall.point in SMALL_OF_SERVERS else [SMALL, SILENT]
            places = ((stall.stack, stall.suite, point) for point in points)
            small = next((known[place] for place in places if place in known), None)
            if small:
                found.append(LargeHello(stall, small))
    return found
