"""What a connection of a live run says to its server, by protocol: how it asks for TLS, greets, and asks again.

Standard library only: the clients of a run have nothing else."""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

SMALL = b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n"
POSTGRESQL_3, POSTGRESQL_TLS = 196608, 80877103  # versions of a first message: of the protocol, and of SSLRequest
READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, idle
MQTT_KEEPALIVE_S = 65535  # within it a client has to say something


def says_nothing(_: bytes) -> bool:
    """Return that no answer is waited for."""
    return True


class Application(NamedTuple):
    """`asks_tls` is sent before the handshake, and answered with `grants_tls`. `greeting` is sent once a connection is
    open, `request` whenever it is asked; the other two return whether the answer is complete, and raise ValueError with
    a sentence where it is another one."""

    request: bytes
    is_answered: Callable[[bytes], bool]
    greeting: bytes = b""
    is_greeted: Callable[[bytes], bool] = says_nothing
    asks_tls: bytes = b""
    grants_tls: bytes = b""


def speak_http(asks_first: bool = False) -> Application:
    """Ask for /small. `asks_first`: also to greet with."""
    found = Application(SMALL, has_http_answer)
    return found._replace(greeting=SMALL, is_greeted=has_http_answer) if asks_first else found


def has_http_answer(received: bytes) -> bool:
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator:
        return False
    status, *fields = head.split(b"\r\n")
    if b" 200 " not in status + b" ":
        raise ValueError(f"the server answered {status.decode(errors='replace')}")
    sizes = [one.partition(b":")[2] for one in fields if one.lower().startswith(b"content-length:")]
    if not sizes:
        raise ValueError("the server's answer has no Content-Length")
    return len(body) >= int(sizes[0])


def speak_mqtt() -> Application:
    """MQTT 3.1.1 without a name and without a session that is kept; asks by PINGREQ."""
    body = b"\x00\x04MQTT\x04\x02" + struct.pack(">HH", MQTT_KEEPALIVE_S, 0)
    return Application(
        request=b"\xc0\x00",
        is_answered=expect(b"\xd0\x00"),
        greeting=bytes([0x10, len(body)]) + body,
        is_greeted=expect(b"\x20\x02\x00\x00"),
    )


def speak_redis() -> Application:
    """RESP; asks by PING."""
    return Application(b"*1\r\n$4\r\nPING\r\n", expect(b"+PONG\r\n"))


def expect(answer: bytes) -> Callable[[bytes], bool]:
    """Return what tells whether this answer, and no other, is complete."""

    def is_complete(received: bytes) -> bool:
        if not answer.startswith(received[: len(answer)]) or len(received) > len(answer):
            raise ValueError(f"the server answered {received!r}, not {answer!r}")
        return received == answer

    return is_complete


def speak_postgresql(database: str, user: str, query: str) -> Application:
    """Version 3 of the protocol, without a password; asks by a simple query."""
    named = f"user\0{user}\0database\0{database}\0\0".encode()
    return Application(
        request=b"Q" + struct.pack(">I", 4 + len(query) + 1) + query.encode() + b"\0",
        is_answered=is_ready,
        greeting=struct.pack(">II", 8 + len(named), POSTGRESQL_3) + named,
        is_greeted=is_ready,
        asks_tls=struct.pack(">II", 8, POSTGRESQL_TLS),
        grants_tls=b"S",
    )


def is_ready(received: bytes) -> bool:
    """Return whether the server waits for a query. Raises ValueError with its words where it reports an error."""
    at = 0
    while len(received) >= at + 5:
        end = at + 1 + struct.unpack_from(">I", received, at + 1)[0]
        if received[at : at + 1] == b"E":
            fields = received[at + 5 : end].split(b"\0")
            said = next((one[1:] for one in fields if one.startswith(b"M")), b"an error without a message")
            raise ValueError(f"the server answered: {said.decode(errors='replace')}")
        if received[at:end] == READY:
            return True
        at = end
    return False


PROTOCOLS: dict[str, Callable[..., Application]] = {
    "http": speak_http,
    "mqtt": speak_mqtt,
    "postgresql": speak_postgresql,
    "redis": speak_redis,
}


def find_application(client: Mapping[str, str | bool]) -> Application:
    """Return what a client table of memtest/live_servers.toml names. Raises ValueError with half a sentence."""
    options = dict(client)
    protocol = options.pop("protocol", None)
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        raise ValueError(f"protocol {protocol!r} must be one of {', '.join(PROTOCOLS)}")
    try:
        return PROTOCOLS[protocol](**options)
    except TypeError as error:
        raise ValueError(f"protocol {protocol}: {str(error).partition('() ')[2]}") from None
