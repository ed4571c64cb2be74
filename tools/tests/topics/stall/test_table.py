"""Peers that stop: the release before a correction beside the one with it, as recorded, to the byte."""

from fractions import Fraction

import pytest
from matplotlib import pyplot

from tlsmem.base.paths import ROOT
from tlsmem.schema.records import RecordLine
from tlsmem.store import read_runs
from tlsmem.topics.stall import picture as stalled_peers
from tlsmem.topics.stall import section as stall_section
from tlsmem.topics.stall.stalls import Stall, find_stalls, newest_of_each_stack, point_of
from tlsmem.topics.stall.table import stall_table

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457"
BEFORE, AFTER, REFUSES = "openssl@3.6.2", "openssl@3.6.3", "wolfssl@5.9.4"
SUITE = "tls13-rsa-aes256"


@pytest.fixture(scope="module")
def records() -> list[RecordLine]:
    return [run for run in read_runs.load(RECORDING) if run.stack in (BEFORE, AFTER, REFUSES)]


@pytest.fixture(scope="module")
def stalls(records) -> dict[tuple[str, str], Stall]:
    """By stack and point, in one suite."""
    return {(one.stack, one.point): one for one in find_stalls(records) if one.suite == SUITE}


def test_the_correction_is_seen_in_live_heap_and_in_rss(stalls):
    before, after = (stalls[stack, "announced-hello"] for stack in (BEFORE, AFTER))
    assert (before.received_bytes, after.received_bytes) == (11, 11)
    assert (before.pinned_bytes, after.pinned_bytes) == (153_356, 0)
    assert before.amplification == Fraction(153_356, 11)
    assert before.pinned_rss_bytes - after.pinned_rss_bytes > 130_000
    assert (before.kept_bytes, after.kept_bytes) == (0, 0)


def test_an_announcement_that_fits_the_buffer_pins_nothing_in_either(stalls):
    assert {stalls[stack, "announced-hello-16k"].pinned_bytes for stack in (BEFORE, AFTER)} == {0}


def test_a_client_is_affected_by_what_its_server_announces(stalls):
    before = stalls[BEFORE, "announced-server-hello"]
    assert (before.role, before.pinned_bytes) == ("client", 65_636)
    assert stalls[AFTER, "announced-server-hello"].pinned_bytes == 0


def test_the_table_names_who_holds_it_and_what_is_refused(records):
    table = stall_table(records)
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    at = {(row["stack"].text, row["point"].text): row for row in rows if row["suite"].text == SUITE}
    assert "grow_init_buf" in at[BEFORE, "announced-hello"]["holder"].text
    assert at[BEFORE, "announced-hello"]["amplification"].note.startswith("above 100")
    assert at[AFTER, "announced-hello"]["amplification"].note is None
    assert (REFUSES, "announced-hello") not in at
    (refused,) = [line for line in table.without if line.startswith(REFUSES)]
    assert "announced-hello," in refused and refused.endswith("Handshake message too large Error")


def test_the_picture_has_both_bars_and_its_title_says_what_changed(stalls):
    made, axes = pyplot.subplots(layout="constrained")
    stalled_peers.draw(made, axes, [stalls[stack, "announced-hello"] for stack in (BEFORE, AFTER)])
    assert [bar.get_width() for bar in axes.patches] == [62_920, 153_356, 62_920, 0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["OpenSSL 3.6.2", "OpenSSL 3.6.3"]
    title = "11 bytes pin 153,356 B in OpenSSL 3.6.2, none in 3.6.3"
    assert title in [" ".join(text.get_text().split()) for text in made.texts]
    pyplot.close(made)


def test_the_report_warns_above_a_hundred_bytes_for_a_byte(stalls):
    (warning, given_back) = stall_section.sentences([stalls[BEFORE, "announced-hello"]])
    assert warning == (
        "Warning: openssl@3.6.2 holds 153,356 B for a peer that has sent 11 B: 13,941 bytes for each byte. "
        "It holds them until the connection is closed, so limit the time of handshakes."
    )
    assert list(stall_section.sentences([stalls[AFTER, "announced-hello"]])) == [given_back]


def test_of_several_recordings_each_point_is_the_newest_ones(records):
    newer = [run for run in records if run.stack == AFTER and point_of(run) == "silent"]
    kept = newest_of_each_stack([newer, records])
    assert len(kept) == len(records)
    assert len({id(run) for run in kept}) == len(kept)


def test_what_a_session_keeps_that_is_closed_is_said_of_the_worst_point(stalls):
    """Wherever that stands: other points, at which nothing is kept, come before and after it."""
    stall = stalls[AFTER, "silent"]
    run = stall.runs["heap"]
    phases = [phase.with_heap(leaked(phase.heap)) if phase.phase == "closed" else phase for phase in run.phases]
    faulty = Stall(AFTER, SUITE, "silent", {"heap": run.with_phases(phases)})
    assert faulty.kept_bytes == 64
    sound = stalls[AFTER, "announced-hello"]
    assert "openssl@3.6.3 keeps up to 64 B of each" in list(stall_section.sentences([sound, faulty, sound]))[-1]


def leaked(heap):
    """With 64 B more for each of 100 sessions, in as many blocks."""
    server = heap.server
    more = {"live_bytes": server.live_bytes + 6_400, "live_blocks": server.live_blocks + 100}
    return {"server": server._replace(**more)}
