"""The core on the null stack: exact bytes, caught faults, argv and exit codes."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tlsmem.base.printable import strip_suite

ROOT = Path(__file__).resolve().parents[2]
VERSION = "null 1 (no TLS: three blocks of 40, 1,000 and 3,032 bytes a session)"
NONE = ["protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"]
METER = ROOT / "build/core/libheapmeter.so"
FAULTY = ROOT / "build/tests/faulty"
PHASES = ["contexts", "sessions", "client 1", "server 1", "client 2", "server 2"]
PHASES += ["established", "payload", "reply", "idle", "closed", "trimmed", "freed"]
OPEN = PHASES[1:-3]


def run(harness, *arguments, heap=False, **environment):
    """The finished process of one harness run."""
    variables = os.environ | environment | ({"LD_PRELOAD": str(METER)} if heap else {})
    with subprocess.Popen(
        [harness, *arguments], env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        out, err = process.communicate(timeout=60)
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def phases(harness, sessions, *arguments, heap=False):
    """What the harness recorded, by phase."""
    done = run(harness, "memory", f"sessions={sessions}", *NONE, *arguments, heap=heap)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["record"] == "run" and lines[-1]["status"] == "measured"
    return {line["phase"]: line for line in lines if line["record"] == "phase"}


def test_phases_come_in_the_designs_order(program):
    assert list(phases(program, 4)) == PHASES


def test_with_data_full_each_end_gets_a_record_and_then_waits(program):
    used = phases(program, 4, "data=full")
    assert list(used) == [*PHASES[:-4], "full payload", "full reply", "blocked", *PHASES[-4:]]
    assert {used[phase]["wire_bytes"] for phase in ("full payload", "full reply", "blocked")} == {0}


def test_what_is_kept_with_data_full_was_used_before_its_peers_were_freed(program):
    kept = phases(program, 20, "data=full", "keep=server", "window=3")
    assert list(kept) == [*PHASES[:6], "blocked", *PHASES[-4:]]


def test_live_heap_is_4072_bytes_in_3_blocks_per_session(null):
    few, many = phases(null, 100, heap=True), phases(null, 1000, heap=True)
    for phase in OPEN:
        for role in "client", "server":
            few_heap, many_heap = few[phase]["heap"][role], many[phase]["heap"][role]
            for kind in "live", "peak":
                assert many_heap[f"{kind}_bytes"] - few_heap[f"{kind}_bytes"] == 450 * 4072, (phase, role, kind)
                assert many_heap[f"{kind}_blocks"] - few_heap[f"{kind}_blocks"] == 450 * 3, (phase, role, kind)


def test_total_peak_is_the_live_heap_while_flights_are_sent(null):
    for phase in OPEN[1:]:
        total = phases(null, 200, heap=True)[phase]["heap"]["total"]
        assert total["peak_bytes"] == total["live_bytes"], phase


def test_heap_is_back_to_contexts_when_closed(null):
    measured = phases(null, 200, heap=True)
    for role, heap in measured["contexts"]["heap"].items():
        for field in "live_bytes", "live_blocks":
            assert measured["closed"]["heap"][role][field] == heap[field], (role, field)


def test_rss_anon_is_one_page_per_session(null):
    few, many = phases(null, 200), phases(null, 4200)
    for phase in OPEN:
        slope = (many[phase]["rss_anon_bytes"] - few[phase]["rss_anon_bytes"]) / 4000
        assert abs(slope - 4096) <= 4096 / 4000, phase


def test_harness_and_wires_add_nothing_that_grows(program):
    few, many = phases(program, 200), phases(program, 4200)
    for phase in PHASES:
        assert many[phase]["rss_shmem_bytes"] == few[phase]["rss_shmem_bytes"], phase
    assert many["server 1"]["wire_bytes"] == 2100 * 8192
    assert many["established"]["wire_bytes"] == 0


def test_trimmed_is_within_256_kib_of_contexts(null):
    measured = phases(null, 4200)
    assert abs(measured["trimmed"]["rss_anon_bytes"] - measured["contexts"]["rss_anon_bytes"]) <= 256 * 1024


@pytest.mark.parametrize("window", [1, 7, 100])
def test_windows_change_the_phases_not_the_established_heap(null, window):
    whole, windowed = phases(null, 200, heap=True), phases(null, 200, f"window={window}", heap=True)
    assert list(windowed) == PHASES
    for role in "client", "server":
        assert windowed["established"]["heap"][role] | {"peak_bytes": 0, "peak_blocks": 0} == whole["established"][
            "heap"
        ][role] | {"peak_bytes": 0, "peak_blocks": 0}
    assert windowed["client 1"]["wire_bytes"] == window * 4096  # the recorded window is a full one


@pytest.mark.parametrize("phase", PHASES)
def test_until_ends_after_its_phase(program, phase):
    assert list(phases(program, 4, f"until={phase}")) == PHASES[: PHASES.index(phase) + 1]


CAUGHT = {
    "incomplete": "handshakes incomplete after 10 steps",
    "falls back": "fell back into its handshake",
    "short write": "took 1023 bytes of a payload of 1024",
    "short read": "received 1023 bytes of a payload of 1024",
    "takes -1": "the driver says that it took 18446744073709551615 bytes of 1024",
    "gives -1": "the driver says that it gave 18446744073709551615 bytes of 16385",
    "corrupt byte": "received other bytes than were sent",
    "other protocol": "negotiated protocol TLSv1.0, the suite asks for none",
    "other cipher": "negotiated cipher NULL-MD5, the suite asks for none",
    "other group": "negotiated group P-192, the suite asks for none",
    "resumed": "resumed a session, the suite asks for a full handshake",
    "goes on without memory": "went on although memory was refused",
    "verified": "verified its peer, the suite asks for auth=none",
}


def test_the_faulty_stack_without_a_fault_is_sound():
    assert list(phases(FAULTY, 20)) == PHASES


@pytest.mark.parametrize("fault", CAUGHT)
def test_a_fault_fails_the_run_with_a_sentence(fault):
    done = run(FAULTY, "memory", "sessions=20", *NONE, FAULT=fault)
    assert done.returncode == 1
    assert CAUGHT[fault] in done.stderr and done.stderr.count("\n") == 1
    assert '"record":"end"' not in done.stdout


def test_a_leak_is_seen_to_the_byte():
    done = run(FAULTY, "memory", "sessions=20", *NONE, heap=True, FAULT="leak")
    measured = {line.get("phase"): line for line in map(json.loads, done.stdout.splitlines())}
    leaked = [measured[phase]["heap"]["client"]["live_bytes"] for phase in ("contexts", "closed")]
    assert leaked == [1000, 11 * 1000]  # the warm-up pair's, and ten more


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([], "usage:"),
        (["walk"], "usage:"),
        (["memory"], "sessions= is missing"),
        (["memory", "sessions=3"], "must be even"),
        (["memory", "sessions=0"], "from 2 to 1000000000"),
        (["memory", "sessions=-2"], "from 2 to 1000000000"),
        (["memory", "sessions=2x"], "from 2 to 1000000000"),
        (["memory", "sessions"], "arguments are key=value"),
        (["memory", "sesions=2"], "unknown key"),
        (["memory", "sessions=2", "store=maybe"], "must be off or on"),
        (["memory", "sessions=2", "protocol=none", "cipher=none", "group=none"], "certs= is missing"),
    ],
)
def test_bad_arguments_are_usage_errors(program, arguments, sentence):
    done = run(program, *arguments)
    assert done.returncode == 2 and sentence in done.stderr and done.stdout == ""


def test_an_unknown_phase_is_an_error(program):
    done = run(program, "memory", "sessions=2", *NONE, "until=server 9")
    assert done.returncode == 1 and "no such phase" in done.stderr


def test_an_unsupported_suite_is_77_with_its_reason(program):
    suite = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", "certs=none"]
    done = run(program, "memory", "sessions=2", *suite)
    assert done.returncode == 77
    assert json.loads(done.stdout.splitlines()[-1])["reason"] in done.stderr


def test_what_is_lacking_is_said_with_the_version_before_and_the_suite_behind(program):
    done = run(program, "memory", "sessions=2", "protocol=TLSv1.3", "cipher=A", "group=B", "certs=none")
    reason = json.loads(done.stdout.splitlines()[-1])["reason"]
    assert strip_suite(reason) == f'{VERSION}: has no TLS; its suite is "none"'
    assert reason == f"{strip_suite(reason)} (TLSv1.3, A, B)" and done.stderr == f"memtest: null: {reason}\n"
