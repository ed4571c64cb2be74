"""A pattern that tries too many ways is given up; others are not, and nobody's signal is left behind."""

import re
import signal

import pytest

from tests.support import handmade
from tlsmem.explore import profile_selection
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile

ENDLESS = re.compile("(.*.*)*x$")


def profile() -> Profile:
    stacks = CallstackTree()
    stack = handmade.number(stacks, [Frame("a" * 200, None, None, "m", 1)])
    return Profile("massif", "it", "it", stacks, {"peak": Moment("peak", 1, {stack: LiveHeap(1, 1)})})


def test_it_is_a_sentence(monkeypatch):
    monkeypatch.setattr(profile_selection, "LIMIT_S", 0.05)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"--filter \(\.\*\.\*\)\*x\$: not matched within 0\.05 s"):
            profile_selection.live_by_stack(profile(), "peak", wanted=ENDLESS)


def test_what_ends_is_as_before(monkeypatch):
    monkeypatch.setattr(profile_selection, "LIMIT_S", 60)
    before = signal.getsignal(signal.SIGALRM)
    assert profile_selection.live_by_stack(profile(), "peak", wanted=re.compile("a+$"))
    assert signal.getsignal(signal.SIGALRM) == before and signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_more_frames_are_looked_at_too():
    one = profile()
    assert profile_selection.live_by_stack(one, "peak", wanted="a")
    one.moments["peak"].live[handmade.number(one.stacks, [handmade.frame("beta")])] = LiveHeap(2, 1)
    assert [held.bytes for held in profile_selection.live_by_stack(one, "peak", wanted="beta").values()] == [2]
