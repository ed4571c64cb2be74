"""Instructions of a round: those of the null stack are the same every time, and callgrind's own count of a function."""

import asyncio
import re
import shutil
import subprocess

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.profile.capture import instructions
from tlsmem.profile.capture.instructions import count_instructions, counting_argv, parse_frames
from tlsmem.profile.errors import CaptureFailed
from tlsmem.schema.timed_record import Instructions

NULL = ROOT / "build/harness/null@c"
NONE = ["protocol=none", "cipher=none", "group=none", "certs=none", "auth=none"]
HANDSHAKE = [str(NULL), "handshake", "rounds=4096", "threads=1", "cpus=0", *NONE]
THROUGHPUT = [str(NULL), "throughput", "rounds=1024", "size=65536", *NONE]
ANNOTATED = """
Ir
3,000  ./memtest/frames.c:client_handshake [/x/build/harness/null@c]
    7  ./memtest/core.h:client_handshake [/x/build/harness/null@c]
9,000  /src/lib/memory.c:client_handshake [/x/build/harness/null@c]
  500  ./memtest/frames.c:client_handshake_more [/x/build/harness/null@c]
1,234  ./memtest/wire.c:wire_read
"""

pytestmark = pytest.mark.filterwarnings("error")
valgrind = pytest.mark.skipif(
    not shutil.which("valgrind") or not NULL.exists(), reason="no valgrind, or null not built"
)


def counted(argv: list[str], variables: dict[str, str] | None = None) -> Instructions | str:
    return asyncio.run(count_instructions(argv, variables or {}, 300))


@pytest.mark.thorough
@valgrind
def test_a_handshake_of_null_is_the_same_every_time_and_each_role_has_its_own():
    one, two = counted(HANDSHAKE), counted(HANDSHAKE)
    assert isinstance(one, Instructions) and one == two
    assert set(one.parts) == {*instructions.FRAMES} - {"send", "receive", "seal"}
    assert all(each == int(each) > 0 for each in one.parts.values())  # no round differs from another
    assert one.parts["client"] > one.parts["client_new"] > 0 and one.rounds == (32, 64)
    assert re.fullmatch(r"valgrind 3\.\d+\.\d+, callgrind", one.tool)


@pytest.mark.thorough
@valgrind
def test_it_is_what_callgrind_counts_by_itself_inside_of_the_function(tmp_path):
    """The annotation's sums of calls against a collection that the function switches on and off."""
    summed = []
    for rounds in instructions.ROUNDS["handshake"]:
        switch = ["--collect-atstart=no", "--toggle-collect=server_handshake", f"--callgrind-out-file={tmp_path}/out"]
        words = [*instructions.CALLGRIND, *switch, *counting_argv(HANDSHAKE, rounds, randomised=True)]
        subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        summed.append(int(re.search(r"^totals: (\d+)", (tmp_path / "out").read_text(), re.MULTILINE)[1]))
    few, many = instructions.ROUNDS["handshake"]
    more = counted(HANDSHAKE).parts["server"] - (summed[1] - summed[0]) / (many - few)
    assert 0 <= more <= 4  # of each call one instruction is outside of the switch


@pytest.mark.thorough
@valgrind
def test_a_transfer_moves_every_byte_and_null_does_hardly_more():
    found = counted(THROUGHPUT)
    assert set(found.parts) == {"send", "receive", "wire_write", "wire_read"}
    assert 0 < found.parts["send"] - found.parts["wire_write"] < 1000
    assert 0 < found.parts["receive"] - found.parts["wire_read"] < 1000


@pytest.mark.thorough
@valgrind
def test_what_cannot_be_counted_is_a_sentence():
    tls = [word.replace("protocol=none", "protocol=TLSv1.3") for word in HANDSHAKE]
    assert counted(tls).startswith("under callgrind: ")
    assert "time limit" in asyncio.run(count_instructions([*HANDSHAKE, "cpus=0"], {}, 0.05))


def test_without_valgrind_it_is_said_how_to_install_it(monkeypatch, tmp_path, snapshot):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = counted(HANDSHAKE)
    assert said.startswith("valgrind: ") and said.endswith(" valgrind")
    assert said == snapshot


@pytest.mark.thorough
@valgrind
def test_a_harness_without_names_is_a_sentence(tmp_path):
    if not shutil.which("strip"):
        pytest.skip("no strip")
    subprocess.run(["strip", "-o", tmp_path / "null", NULL], check=True)
    said = counted([str(tmp_path / "null"), *HANDSHAKE[1:]])
    assert said.startswith("under callgrind: ") and " client_session_new " in said


def test_a_function_that_was_not_called_is_a_sentence(snapshot):
    few, many = (instructions.CallgrindRun({}, rounds, ["client_new"]) for rounds in (32, 64))
    with pytest.raises(CaptureFailed, match=" client_session_new ") as failed:
        instructions.instructions_per_round("client_new", few, many)
    assert str(failed.value) == snapshot


def test_rounds_and_warm_up_are_its_own_whatever_the_run_has():
    words = counting_argv([*HANDSHAKE, "warmup=7", "seconds=5", "aslr=on"], 32, randomised=False)
    assert words[:2] == HANDSHAKE[:2] and "cpus=0" in words
    assert words[-4:] == ["rounds=32", "warmup=2", "threads=1", "aslr=off"] and len(words) == len(set(words))
    named = ("rounds=", "seconds=", "warmup=", "threads=", "aslr=")  # neither is what is counted cut short
    assert len([word for word in words if word.startswith(named)]) == 4


def test_costs_are_of_the_cores_functions_with_what_was_put_into_them_from_other_files():
    assert parse_frames(ANNOTATED) == {"client_handshake": 3_007, "client_handshake_more": 500, "wire_read": 1_234}
