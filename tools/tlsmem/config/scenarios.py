"""The scenarios of memory beside `memory` itself: the keys that are theirs alone, with the values that they take.

The harness knows the same keys (memtest/arguments.c); a test holds both lists against each other."""

from collections.abc import Iterator, Mapping
from itertools import product

from tlsmem.base.nearest import suggest_nearest

Settings = tuple[tuple[str, str], ...]  # of one run: keys and values, as in the harness's argv

STALL_POINTS = {  # where a peer stops, and what it has sent: memtest/stall_points.c
    "silent": "connected, and nothing is sent",
    "announced-hello": "11 bytes: a complete record that announces a ClientHello of 131,396 bytes",
    "announced-hello-64k": "11 bytes: a complete record that announces a ClientHello of 65,535 bytes",
    "announced-hello-16k": "11 bytes: a complete record that announces a ClientHello of 16,380 bytes",
    "hello-by-bytes": "a ClientHello but for its last byte, byte by byte",
    "unread-flight": "a ClientHello; the server's answer is not read",
    "announced-certificate": "a ClientHello, then 11 bytes that announce a Certificate of 102,400 bytes (TLS 1.2)",
    "announced-certificate-16k": "a ClientHello, then 11 bytes that announce a Certificate of 16,380 bytes (TLS 1.2)",
    "certificate-first-record": "a handshake up to the first record of a Certificate of some 90,000 bytes (TLS 1.3)",
    "hello-alpn": "a ClientHello with 60,000 bytes of ALPN names; the answer is not read",
    "hello-alpn-8k": "a ClientHello with 8,192 bytes of ALPN names; the answer is not read",
    "hello-name": "a ClientHello with a host name of 253 bytes; the answer is not read",
    "hello-ticket": "a ClientHello with a session ticket of 60,000 bytes; the answer is not read (TLS 1.2)",
    "hello-unknown": "a ClientHello with an unknown extension of 60,000 bytes; the answer is not read",
    "silent-server": "a client's ClientHello was sent, and its server sends nothing",
    "announced-server-hello": "a server's 11 bytes announce a ServerHello of 65,607 bytes",
    "announced-server-hello-16k": "a server's 11 bytes announce a ServerHello of 16,380 bytes",
}
SCENARIO_KEYS: Mapping[str, Mapping[str, Mapping[str, str]]] = {"stall": {"point": STALL_POINTS}}
PHASES = {"stall": ["contexts", "connected", "stalled", "closed", "trimmed", "freed"]}


def check_settings(scenario: str, settings: Mapping[str, list[str]]) -> None:
    """Raise ValueError with a sentence at a key or a value that the scenario does not have, or one that it needs."""
    known = SCENARIO_KEYS.get(scenario, {})
    for key, values in settings.items():
        if key not in known:
            there = f"it has: {', '.join(known)}" if known else "it has none"
            raise ValueError(f"settings: the scenario {scenario} has no key {key}; {there}")
        for value in values:
            if value not in known[key]:
                near = suggest_nearest(value, known[key]) or f"; there are: {', '.join(known[key])}"
                raise ValueError(f"settings: unknown {key} {value}{near}")
    for key in known:
        if not settings.get(key):
            raise ValueError(f"settings: {key} is missing; the scenario {scenario} needs it")


def combine_settings(settings: Mapping[str, list[str]]) -> Iterator[Settings]:
    """Yield each combination of the values; one without any where there are no keys."""
    for values in product(*settings.values()):
        yield tuple(zip(settings, values, strict=True))


def settings_in_argv(scenario: str, argv: list[str]) -> Settings:
    """Return the scenario's own keys and values of a recorded run."""
    given = dict(word.split("=", 1) for word in argv if "=" in word)
    return tuple((key, given[key]) for key in SCENARIO_KEYS.get(scenario, {}) if key in given)
