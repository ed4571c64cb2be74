"""Will it fit: the arithmetic on straight lines, and the sentences."""

import asyncio
from dataclasses import replace

import pytest

import forecast
from campaign import Run
from forecast import MARGIN, MIB, Line, admit, jobs_that_fit, largest_n
from lines import Phase
from verdict import Outcome

RUN = Run("openssl@3.5.5", "tls13-rsa-aes256", "system", "all", 10_000, "rss", 1)
HEAVY, LIGHT = Line(10 * MIB, 0.1 * MIB), Line(10 * MIB, 0.05 * MIB)
NEEDS = {RUN: HEAVY, replace(RUN, suite="other"): LIGHT, replace(RUN, sessions=5_000): HEAVY}


class Measured(Outcome):
    """A phase of so many bytes."""

    phases = property(lambda self: [Phase.model_construct(peak_rss_bytes=self.elapsed_ns, wire_bytes=7)])


def probe(window_bytes: int):
    """A stack whose memory is 1,000 + 40 a session + 60 for each in the window."""

    async def run(run: Run) -> Outcome:
        pairs = run.sessions // 2 if run.window == "all" else min(run.window, run.sessions // 2)
        asked.append(run.sessions)
        return Measured("measured", None, [], "", 1_000 + 40 * run.sessions + 2 * window_bytes * pairs)

    asked: list[int] = []
    return run, asked


@pytest.mark.parametrize(("window", "fixed", "slope"), [("all", 1_007, 100), (1, 1_127, 40), (1_000, 121_007, 40)])
def test_two_probes_give_the_line_beyond_the_window(window, fixed, slope):
    run, asked = probe(60)
    big = replace(RUN, window=window)
    found = asyncio.run(forecast.lines([big, replace(big, repeat=2), replace(big, sessions=2_000)], run))
    assert list(found) == [big, replace(big, repeat=2)]  # small ones cannot matter
    assert len(asked) == 2
    assert (round(found[big].fixed), round(found[big].slope)) == (fixed, slope)


def test_jobs_are_as_many_of_the_largest_as_fit():
    largest, second = MARGIN * 1010 * MIB, MARGIN * 510 * MIB
    assert jobs_that_fit(NEEDS, 2, largest + second) == 2
    assert jobs_that_fit(NEEDS, 2, largest + second - 1) == 1
    assert jobs_that_fit(NEEDS, 2, largest - 1) == 0


def test_jobs_are_lowered_before_anything_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(forecast, "meminfo_bytes", lambda _: 1_100 * MIB)
    assert admit(NEEDS, 2, 10_000) == 1
    assert "needs 1,060 MiB at 10,000 sessions, 1,100 MiB are available: JOBS=1 instead of 2" in capsys.readouterr().err


def test_the_refusal_says_need_have_and_what_fits(monkeypatch):
    monkeypatch.setattr(forecast, "meminfo_bytes", lambda _: 500 * MIB)
    with pytest.raises(SystemExit) as stop:
        admit(NEEDS, 2, 10_000)
    fits = largest_n(NEEDS, 500 * MIB, 10_000)
    assert str(stop.value) == (
        "memtest: N=10000 is more than memory holds: openssl@3.5.5 tls13-rsa-aes256 needs 1,060 MiB "
        f"at 10,000 sessions, 500 MiB are available; the largest N that fits is {fits}"
    )
    assert fits % 2 == 0
    assert HEAVY.at(fits) <= 500 * MIB < HEAVY.at(fits + 2)


def test_a_stack_that_cannot_do_the_suite_needs_nothing():
    async def refuse(_: Run) -> Outcome:
        return Outcome("unsupported", "no TLS 1.2", [], "", 1)

    assert asyncio.run(forecast.lines([RUN], refuse)) == {RUN: Line(0, 0)}


def test_enough_memory_changes_nothing(capsys):
    assert admit({RUN: Line(1, 1)}, 2, 10_000) == 2
    assert admit({}, 2, 100) == 2
    assert capsys.readouterr().err == ""
