"""Which phases have a live heap per session: those that all runs reached, and in windows those after the handshake."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats import live_heap
from tlsmem.stats.live_heap import HeapFigure, SessionHeap
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import select

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


def session_heap(runs: list[RecordLine]) -> SessionHeap:
    selection = select(runs)
    (setting,) = selection.settings
    return SessionHeap(selection.series(STACK, setting, "both"), "client")


def without_phase(run: RecordLine, name: str) -> RecordLine:
    return run.model_copy(update={"phases": [phase for phase in run.phases if phase.phase != name]})


def test_a_phase_that_one_run_lacks_is_missing_and_the_others_are_not():
    small, large = (synthetic.record(STACK, SUITE, sessions, "heap") for sessions in (100, 1000))
    found = session_heap([small, without_phase(large, "server 2")])
    assert found.live("server 2") == Missing("these runs have no phase `server 2`")
    assert found.live("client 1").bytes.integer_part == 75_000
    assert found.live("closed").bytes.amount == 0


@pytest.mark.parametrize("phase", ["sessions", "client 1", "server 2"])
def test_in_windows_a_phase_before_established_has_no_cost_per_session(phase):
    found = session_heap([synthetic.record(STACK, SUITE, sessions, "heap", window=10) for sessions in (100, 1000)])
    assert found.live(phase) == live_heap.NO_COST_WHEN_WINDOWED
    assert isinstance(found.live("established"), HeapFigure)
