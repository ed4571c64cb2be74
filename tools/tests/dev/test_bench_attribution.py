"""What attribution may cost is a limit: a sentence and exit 1 beyond it; no stack whose memory is not seen."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import attribution_cost
import bench_attribution
from tlsmem.base.errors import UserError

PLAIN, SITES = attribution_cost.WAYS[0], next(way for way in attribution_cost.WAYS if way.name == "sites")
SLOW_PLAIN, MASSIF = (
    next(way for way in attribution_cost.WAYS if way.part > 1 and way.name == name) for name in ("plain", "massif")
)
WITHIN = {PLAIN: [1.0, 2.0, 1.0], SITES: [1.1, 2.0, 1.3]}
BEYOND = {PLAIN: [1.0, 2.0, 1.0], SITES: [1.2, 2.0, 1.3]}


@pytest.fixture
def run(monkeypatch, capsys):
    """run(CPU seconds by way, stack): the status or sentence of the script's exit, and its table."""

    def main(taken, stack="openssl@3.5.5", n="10000"):
        words = ["bench_attribution.py", "--stacks", stack, "--suites", "tls13-rsa-aes256", "--n", n]
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(attribution_cost, "rounds", lambda *_: taken)
        monkeypatch.setattr(attribution_cost, "WAYS", tuple(taken))
        try:
            bench_attribution.main()
        except UserError as error:
            return f"memtest: {error}", capsys.readouterr().out
        except SystemExit as ended:
            return ended.code, capsys.readouterr().out
        return 0, capsys.readouterr().out

    return main


def test_a_cost_within_the_limit_is_no_word(run):
    status, table = run(WITHIN)
    assert status == 0 and "yes (1.10)" in table


def test_a_cost_beyond_the_limit_fails_with_a_sentence(run):
    status, table = run(BEYOND)
    said = "sites costs 1.200 times the plain run, more than 1.10"
    assert status == f"memtest: openssl@3.5.5, tls13-rsa-aes256, N = 10,000: {said}" and "no (1.10)" in table


def test_slow_profilers_stand_beside_a_plain_run_of_their_own(run, monkeypatch):
    monkeypatch.setattr(attribution_cost.Way, "missing", None)
    status, table = run(WITHIN | {SLOW_PLAIN: [0.5] * 3, MASSIF: [20.0] * 3})
    assert status == 0 and "40.000" in table
    assert "stand beside a plain run of their own" in " ".join(table.split())


def test_a_stack_that_brings_its_own_allocator_is_refused(run):
    status, table = run(WITHIN, "openssl@3.5.5 rustls+aws-lc+jemalloc-rust@0.23.46")
    said = "brings its own allocator, jemalloc-rust, which neither meter nor profiler sees"
    assert status == f"memtest: rustls+aws-lc+jemalloc-rust@0.23.46 {said}" and not table


def test_at_few_sessions_the_limit_is_shown_and_not_judged(run):
    status, table = run(BEYOND, n="20")
    assert status == 0 and "no (1.10)" in table


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("heaptrack", ["setarch", "--addr-no-randomize", "heaptrack", "--raw", "marks=1"]),
        ("massif", ["setarch", "--tool=massif", "--depth=100", "--threshold=0", "marks=1"]),
        ("dhat", ["setarch", "--tool=dhat", "--num-callers=128", "--run-libc-freeres=no", "marks=1"]),
    ],
)
def test_a_profiler_is_called_as_for_a_profile(monkeypatch, tool, words):
    """And costs what it takes to name its addresses."""
    given, interpreted = [], []

    async def interpret(_, raw: Path, *__) -> None:
        interpreted.append(raw.name)

    @asynccontextmanager
    async def started(argv, variables):
        given.extend(argv)
        if tool == "heaptrack":
            (Path(variables["HOME"]) / "heaptrack.raw.zst").touch()
        async with bench_started(["echo", '"status":"measured"'], variables) as process:
            yield process

    bench_started = attribution_cost.process.start_process
    monkeypatch.setattr(attribution_cost.process, "start_process", started)
    monkeypatch.setattr(attribution_cost, "interpret", interpret)
    way = next(way for way in attribution_cost.WAYS if way.tool == tool)
    assert attribution_cost.seconds(way, attribution_cost.Run("null@c", "none", "system", "all", 2, "rss", 1), 0) >= 0
    assert [word for word in words if word in given] == words
    assert interpreted == ["heaptrack.raw.zst"] * (tool == "heaptrack")


def test_what_a_way_lacks_is_said_with_what_brings_it(monkeypatch):
    monkeypatch.setattr(attribution_cost, "MARKS_LIBRARY", "build/core/none.so")
    if attribution_cost.shutil.which("valgrind"):
        assert MASSIF.missing == "no build/core/none.so here: make build/core/none.so"
    monkeypatch.setenv("PATH", "")
    assert MASSIF.missing == "no valgrind here: apt install valgrind"
    assert PLAIN.missing is None
