"""Timed campaigns with real processes: alone, interleaved, whole or refused, and gone on with."""

import fcntl
import json
import os
import subprocess

import pytest

from tests.support import forked_command, synthetic_timed
from tlsmem.base.paths import ROOT
from tlsmem.config import definitions, timed_matrix
from tlsmem.config.run import argv
from tlsmem.run import machine_noise, progress
from tlsmem.run.validate import Outcome
from tlsmem.schema import records
from tlsmem.schema.timed_record import Instructions
from tlsmem.topics.timing import warnings


def timed(project, campaign: str, *words: str, stacks):
    named = [f"--stacks={' '.join(stacks)}", "--out=out", *words]
    command = project.command(*named, campaign=campaign)
    return forked_command.run(command, cwd=project.root, drawn=False)


NULL = "build/harness/null@c"
HANDSHAKE = ("--suites=tls13-rsa-aes256 tls13-rsa-aes256-id", "--repeats=2")


def made(campaign: str, **changes) -> list[timed_matrix.TimedRun]:
    return timed_matrix.timed_runs(definitions.campaigns()[campaign].model_copy(update=changes))


def test_repeats_are_interleaved_over_stacks():
    asked = made("throughput", stacks=["null@c", "openssl@3.5.5"], suites=["tls13-rsa-aes256"], repeats=2)
    order = [(run.stack, run.repeat) for run in asked if run.meter == "time"]
    assert order == [("null@c", 1), ("openssl@3.5.5", 1), ("null@c", 2), ("openssl@3.5.5", 2)]


def test_what_is_compared_is_made_one_after_the_other():
    suites = ["tls12-rsa-aes256", "tls13-rsa-aes256"]
    known = made("allocators-throughput", stacks=["openssl@3.5.5"], suites=suites, threads=[1, 2], repeats=2)
    order = [(run.repeat, run.suite, run.threads, run.allocator) for run in known]
    assert order == sorted(order, key=lambda one: one[:3])
    assert len({run.allocator for run in known[:4]}) == 4


def test_instructions_are_counted_last_of_each_stack_at_some_suites_and_of_no_huge_write():
    chosen = ["tls13-rsa-aes256", "tls13-rsa-aes256-id"]
    asked = made("handshake", suites=chosen, instructions=chosen[1:], threads=[1, 2], repeats=2)
    assert [run.meter for run in asked] == 24 * ["time"] + 3 * ["instructions"]
    assert {(run.suite, run.threads, run.repeat) for run in asked[24:]} == {(chosen[1], 1, 1)}
    asked = made("throughput", suites=chosen[:1], sizes=[16, 2**30], repeats=1)
    assert [run.size_bytes for run in asked if run.meter == "instructions"] == 3 * [16]


@pytest.mark.parametrize(("size", "count"), [(2**30, 1), (2**20, 1024), (65536, 16384), (16, 256), (1, 16)])
def test_transfers_are_a_gibibyte_or_a_million_writes(size, count):
    assert timed_matrix.transfers_per_run(size) == count


@pytest.mark.skipif(not (ROOT / NULL).exists(), reason="null@c is not built")
@pytest.mark.parametrize(("size", "writes"), [(1, 65536), (1000, 65), (40000, 1), (65536, 1), (65537, 1)])
def test_a_round_has_as_many_writes_as_the_cores(size, writes):
    none = [f"{key}=none" for key in ("protocol", "cipher", "group", "certs", "auth")]
    argv = [ROOT / NULL, "throughput", "rounds=1", f"size={size}", *none]
    lines = map(json.loads, subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout.splitlines())
    (parts,) = (line["parts"] for line in lines if line["record"] == "thread")
    (moved,) = (part["bytes"] for part in parts if part["part"] == "send")
    assert moved == size * writes == size * timed_matrix.writes_per_round(size)


def test_rounds_and_seconds_are_more_by_the_multiplier(monkeypatch):
    suite = definitions.suites()["tls13-rsa-aes256-ticket"]
    found = []
    for value in ("", "0.01", "4"):
        monkeypatch.setenv("BENCH_MULTIPLIER", value)
        found.append((timed_matrix.rounds(suite, None), timed_matrix.seconds_per_run()))
    assert found == [(4096, 5), (41, 1), (16384, 20)]


def test_a_run_has_time_for_its_seconds_and_for_a_round_of_a_slow_library_beyond():
    (small,), (large,) = (made("throughput", stacks=["null@c"], sizes=[size], repeats=1) for size in (2**20, 2**30))
    assert "seconds=5" in argv(small, definitions.suites()["none"])
    assert 60 < small.limit_s < 100 and large.limit_s > 2**30 / 2e6


@pytest.mark.parametrize(("cpus", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 3, 4, 6]), (16, [1, 2, 3, 4, 8, 16])])
def test_threads_are_few_and_up_to_the_cpus(monkeypatch, cpus, counts):
    monkeypatch.setattr(timed_matrix, "allowed_cpus", lambda: list(range(cpus)))
    assert timed_matrix.thread_counts(definitions.campaigns()["threads-handshake"]) == counts


@pytest.mark.thorough
def test_a_campaign_is_recorded_whole_and_not_made_again(project):
    stacks = project.install("obey", "obey2")
    done = timed(project, "threads-handshake", *HANDSHAKE, "--threads=3", stacks=stacks)
    assert "8 runs, 0 already" in done.stderr and "Traceback" not in done.stderr
    assert done.stderr.count("/s (all 3 threads)") == 8
    found = [run for run in project.recorded() if run.meter == "time"]
    assert {run.status for run in found} == {"measured"}
    assert {(run.suite, run.rounds, run.timings[2].resumed) for run in found} == {
        ("tls13-rsa-aes256", 512, 0),
        ("tls13-rsa-aes256-id", 4096, 4096),
    }
    run = found[0]
    assert (run.sessions, run.threads, run.window, len(run.timings)) == (6, 3, "all", 3)
    part = run.timings[0].part("client")
    assert (part.count, part.total_ns) == (512, 512_000) and run.noise.load >= 0
    assert any(word.startswith("cpus=") for word in run.argv) and run.key == records.run_key(run.model_dump())
    again = timed(project, "threads-handshake", *HANDSHAKE, "--threads=3", stacks=stacks)
    assert "8 runs, 8 already recorded" in again.stderr


