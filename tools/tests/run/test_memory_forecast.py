"""Will it fit: the arithmetic on straight lines, and the sentences."""

import asyncio
from dataclasses import replace

import pytest

from tlsmem.base.errors import UserError
from tlsmem.config.run import Run
from tlsmem.run import preflight
from tlsmem.run.preflight import MARGIN, MIB, MemoryNeed, jobs_that_fit, largest_n, limit_jobs
from tlsmem.run.validate import Outcome
from tlsmem.schema.harness_output import Phase

RUN = Run("openssl@3.5.5", "tls13-rsa-aes256", "system", "all", 10_000, "rss", 1)
HEAVY, LIGHT = MemoryNeed(10 * MIB, 0.1 * MIB), MemoryNeed(10 * MIB, 0.05 * MIB)
NEEDS = {RUN: HEAVY, replace(RUN, suite="other"): LIGHT, replace(RUN, sessions=5_000): HEAVY}


class Measured(Outcome):
    """A phase of so many bytes."""

    phases = property(
        lambda self: [
            Phase.model_construct(phase="reply", process="both", peak_rss_bytes=self.elapsed_ns, wire_bytes=7)
        ]
    )


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
    found = asyncio.run(preflight.forecast_runs([big, replace(big, repeat=2), replace(big, sessions=2_000)], run))
    assert list(found) == [big, replace(big, repeat=2)]  # small ones cannot matter
    assert len(asked) == 2
    assert (round(found[big].fixed), round(found[big].slope)) == (fixed, slope)


def test_two_processes_need_the_sum_of_both_and_the_wires_once():
    class Split(Outcome):
        phases = property(
            lambda self: [
                Phase.model_construct(phase=phase, process=process, peak_rss_bytes=peak, wire_bytes=7)
                for phase, process, peak in (("a", "client", 10), ("a", "server", 20), ("b", "client", 25))
            ]
        )

    assert preflight.need_bytes(Split("measured", None, [], "", 0)) == 10 + 20 + 7


def test_huge_pages_are_not_switched_on_for_a_probe():
    assert preflight.need_key(replace(RUN, env="deployed-thp")) == preflight.need_key(
        replace(RUN, env="deployed", repeat=2)
    )


def test_jobs_are_as_many_of_the_largest_as_fit():
    largest, second = MARGIN * 1010 * MIB, MARGIN * 510 * MIB
    assert jobs_that_fit(NEEDS, 2, largest + second) == 2
    assert jobs_that_fit(NEEDS, 2, largest + second - 1) == 1
    assert jobs_that_fit(NEEDS, 2, largest - 1) == 0


def test_jobs_are_lowered_before_anything_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(preflight, "available_bytes", lambda: 1_100 * MIB)
    assert limit_jobs(NEEDS, 2, 10_000) == 1
    assert "needs 1,060 MiB at 10,000 sessions, 1,100 MiB are available: JOBS=1 instead of 2" in capsys.readouterr().err


def test_the_refusal_says_need_have_and_what_fits(monkeypatch):
    monkeypatch.setattr(preflight, "available_bytes", lambda: 500 * MIB)
    with pytest.raises(UserError) as stop:
        limit_jobs(NEEDS, 2, 10_000)
    fits = largest_n(NEEDS, 500 * MIB, 10_000)
    assert str(stop.value) == (
        "N=10000 is more than memory holds: openssl@3.5.5 tls13-rsa-aes256 needs 1,060 MiB "
        f"at 10,000 sessions, 500 MiB are available; the largest N that fits is {fits}"
    )
    assert fits % 2 == 0
    assert HEAVY.bytes_at(fits) <= 500 * MIB < HEAVY.bytes_at(fits + 2)


@pytest.mark.parametrize(
    ("line", "fits"), [(MemoryNeed(501 * MIB, 0), 0), (MemoryNeed(501 * MIB, 1), 0), (MemoryNeed(400 * MIB, 0), 10_000)]
)
def test_flat_lines_and_a_fixed_part_that_does_not_fit(line, fits):
    assert largest_n({RUN: line}, 500 * MIB, 10_000) == fits


def test_what_never_fits_is_said_so(monkeypatch):
    monkeypatch.setattr(preflight, "available_bytes", lambda: 9 * MIB)
    with pytest.raises(UserError, match=r"9 MiB are available; no N fits$"):
        limit_jobs(NEEDS, 2, 10_000)


def group(folder, limit: str, current: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in (("max", limit), ("current", f"{current}"), ("stat", "anon 7\ninactive_file 30\n")):
        (folder / f"memory.{name}").write_text(f"{text}\n")


def test_the_limits_of_a_control_group_and_those_above_it_hold(tmp_path):
    for folder, limit in (("a", "1000"), ("a/b", "max"), ("a/b/c", "500")):
        group(tmp_path / folder, limit, 100)
    assert preflight.read_group_limits(tmp_path, "4:memory:/x\n0::/a/b/c\n") == [430, 930]
    assert preflight.read_group_limits(tmp_path, "0::/a/b\n") == [930]
    assert (
        preflight.read_group_limits(tmp_path, "0::/\n") == preflight.read_group_limits(tmp_path, "4:memory:/x\n") == []
    )
    group(tmp_path, "90", 200)
    assert preflight.read_group_limits(tmp_path, "0::/\n") == [0]


def test_a_stack_that_cannot_do_the_suite_needs_nothing():
    async def refuse(_: Run) -> Outcome:
        return Outcome("unsupported", "no TLS 1.2", [], "", 1)

    assert asyncio.run(preflight.forecast_runs([RUN], refuse)) == {RUN: MemoryNeed(0, 0)}


def test_enough_memory_changes_nothing(capsys):
    assert limit_jobs({RUN: MemoryNeed(1, 1)}, 2, 10_000) == 2
    assert limit_jobs({}, 2, 100) == 2
    assert capsys.readouterr().err == ""
