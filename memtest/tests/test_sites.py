"""Sites runs on the null stack: exact blocks, their stacks, pairs that are not alike, and the stack below a call."""

import json
import platform
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
import test_core

from tests.support import built_harness

ROOT = Path(__file__).resolve().parents[2]
METER = ROOT / "build/core/libheapmeter.so"
NONE = ["protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"]
OPEN = ["sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply", "idle"]
BLOCKS = [40, 1000, 3032]
CHURNED = ("open", "closed")
CALLED = {"client 1": ["client"], "server 2": ["server"], "payload": ["client", "server"], "idle": []}


def run(harness, *arguments, preload=METER, sites="1", **environment):
    """The finished process of one sites run."""
    return test_core.run(harness, *arguments, LD_PRELOAD=str(preload), HEAPMETER_SITES=sites, **environment)


def lines(harness, sessions, *arguments, **environment):
    done = run(harness, "memory", f"sessions={sessions}", *NONE, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def phases(found):
    return {line["phase"]: line for line in found if line["record"] == "phase"}


def sites(harness, sessions, *arguments, **environment):
    """A run's sites by phase."""
    found = phases(lines(harness, sessions, *arguments, **environment))
    return {name: phase["sites"] for name, phase in found.items()}


@pytest.fixture(scope="module", params=["null@c", "null@rust"])
def null(request):
    return ROOT / "build/harness" / request.param


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """The harness of tests/odd.c."""
    binary = tmp_path_factory.mktemp("odd") / "odd"
    flags = ["-std=gnu11", "-O2", "-g1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    files = ["memtest/tests/odd.c", "build/core/libmemtest.a", "-ldl", "-lpthread", "-o", str(binary)]
    subprocess.run(["gcc", *flags, "-Imemtest", *files], cwd=ROOT, check=True)
    return binary


def test_the_chosen_pair_is_in_the_middle_and_holds_its_three_blocks_by_role(null):
    found = sites(null, 200)
    for phase in OPEN:
        assert (found[phase]["pair"], found[phase]["pairs"]) == (50, 100)
        for role in "client", "server":
            live = [site for site in found[phase]["live"] if site["role"] == role]
            assert sorted(site["bytes"] for site in live) == BLOCKS, phase
            assert all((site["since"], site["blocks"]) == ("sessions", 1) for site in live)
    for phase in "contexts", "closed", "trimmed", "freed":
        assert found[phase]["live"] == []


def test_all_pairs_are_alike_and_identical(null):
    for arguments in [], ["threads=3"], ["keep=server"]:
        for phase in sites(null, 200, *arguments).values():
            assert (phase["alike"], phase["identical"]) == (100, 100), arguments


def test_the_pair_times_pairs_is_the_live_heap_above_contexts(null):
    found = phases(lines(null, 200))
    for phase in OPEN:
        for role in "client", "server":
            above = {
                kind: found[phase]["heap"][role][f"live_{kind}"] - found["contexts"]["heap"][role][f"live_{kind}"]
                for kind in ("bytes", "blocks")
            }
            live = [site for site in found[phase]["sites"]["live"] if site["role"] == role]
            assert above == {"bytes": 100 * 4072, "blocks": 300}
            assert above == {kind: 100 * sum(site[kind] for site in live) for kind in above}


def test_null_has_no_temporary_blocks(null):
    assert all(phase["temporary"] == [] for phase in sites(null, 200).values())


def test_what_a_phase_allocated_and_freed_is_told_by_role(odd):
    """A block of null's is replaced when the session is made; each role's first step has two blocks, one by realloc."""
    found = sites(odd, 40, ODD="temporary")
    told = {
        phase: sorted((one["role"], one["blocks"], one["bytes"]) for one in sites["temporary"])
        for phase, sites in found.items()
        if sites["temporary"]
    }
    assert told == {
        "sessions": [("client", 1, 1000), ("server", 1, 1000)],
        "client 1": [("client", 1, 7), ("client", 1, 70)],
        "server 1": [("server", 1, 7), ("server", 1, 70)],
    }


def test_live_and_temporary_blocks_are_all_that_a_phase_allocated(odd):
    """Of every pair, so the pair's times pairs is what the meter counted."""
    found = phases(lines(odd, 40, ODD="temporary"))
    for (_, before), (name, phase) in pairwise(found.items()):
        for role in "client", "server":
            live = [one for one in phase["sites"]["live"] if (one["role"], one["since"]) == (role, name)]
            allocated = [*live, *(one for one in phase["sites"]["temporary"] if one["role"] == role)]
            for kind in "blocks", "bytes":
                counted = [one["heap"][role][f"cumulative_{kind}"] for one in (before, phase)]
                assert 20 * sum(one[kind] for one in allocated) == counted[1] - counted[0], (name, role, kind)


def test_a_phase_that_comes_again_does_not_say_what_was_temporary(null):
    """Blocks of an earlier wave that were freed since would count as this one's."""
    done = run(null, "churn", "sessions=20", *NONE, "waves=2", "pattern=waves")
    assert done.returncode == 0, done.stderr
    told = [line for line in map(json.loads, done.stdout.splitlines()) if line["record"] == "phase"]
    assert [line["phase"] for line in told if "temporary" not in line["sites"]] == ["open", "closed"]
    assert [line["phase"] for line in told].count("open") == 2


def test_call_stacks_of_temporary_blocks_come_before_the_phase_too(odd):
    known = []
    for line in lines(odd, 40, ODD="temporary"):
        known += [line["stack"]] if line["record"] == "stack" else []
        if line["record"] == "phase":
            assert {one["stack"] for one in line["sites"]["temporary"]} <= set(known)
    assert known == list(range(12))


def peaks(found):
    """By phase and role: the peak of the chosen pair's session as counted, and by the sizes of blocks in `peak`."""
    return {
        (phase, role): (
            one["peak_bytes"][role],
            sorted(site["bytes"] for site in one["peak"] if site["role"] == role),
        )
        for phase, one in found.items()
        for role in ("client", "server")
    }


def test_a_peak_is_what_was_live_when_a_session_held_most(null):
    """In `closed` that is before the first of the three blocks is freed."""
    found = peaks(sites(null, 200))
    for phase in *OPEN, "closed":
        assert found[phase, "client"] == found[phase, "server"] == (4072, BLOCKS), phase
    for phase in "contexts", "trimmed", "freed":
        assert found[phase, "client"] == found[phase, "server"] == (0, [])


def test_a_peak_within_a_phase_has_what_was_freed_before_its_end(odd):
    """A block of 7 bytes is live at one maximum, and the one of 70 that it becomes at the next, which is larger."""
    found = peaks(sites(odd, 40, ODD="temporary"))
    for role in "client", "server":
        assert found[f"{role} 1", role] == (4142, [40, 70, 1000, 3032])
        other = "server" if role == "client" else "client"
        assert found[f"{role} 1", other] == found["established", role] == (4072, BLOCKS)


def test_the_peak_of_a_session_is_what_the_meter_counts_where_there_is_one_pair(null, odd):
    """Its own count for the role, above what is live in `contexts`."""
    for harness, environment in (null, {}), (odd, {"ODD": "temporary"}):
        found = phases(lines(harness, 2, **environment))
        for (name, role), (counted, _) in peaks({name: one["sites"] for name, one in found.items()}).items():
            before = found["contexts"]["heap"][role]["live_bytes"]
            assert name == "contexts" or counted == found[name]["heap"][role]["peak_bytes"] - before, (name, role)


def test_a_run_that_ends_within_has_the_peak_of_its_last_phase(odd):
    found = peaks(sites(odd, 40, "until=client 1", ODD="temporary"))
    assert found["client 1", "client"] == (4142, [40, 70, 1000, 3032])


def test_a_peak_is_of_its_phase_where_phases_come_again(null):
    """Waves: what the wave before has freed is in no peak."""
    done = run(null, "churn", "sessions=20", *NONE, "waves=3", "pattern=waves")
    assert done.returncode == 0, done.stderr
    told = [line for line in map(json.loads, done.stdout.splitlines()) if line["record"] == "phase"]
    found = [peaks({line["phase"]: line["sites"]})[line["phase"], "client"] for line in told]
    assert [line["phase"] for line in told].count("open") == 3
    assert all(one == (4072, BLOCKS) for one, line in zip(found, told, strict=True) if line["phase"] in CHURNED)
    assert all(one == (0, []) for one, line in zip(found, told, strict=True) if line["phase"] not in CHURNED)


def test_a_call_stack_that_is_at_a_peak_alone_has_a_line_before_the_phase(odd):
    """From the second wave on, whose phases do not say what was temporary."""
    done = run(odd, "churn", "sessions=20", *NONE, "waves=2", "pattern=waves", ODD="temporary later", ODD_PAIR="22")
    assert done.returncode == 0, done.stderr
    known, waves = set(), []
    for line in map(json.loads, done.stdout.splitlines()):
        known |= {line["stack"]} if line["record"] == "stack" else set()
        if line.get("phase") == "open":
            assert {one["stack"] for one in line["sites"]["peak"]} <= known
            waves.append(line["sites"]["peak_bytes"]["client"])
    assert waves == [4072, 4142]


def test_a_sites_run_counts_what_a_heap_run_counts(null):
    plain, kept = phases(lines(null, 200, sites="0")), phases(lines(null, 200))
    for phase, line in plain.items():
        assert "sites" not in line
        for role in "client", "server", "client_context", "server_context":
            assert line["heap"][role] == kept[phase]["heap"][role], (phase, role)


def test_stacks_are_numbered_and_come_before_the_phase_that_needs_them(null):
    known = []
    for line in lines(null, 200):
        if line["record"] == "stack":
            known.append(line["stack"])
            assert all("+0x" in frame for frame in line["frames"]) and len(line["frames"]) > 5
        elif line["record"] == "phase":
            assert {site["stack"] for site in line["sites"]["live"]} <= set(known)
    assert known == list(range(6))


def test_offsets_are_addresses_of_the_elf_file(null):
    """The caller of a driver's call is a function of frames.c: role_session_new."""
    stack = next(line for line in lines(null, 200) if line["record"] == "stack")
    module, _, offset = stack["frames"][0].rpartition("+")
    assert module == str(null)
    calls = [hex(int(frame.rpartition("+")[2], 16) - 1) for frame in stack["frames"]]
    named = ["addr2line", "-f", "-e", module, *calls]
    functions = subprocess.run(named, capture_output=True, text=True, check=True).stdout.splitlines()[::2]
    assert "client_session_new" in functions and "memtest_main" in functions and int(offset, 16) > 0


@pytest.mark.parametrize(
    ("how", "alike", "identical"),
    [("nothing", 20, 20), ("16 bytes", 20, 19), ("17 bytes", 19, 19), ("caller", 19, 19), ("block", 19, 19)],
)
def test_an_odd_pair_is_found(odd, how, alike, identical):
    found = sites(odd, 40, ODD=how, ODD_PAIR="3")["client 1"]
    assert (found["alike"], found["identical"]) == (alike, identical)


def test_when_the_chosen_pair_is_the_odd_one_it_is_alone(odd):
    assert sites(odd, 40, ODD="caller", ODD_PAIR="10")["client 1"]["alike"] == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="odd.c knows the frame pointer of x86-64 only")
def test_pairs_are_alike_where_a_caller_keeps_no_frame_pointer(odd):
    """What the walk is led to is no code, and not hashed; the chosen pair's stack is whole, by libunwind."""
    found = lines(odd, 40, ODD="without frame")
    here = phases(found)["sessions"]["sites"]
    assert (here["alike"], here["identical"]) == (20, 20)
    stacks = {tuple(line["frames"]) for line in found if line["record"] == "stack"}
    assert len(stacks) == 8, "three blocks of each role, and one that was freed at once"
    assert all(len(frames) > 5 for frames in stacks)


def test_with_a_window_the_chosen_pair_is_of_the_last(null):
    found = sites(null, 200, "window=30")
    assert found["sessions"]["pair"] == 70 + 15
    assert found["established"]["identical"] == 100


def test_the_deepest_byte_of_the_stack_is_told_where_a_role_was_called(null):
    """Null fills a buffer of a flight's 8,000 bytes on the stack, in Rust one for each direction."""
    found = {name: phase["stack_bytes"] for name, phase in sites(null, 200).items()}
    assert 8000 <= found["server 1"]["server"] <= 2 * 8000 + 1000
    for phase, called in CALLED.items():
        assert [role for role in ("client", "server") if found[phase][role] is not None] == called, phase
    assert found["payload"]["client"] < 1000


def test_a_call_is_painted_anew(null):
    """What an earlier, deeper call wrote is not seen again: `established` returns at once."""
    depths = [phase["stack_bytes"]["server"] for phase in sites(null, 200).values()]
    assert any(one and next_ and next_ < one / 10 for one, next_ in pairwise(depths))


def test_a_depth_that_depends_on_the_address_is_found_and_does_not_depend_on_the_environment(odd):
    """From 4,096 to 6,143 bytes below, by where the call is made; the pairs begin 128 apart."""
    depths = [sites(odd, 200, ODD="aligns", PAD="x" * size)["sessions"]["stack_bytes"] for size in (0, 100, 777, 2000)]
    assert all(depth == depths[0] for depth in depths), depths
    assert all(6144 - 128 <= depth <= 6144 + 256 for depth in depths[0].values()), depths


@pytest.mark.thorough
def test_the_stack_of_openssl_is_as_deep_in_any_environment():
    """Its assembler aligns tables in the stack."""
    harness = built_harness.find("openssl@3.5.5")
    suite = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", "auth=server"]
    suite += [f"certs={ROOT / 'memtest/certs/rsa-2048'}"]
    depths = []
    for size in 0, 100, 777, 1500:
        done = run(harness, "memory", "sessions=80", *suite, PAD="x" * size)
        assert done.returncode == 0, done.stderr
        found = phases([json.loads(line) for line in done.stdout.splitlines()])
        depths.append({name: phase["sites"]["stack_bytes"] for name, phase in found.items() if name != "contexts"})
    assert all(depth == depths[0] for depth in depths)


def test_of_one_pair_alone_no_stack_is_painted(null):
    found = sites(null, 2)
    assert found["established"]["pair"] == 0 and len(found["established"]["live"]) == 6
    assert all(phase["stack_bytes"] == {"client": None, "server": None} for phase in found.values())


def test_without_the_meter_it_is_a_sentence(null):
    done = run(null, "memory", "sessions=2", *NONE, preload="")
    assert done.returncode == 1 and "LD_PRELOAD" in done.stderr and len(done.stderr.splitlines()) == 1


def test_without_libunwind_it_is_a_sentence(null, tmp_path):
    """A library path that comes first and has something else by this name."""
    (tmp_path / "libunwind.so.8").write_text("no library\n")
    done = run(null, "memory", "sessions=2", *NONE, LD_LIBRARY_PATH=str(tmp_path))
    assert done.returncode == 1 and "apt install libunwind8" in done.stderr and len(done.stderr.splitlines()) == 1
