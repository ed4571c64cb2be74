"""What clients say, and which answers they take: bytes as the protocols' specifications have them."""

import pytest

from tlsmem.config.live_servers import live_servers
from tlsmem.live.applications import find_application

LOGIN = b"R\x00\x00\x00\x08\x00\x00\x00\x00"  # AuthenticationOk
READY = b"Z\x00\x00\x00\x05I"
ERROR = b"E\x00\x00\x00\x1aSFATAL\x00Mno such user\x00\x00"
POSTGRESQL = {"protocol": "postgresql", "database": "d", "user": "u", "query": "SELECT 1"}


def test_every_client_of_the_file_is_one():
    for server in live_servers().values():
        find_application(server.client)


def test_mqtt_connects_without_a_name_and_pings():
    found = find_application({"protocol": "mqtt"})
    assert found.greeting == b"\x10\x0c\x00\x04MQTT\x04\x02\xff\xff\x00\x00"
    assert not found.is_greeted(b"\x20\x02") and found.is_greeted(b"\x20\x02\x00\x00")
    with pytest.raises(ValueError, match="the server answered"):
        found.is_greeted(b"\x20\x02\x00\x05")  # not authorized


def test_redis_pings():
    found = find_application({"protocol": "redis"})
    assert not found.is_answered(b"+PO") and found.is_answered(b"+PONG\r\n")
    with pytest.raises(ValueError, match="DENIED"):
        found.is_answered(b"-DENIED Redis is running in protected mode")


def test_postgresql_asks_for_tls_and_waits_until_it_may_ask():
    found = find_application(POSTGRESQL)
    assert (found.asks_tls, found.grants_tls) == (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"S")
    assert found.greeting == b"\x00\x00\x00\x1b\x00\x03\x00\x00user\x00u\x00database\x00d\x00\x00"
    assert found.request == b"Q\x00\x00\x00\x0dSELECT 1\x00"
    assert [found.is_greeted((LOGIN + READY)[:size]) for size in (3, len(LOGIN), len(LOGIN) + 5)] == [False] * 3
    assert found.is_greeted(LOGIN + READY)
    with pytest.raises(ValueError, match="the server answered: no such user"):
        found.is_greeted(LOGIN + ERROR)


def test_http_waits_for_the_whole_body_and_takes_200_alone():
    found = find_application({"protocol": "http", "asks_first": True})
    assert found.greeting == found.request
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    assert not found.is_answered(head + b"x") and found.is_answered(head + b"xx")
    with pytest.raises(ValueError, match="404"):
        found.is_answered(b"HTTP/1.1 404 Not Found\r\n\r\n")
    with pytest.raises(ValueError, match="no Content-Length"):
        found.is_answered(b"HTTP/1.1 200 OK\r\n\r\n")


@pytest.mark.parametrize(
    ("client", "sentence"),
    [
        ({"protocol": "smtp"}, "protocol 'smtp' must be one of http, mqtt, postgresql, redis"),
        ({"host": "x"}, "protocol None must be one of"),
        ({"protocol": "mqtt", "user": "x"}, "protocol mqtt: got an unexpected keyword argument 'user'"),
        ({"protocol": "postgresql", "user": "x"}, "protocol postgresql: missing 2 required positional arguments"),
    ],
)
def test_a_client_that_is_none_is_refused(client, sentence):
    with pytest.raises(ValueError, match=sentence):
        find_application(client)
