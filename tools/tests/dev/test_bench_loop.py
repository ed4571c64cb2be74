"""What the harness costs: the loop beside it does the work that it says, and ratios are of rates."""

import fcntl
import json
import os
import subprocess
import sys

import pytest

import bench_loop
import loop_cost
from tests.support import built_harness
from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import stacks

STACK = "openssl@3.5.5"
TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", "certs=memtest/certs/rsa-2048"]
TLS12 = ["protocol=TLSv1.2", "cipher=ECDHE-RSA-AES256-GCM-SHA384", *TLS13[2:]]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    built_harness.find(STACK)
    made = tmp_path_factory.mktemp("loops")
    loop_cost.openssl_loop(STACK, stacks()[STACK], made / "loop", made / "log")
    assert "warning" not in (made / "log").read_text()
    return made / "loop"


def run(loop, *words):
    return subprocess.run([str(loop), *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        [*TLS12, "resume=on", "store=on"],
        [*TLS12, "resume=on", "tickets=1"],
        TLS13,
        [*TLS13, "resume=on", "store=on", "tickets=1"],
        [*TLS13, "resume=on", "tickets=1"],
    ],
)
def test_as_many_handshakes_as_were_asked_for_are_told(loop, words):
    said = json.loads(run(loop, "handshake", "rounds=20", *words).stdout)
    assert said.keys() == {"client_ns", "server_ns", "count"}
    assert said["count"] == 20 and min(said.values()) > 0


@pytest.mark.thorough
def test_a_session_that_cannot_be_resumed_ends_the_loop(loop):
    done = run(loop, "handshake", "rounds=1", *TLS13, "resume=on")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "openssl_loop: resumption, as it was asked for, failed\n"


@pytest.mark.parametrize(("size", "each"), [(100, 65_500), (65_536, 65_536), (1_000_000, 1_000_000)])
def test_a_transfer_is_of_whole_writes_that_make_64_kib(loop, size, each):
    said = json.loads(run(loop, "throughput", "rounds=3", f"size={size}", *TLS13).stdout)
    assert said.keys() == {"send_ns", "receive_ns", "bytes"}
    assert said["bytes"] == 3 * each


def test_a_ratio_is_of_rates_and_of_neighbours():
    pairs = [(100.0, 99.0), (200.0, 197.0), (400.0, 380.0)]  # nanoseconds, the harness's first
    part, harness, loop, ratio, between, smallest, largest, judged = loop_cost.row("client_ns", "count", pairs)
    assert (part, harness, loop) == ("client", "5,000,000 /s", "5,076,142 /s")
    assert (ratio, smallest, largest) == ("0.985", "0.950", "0.990")
    assert (between, judged) == ("0.950 to 0.990", "not known")  # of three the median may be any


@pytest.mark.parametrize(("loop_ns", "judged"), [(0.98, "no"), (0.985, "yes"), (1.2, "yes")])
def test_what_does_not_vary_is_judged_by_itself(loop_ns, judged):
    assert loop_cost.row("send_ns", "bytes", [(1.0, loop_ns)])[-1] == judged
    assert loop_cost.row("send_ns", "bytes", [(1.0, loop_ns)] * 9)[-1] == judged


def test_a_stack_without_a_loop_is_refused():
    command = [sys.executable, "tools/dev/bench_loop.py", "--stacks=openssl@3.2.0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "openssl@3.2.0 has no loop; openssl@3.5.5 and rustls+aws-lc@0.23.46 have one" in done.stderr


@pytest.mark.thorough
def test_nothing_is_compiled_beside_a_campaign():
    built_harness.find(STACK)
    log = ROOT / f"build/logs/{STACK}.loop.log"
    before = log.stat().st_mtime_ns if log.is_file() else None
    other = os.open(ROOT / "build/harness", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)
    command = [sys.executable, "tools/dev/bench_loop.py", f"--stacks={STACK}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    os.close(other)
    assert done.returncode == 1 and done.stderr.endswith("alone: wait until it has ended\n")
    assert before == (log.stat().st_mtime_ns if log.is_file() else None)


def test_every_stack_that_may_be_named_has_a_loop():
    assert tuple(loop_cost.LOOPS) == bench_loop.STACKS
