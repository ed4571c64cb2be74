"""Large ClientHellos: what a byte makes a server hold, beyond a small one, as recorded."""

from fractions import Fraction

import pytest
from matplotlib import pyplot

from tlsmem.base.paths import ROOT
from tlsmem.store import read_runs
from tlsmem.topics.stall import hello_picture as large_hellos
from tlsmem.topics.stall.large_hellos import LargeHello, find_large_hellos, hello_table

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457"
OPENSSL, RUSTLS, REFUSES = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "wolfssl@5.9.4"


@pytest.fixture(scope="module")
def records():
    return [run for run in read_runs.load(RECORDING) if run.stack in (OPENSSL, RUSTLS, REFUSES)]


@pytest.fixture(scope="module")
def hellos(records) -> dict[tuple[str, str], LargeHello]:
    return {(one.stall.stack, one.stall.point): one for one in find_large_hellos(records)}


def test_a_byte_is_held_against_the_small_hello_of_the_same_stack(hellos):
    alpn = hellos[OPENSSL, "hello-alpn"]
    assert (alpn.stall.received_bytes, alpn.small.received_bytes) == (60_246, 227)
    assert (alpn.stall.pinned_bytes, alpn.small.pinned_bytes) == (122_796, 4_342)
    assert (alpn.sent_bytes, alpn.held_bytes) == (60_019, 118_454)
    assert alpn.held_per_byte == Fraction(118_454, 60_019)
    assert hellos[RUSTLS, "hello-alpn"].held_bytes == 0


def test_without_a_small_hello_the_silent_peer_is_what_it_is_held_against(hellos):
    assert hellos[OPENSSL, "hello-ticket"].small.point == "silent"


def test_the_table_says_who_refuses(records):
    table = hello_table(records)
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    assert {row["stack"].text for row in rows if row["point"].text == "hello-alpn"} == {OPENSSL, RUSTLS}
    assert [round(row["held_per_byte"].value, 2) for row in rows if row["point"].text == "hello-alpn"] == [1.97, 0.0]
    (refused,) = table.without
    assert refused.startswith(f"{REFUSES}: hello-alpn, hello-ticket, hello-unknown: ")


def test_bars_are_of_the_worst_kind_and_the_title_names_both_ends(hellos):
    made, axes = pyplot.subplots(layout="constrained")
    large_hellos.draw(made, axes, list(hellos.values()))
    assert axes.patches[0].get_width() == 118_454 / 60_019
    assert [bar.get_width() for bar in axes.patches[1:]] == [0, 0]
    title = "A byte of a ClientHello makes OpenSSL 3.5.5 hold 2.0 B, rustls 0.23.46 (aws-lc) none"
    assert title in [" ".join(text.get_text().split()) for text in made.texts]
    pyplot.close(made)


LARGE = ROOT / "data/2026-11-24-amd-epyc-p0457-hellos"


@pytest.fixture(scope="module")
def messages() -> list[LargeHello]:
    return find_large_hellos(run for run in read_runs.load(LARGE) if run.stack in (OPENSSL, RUSTLS))


def test_a_large_message_of_a_server_is_held_against_its_small_one_at_the_client(messages):
    found = {(one.stall.stack, one.stall.point): one for one in messages}
    request = found[OPENSSL, "request-150"]
    assert (request.stall.role, request.small.point) == ("client", "request-1")
    assert (request.sent_bytes, request.held_bytes) == (15_689, 84_408)
    assert found[RUSTLS, "request-150"].held_bytes == 0
    ticket = found[OPENSSL, "ticket-64k"]
    assert (ticket.small.point, ticket.sent_bytes, ticket.held_bytes) == ("ticket", 65_389, 130_909)


def test_a_client_that_holds_much_and_a_refused_host_name_are_none_of_the_picture(messages):
    """OpenSSL's client holds 5.4 bytes a byte of names; its server refuses a host name for its form, not its size."""
    rows = large_hellos.find_worst(messages)
    assert [(row.hello.stall.stack, row.hello.stall.point, row.refused) for row in rows] == [
        (OPENSSL, "hello-alpn", 0),
        (RUSTLS, "hello-alpn", 0),
    ]
