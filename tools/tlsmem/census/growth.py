"""Two looks at the same processes: the sums of each, a line, and what has grown from one to the other in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlsmem.census.census import ProcessCensus
from tlsmem.census.library import BIO, TICKET, X509
from tlsmem.census.sockets import SocketState
from tlsmem.monitor.rss_parts import describe_size

LEAST_OBJECTS = 10  # by which a kind must have grown since the first look
LEAST_BYTES = 1 << 20
GROWN_SHARE = 0.02  # the same of what it was
PARTS = {"other_live": "other live memory", "free": "memory that malloc keeps free", "mmapped": "mmapped chunks"}
KINDS = {
    TICKET: "a cache of sessions that has no limit, or tickets that are never freed",
    X509: "certificates that are never freed",
    BIO: "BIOs that are never freed, or memory BIOs of the application",
}


@dataclass(frozen=True)
class Look:
    """All processes together. Parts in resident bytes; `connections` None where they may not be looked at; `sockets`:
    how many sessions have what of a socket, by the names of SocketState."""

    seconds: float
    processes: int
    sessions: int
    states: dict[str, int]
    connections: int | None
    objects: dict[str, int]
    anon_bytes: int
    tls_bytes: int
    parts: dict[str, int] = field(default_factory=dict)
    sockets: dict[str, int] = field(default_factory=dict)


def add_up(seconds: float, found: Sequence[ProcessCensus]) -> Look:
    """Return the sums of all processes."""
    states, objects, parts, sockets = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for process in found:
        for library in process.libraries:
            objects.update(library.objects)
            for group in library.groups:
                states[group.state] += group.count
                sockets.update(group.sockets)
        parts.update(process.resident_parts)
    connections = [process.connections for process in found]
    counted = None if None in connections else sum(filter(None, connections))
    sessions, anon = sum(states.values()), sum(process.rss.anon_bytes for process in found)
    return Look(
        seconds=round(seconds, 3),
        processes=len(found),
        sessions=sessions,
        states=dict(states),
        connections=counted,
        objects=dict(objects),
        anon_bytes=anon,
        tls_bytes=parts.pop("tls", 0),
        parts=dict(parts),
        sockets=dict(sockets),
    )


def describe(look: Look) -> str:
    """Return a line for people."""
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(look.states.items()))
    said = [f"{look.sessions:,} sessions ({states})" if states else "0 sessions"]
    closed = look.sockets.get(SocketState.CLOSED, 0)
    said += [f"{closed:,} of them with a closed socket"] if closed else []
    said += [] if look.connections is None else [f"{look.connections:,} connections"]
    said += [f"{count:,} {name}" for name, count in sorted(look.objects.items())]
    sizes = {"TLS": look.tls_bytes, "other live": look.parts["other_live"], "kept free by malloc": look.parts["free"]}
    said += [f"{name} {describe_size(size)}" for name, size in sizes.items()]
    return f"census: {look.seconds:.1f} s  {', '.join(said)}, RssAnon {describe_size(look.anon_bytes)}"


def find_growth(first: Look, last: Look) -> Iterator[str]:
    """Yield a sentence for each kind of object and of memory that has grown since the first look, and what may be why.

    Sessions that come and go with connections are no growth; those whose socket is closed are."""
    yield from find_leaked_sessions(first, last)
    for name, why in KINDS.items():
        # Each session has some of its own: only what there is besides counts.
        was, now = (one.objects.get(name, 0) for one in (first, last))
        added = now - was - max(0, last.sessions - first.sessions) * (2 if name == BIO else 1)
        if added >= LEAST_OBJECTS and has_grown(was, was + added):
            with_ = f"with {last.sessions:,} sessions now"
            yield f"{name} objects have grown from {was:,} to {now:,}, {with_}: perhaps {why}"
    for part, title in PARTS.items():
        was, now = (one.parts.get(part, 0) for one in (first, last))
        if now - was >= LEAST_BYTES and has_grown(was, now):
            yield f"{title} has grown from {describe_size(was)} to {describe_size(now)}"


def find_leaked_sessions(first: Look, last: Look) -> Iterator[str]:
    """Yield a sentence where sessions outlive their connection: by their sockets. Where those are not told, sessions
    that are more than connections are a sign; connections without a session can hide it."""
    was, now = (one.sockets.get(SocketState.CLOSED, 0) for one in (first, last))
    if has_grown(was, now):
        why = "they are not freed with their connection"
        yield f"sessions with a closed socket have grown from {was:,} to {now:,}: {why}"
    if last.sockets.get(SocketState.UNKNOWN) and last.connections is not None and first.connections is not None:
        was, now = (one.sessions - (one.connections or 0) for one in (first, last))
        if now >= LEAST_OBJECTS and has_grown(was, now):
            yield (
                f"there are {now:,} more sessions than connections, {max(was, 0):,} at first: "
                "sessions whose connection has ended are not freed"
            )


def has_grown(was: int, now: int) -> bool:
    return now - was >= max(LEAST_OBJECTS, GROWN_SHARE * abs(was))