@pytest.mark.thorough
def test_what_is_not_whole_or_not_what_was_asked_for_failed(project):
    stacks = project.install("short", "fewer", "miss", "weak", "refuse", "lazy", "early")
    done = timed(project, "threads-handshake", "--suites=tls13-rsa-aes256-id", "--repeats=1", stacks=stacks)
    said = {run.stack.partition("@")[0]: (run.status, run.reason) for run in project.recorded() if run.threads == 1}
    assert done.returncode == 1
    assert said == {
        "short": ("failed", "thread 0: its parts are not those of the scenario handshake, each once"),
        "fewer": ("failed", "its run line says 1 threads, and its thread lines are not numbered so"),
        "miss": ("failed", "resumed handshakes: asked for 4096, but the harness says 4095"),
        "weak": ("failed", "cipher: asked for TLS_AES_256_GCM_SHA384, but the harness says NULL"),
        "refuse": ("unsupported", "pretender: no TLS at all"),
        "lazy": ("failed", "rounds of the thread that stopped all: asked for 4096, but the harness says 2048"),
        "early": ("measured", None),
    }


@pytest.mark.thorough
def test_instructions_are_to_be_counted_once_valgrind_is_there(project, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    stacks = project.install("obey")
    done = timed(project, "handshake", "--suites=tls13-rsa-aes256", "--repeats=1", stacks=stacks)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert {run.meter: run.status for run in project.recorded()} == {"time": "measured", "instructions": "failed"}
    listed = timed(project, "handshake", "--suites=tls13-rsa-aes256", "--repeats=1", "--list", stacks=stacks)
    assert "1 already recorded" in listed.stdout and "to go (failed before)" in listed.stdout


@pytest.mark.parametrize(("campaign", "kind"), [("threads-handshake", fcntl.LOCK_SH), ("mem", fcntl.LOCK_EX)])
def test_no_other_campaign_runs_beside_a_timed_one(project, campaign, kind):
    stacks = project.install("obey")
    other = os.open(project.root / "build/harness", os.O_RDONLY)
    fcntl.flock(other, kind)
    done = timed(project, campaign, "--suites=tls13-rsa-aes256", stacks=stacks)
    os.close(other)
    assert done.returncode == 1 and done.stderr.endswith("alone: wait until it has ended\n")
    assert not (project.root / "out").exists()


def test_noise_is_what_others_did_in_the_time_of_the_run():
    before = machine_noise.MachineReading(0, 1.5, 100, 1_000, 10, 2000.0)
    after = machine_noise.MachineReading(2_000, 9.0, 300, 2_000, 210, 2100.0)
    found = machine_noise.noise_between(before, after, 1_000)
    assert (found.load, found.steal_ns, found.busy_ns, found.mhz) == (1.5, 100, 400, (2000.0, 2100.0))


def test_times_are_the_kernels():
    found = machine_noise.parse_cpu_times("cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3\n")
    assert (found["user"], found["iowait"], found["steal"]) == (1, 5, 8)
    text = "processor\t: 0\ncpu MHz\t\t: 1000.0\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.0\n"
    assert (
        machine_noise.parse_mhz(text, [0, 1]),
        machine_noise.parse_mhz(text, [1]),
        machine_noise.parse_mhz("", [0]),
    ) == (
        2000.0,
        3000.0,
        None,
    )


def test_progress_tells_instructions_and_not_the_rate_that_is_in_no_table():
    parts = {"client": 3_121_742.0, "client_new": 53_325.0, "server": 5_000.0}
    found = Instructions(tool="callgrind", hides="nothing", rounds=(8, 16), parts=parts)
    outcome = Outcome("measured", None, [], "2026-01-31T12:00:00Z", 700_000_000, (), instructions=found)
    assert (
        progress.describe_outcome(outcome, 7.25)
        == "7.2 s under callgrind, client 3,121,742, server 5,000 instructions a round"
    )


def test_warnings_end_with_what_is_to_be_done_where_there_was_noise():
    quiet = synthetic_timed.campaign(["openssl@3.5.5"], ["tls13-rsa-aes256"], factors=(1.0, 1.0, 1.0, 1.0, 1.5))
    assert [said.split(":")[0] for said in warnings.describe_noise(quiet)] == ["odd"]
    often = [one.model_dump() | {"preempted": 1000} for one in quiet[0].timings]
    loud = [synthetic_timed.record("openssl@3.5.5", "tls13-rsa-aes256", timings=often), *quiet[1:]]
    noise, odd, advice = warnings.describe_noise(loud)
    assert noise.startswith("noise: preemption, in 1 of 5 runs") and odd.startswith("odd: ")
    assert noise.endswith(f"interrupted {1e9 * 1000 / quiet[0].timings[0].elapsed_ns:,.0f} times a second")
    assert advice == "noise makes runs slower: measure again with FRESH=1 while nothing else runs here"


def test_an_odd_repeat_is_far_from_the_median():
    assert warnings.deviations([100, 101, 99, 100, 150]) == [1, 1, 1, 1, 1.5]
    assert warnings.deviations([100, 101, 100, 100, 100]) == 5 * [1]  # by less than 2 %
