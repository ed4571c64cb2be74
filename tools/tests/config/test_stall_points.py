"""What memtest/stall_points.toml may say, and the sentence for what it may not."""

import pytest

from tlsmem.config.stall_points import StallPoint, parse_point, stall_points
from tlsmem.config.toml_tables import Unreadable

LEAST = {"waits": "server", "sent": "nothing"}


def test_a_point_has_what_its_table_says_and_what_the_table_that_it_is_like_says():
    assert parse_point("silent", LEAST) == StallPoint("server", "nothing")
    points = stall_points()
    assert (points["announced-hello"].bytes, points["announced-hello-16k"].bytes) == (131_396, 16_380)
    assert points["announced-hello-16k"].deliver == "announce_hello"
    assert points["ticket"].waits == "client"


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"sent": "nothing"}, "waits is missing"),
        (LEAST | {"colour": 3}, "unknown key colour"),
        (LEAST | {"answer": True}, "unknown key answer; did you mean answers?"),
        (LEAST | {"bytes": "3"}, "bytes must be a whole number"),
        (LEAST | {"bytes": True}, "bytes must be a whole number"),
        (LEAST | {"answers": 1}, "answers must be true or false"),
        (LEAST | {"deliver": 1}, "deliver must be a text"),
        (LEAST | {"sent": 11}, "sent must be a text"),
        (LEAST | {"waits": "both"}, "waits must be client or server, not both"),
        (LEAST | {"bytes": -1}, "bytes and names must not be negative, extension at most 65535"),
        (LEAST | {"names": -1}, "bytes and names must not be negative, extension at most 65535"),
        (LEAST | {"extension": 1 << 16}, "bytes and names must not be negative, extension at most 65535"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_table_is_a_sentence_with_its_key(table, why):
    with pytest.raises(Unreadable) as stop:
        parse_point("late", table)
    assert str(stop.value) == f"memtest/stall_points.toml: [late]: {why}"
