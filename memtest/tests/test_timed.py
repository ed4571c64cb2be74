"""The core's timed scenarios: what is counted is exact, what is wrong ends the run with its sentence."""

import json
import os
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from test_core import NONE, run

from tlsmem.schema.harness_output import OUTPUT_LINE, EndLine, RunLine

HANDSHAKE = ["client_new", "client", "client_free", "server_new", "server", "server_free"]
TRANSFER = ["send", "receive"]
OWN = ["wire_write", "wire_read", "clock"]
OWN_ROUNDS = 256
FLIGHTS_BYTES = 1500 + 8000 + 100  # of one handshake of the null stack
LEAST_ROUND_BYTES = 65536
RESUMED = ["tickets=1", "resume=on"]


def lines(done):
    assert done.returncode == 0, done.stderr
    first, *threads, end = map(OUTPUT_LINE.validate_json, done.stdout.splitlines())
    assert isinstance(first, RunLine) and isinstance(end, EndLine) and end.status == "measured"
    return first, threads


def timed(harness, scenario, *arguments, **environment):
    """The run line and the thread lines of a run that must succeed."""
    return lines(run(harness, scenario, *NONE, *arguments, **environment))


def parts(thread):
    return {part.part: part for part in thread.parts}


def test_a_handshake_has_its_parts_each_once_a_round(program):
    first, (thread,) = timed(program, "handshake", "rounds=50")
    assert (first.scenario, first.meter, first.sessions, first.rounds) == ("handshake", "time", 2, 50)
    assert [part.part for part in thread.parts] == HANDSHAKE + OWN
    assert [part.count for part in thread.parts] == 6 * [50] + 3 * [OWN_ROUNDS]
    assert (thread.thread, thread.cpu, thread.rounds, thread.resumed) == (0, None, 50, 0)


@pytest.mark.parametrize("size", [1, 3, 16, 1000, 65535, 65536, 65537, 1048576, 1048577])
def test_a_transfer_is_as_many_writes_as_make_64_kib(program, size):
    first, (thread,) = timed(program, "throughput", "rounds=5", f"size={size}")
    moved = size * max(1, LEAST_ROUND_BYTES // size)
    assert (first.scenario, first.size_bytes) == ("throughput", size)
    assert [part.part for part in thread.parts] == TRANSFER + OWN
    assert [parts(thread)[part].count for part in TRANSFER] == [5, 5]
    assert [parts(thread)[part].bytes for part in TRANSFER] == [5 * moved, 5 * moved]


def test_a_transfer_is_of_1_mib_unless_said(program):
    first, (thread,) = timed(program, "throughput", "rounds=2")
    assert first.size_bytes == 1 << 20 and parts(thread)["send"].bytes == 2 << 20


@pytest.mark.parametrize(
    "arguments, moved",
    [(["handshake", "rounds=3"], FLIGHTS_BYTES), (["throughput", "rounds=3", "size=1000"], 65000)],
)
def test_the_wires_copying_is_measured_of_as_many_bytes_as_a_round_has(program, arguments, moved):
    _, (thread,) = timed(program, *arguments)
    assert [parts(thread)[part].bytes for part in OWN] == [OWN_ROUNDS * moved, OWN_ROUNDS * moved, None]


@pytest.mark.parametrize("scenario", ["handshake", "throughput"])
def test_the_histogram_has_every_interval_rounded_down_to_three_digits(program, scenario):
    buckets = HdrHistogram(1, 2**37 - 1, 3)
    _, (thread,) = timed(program, scenario, "rounds=300")
    for part in thread.parts:
        if part.part in OWN:
            assert part.histogram is None
            continue
        values, counts = zip(*part.histogram, strict=True)
        assert sum(counts) == part.count == 300
        assert list(values) == sorted({buckets.get_lowest_equivalent_value(value) for value in values})
        total = sum(value * count for value, count in part.histogram)
        assert part.total_ns * 0.999 <= total <= part.total_ns


@pytest.mark.parametrize("scenario", ["handshake", "throughput"])
def test_no_time_is_counted_twice(program, scenario):
    _, (thread,) = timed(program, scenario, "rounds=100")
    counted = [part.total_ns for part in thread.parts if part.part not in OWN]
    assert sum(counted) <= thread.elapsed_ns


@pytest.mark.parametrize("scenario", ["handshake", "throughput"])
def test_three_threads_are_three_lines_and_the_first_that_is_done_stops_all(program, scenario):
    first, threads = timed(program, scenario, "rounds=200", "threads=3")
    assert (first.threads, first.sessions) == (3, 6)
    assert [thread.thread for thread in threads] == [0, 1, 2]
    assert max(thread.rounds for thread in threads) == 200
    names = HANDSHAKE if scenario == "handshake" else TRANSFER
    assert [[parts(thread)[name].count for name in names] for thread in threads] == [
        len(names) * [thread.rounds] for thread in threads
    ]


@pytest.mark.parametrize("asked, warmed", [("rounds=80", 10), ("rounds=3", 1), ("warmup=7", 7)])
def test_faults_are_counted_in_as_many_further_rounds_as_were_warmed_up(program, asked, warmed):
    first, (thread,) = timed(program, "handshake", "rounds=3", asked)
    assert first.warmup_rounds == warmed
    assert {part.faults_count for part in thread.parts if part.part in HANDSHAKE} == {warmed}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("scenario, names", [("handshake", HANDSHAKE), ("throughput", TRANSFER)])
def test_seconds_end_a_run_before_its_rounds_do(program, scenario, names, threads):
    first, lines = timed(program, scenario, "rounds=1000000000", "seconds=1", f"threads={threads}")
    assert first.rounds == 1000000000
    for line in lines:
        assert 1 <= line.rounds < 1000000000
        assert {parts(line)[name].count for name in names} == {line.rounds}


def test_rounds_end_a_run_before_its_seconds_do(program):
    _, (thread,) = timed(program, "handshake", "rounds=80", "seconds=86400")
    assert thread.rounds == 80 and {parts(thread)[name].faults_count for name in HANDSHAKE} == {10}


def allowed(process):
    """The CPUs that each of its threads may run on."""
    said = [task.read_text() for task in Path(f"/proc/{process.pid}/task").glob("*/status")]
    return [line.split()[1] for text in said for line in text.splitlines() if line.startswith("Cpus_allowed_list:")]


def begun(harness, *arguments):
    """A run that is timed for ever, with its first line."""
    command = [harness, *arguments, *NONE, "rounds=1000000000", "warmup=1"]
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # under nohup these tests inherit it ignored
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default)
    return process, json.loads(process.stdout.readline())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this process may run on one CPU alone")
def test_threads_are_pinned_to_the_cpus_in_turn(program):
    one, other = sorted(os.sched_getaffinity(0))[:2]
    cpus = f"cpus={one},{other}"
    first, threads = timed(program, "handshake", "rounds=3", "threads=3", cpus)
    assert first.cpus == [one, other] and [thread.cpu for thread in threads] == [one, other, one]
    process, _ = begun(program, "handshake", "threads=3", cpus)
    wanted, pinned = sorted([str(one), str(other), str(one)]), []
    for _ in range(3000):
        pinned = sorted(where for where in allowed(process) if where in wanted)
        if pinned == wanted or process.poll() is not None:
            break
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert pinned == wanted
