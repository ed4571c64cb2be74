"""massif's files: whole ones to the byte, torn ones to the tear, all others a sentence."""

import gzip
import re
import shutil
import subprocess

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlsmem.base.paths import ROOT
from tlsmem.profile import massif_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import PEAK, LiveHeap, sum_live

HEAD = "desc: --time-unit=B\ncmd: ./harness\ntime_unit: B\n"
EMPTY = """\
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
"""
DETAILED = """\
#-----------
snapshot=1
#-----------
time=160
mem_heap_B=100
mem_heap_extra_B=24
mem_stacks_B=8
heap_tree=detailed
n3: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 60 0x2B6F80: CRYPTO_malloc (mem.c:213)
  n0: 60 0x2B70E0: operator()(int) (mem.c:233)
 n0: 30 0x4846720: ??? (in /lib/libc.so.6)
 n0: 10 in 2 places, all below massif's threshold (1.00%)
"""


PEAK_OF_ALL = DETAILED.replace("snapshot=1", "snapshot=2").replace("=detailed", "=peak")
LATER = DETAILED.replace("snapshot=1", "snapshot=3").replace(" n0: 30", " n0: 20").replace("=100", "=90")
LATER = LATER.replace("n3: 100", "n3: 90")
WHOLE = HEAD + EMPTY + DETAILED + PEAK_OF_ALL + LATER


def written(tmp_path, content: str | bytes):
    file = tmp_path / "massif"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def stacks_of(profile, name):
    """Bytes by the functions, modules or files of each call stack."""
    live = profile.live(name).items()
    return {" < ".join(map(str, profile.stacks.frames(stack))): held.bytes for stack, held in live}


def cuts(profile) -> list[str]:
    """Its warnings, but those of what the program and its options are."""
    others = ("no names for the functions", "before main", "no call stacks at the peak")
    return [warning for warning in profile.warnings if not any(other in warning for other in others)]


def test_moments_are_the_snapshots_with_call_stacks_and_the_peak_is_last(tmp_path):
    found = massif_reader.read_profile(written(tmp_path, WHOLE))
    assert list(found.moments) == ["snapshot 1", "snapshot 3", PEAK]
    assert [moment.bytes for moment in found.moments.values()] == [100, 90, 100]
    assert (found.tool, found.command, found.runtime_s) == ("massif", "./harness", None)
    (warning,) = found.warnings
    assert "no names for the functions that hold 30% of the bytes at peak, in libc.so.6" in warning
    assert stacks_of(found, "snapshot 1") == {
        "CRYPTO_malloc (mem.c:213) < operator()(int) (mem.c:233)": 60,
        "? (libc.so.6+0x4846720)": 30,
        "": 10,
    }
    assert stacks_of(found, "snapshot 3")["? (libc.so.6+0x4846720)"] == 20
    assert sum_live(found.live(PEAK)) == LiveHeap(100, None)


def test_what_is_below_the_threshold_is_its_caller_s(tmp_path):
    below = "  n0: 25 in 1 place, below massif's threshold (1.00%)\n"
    tree = " n2: 60 0x2B6F80: CRYPTO_malloc (mem.c:213)\n" + below
    content = DETAILED.replace(" n1: 60 0x2B6F80: CRYPTO_malloc (mem.c:213)\n", tree).replace("n0: 60", "n0: 35")
    assert stacks_of(massif_reader.read_profile(written(tmp_path, HEAD + content)), "snapshot 1") == {
        "CRYPTO_malloc (mem.c:213) < operator()(int) (mem.c:233)": 35,
        "CRYPTO_malloc (mem.c:213)": 25,
        "? (libc.so.6+0x4846720)": 30,
        "": 10,
    }


def test_a_run_in_milliseconds_has_a_runtime(tmp_path):
    assert massif_reader.read_profile(written(tmp_path, WHOLE.replace("unit: B", "unit: ms"))).runtime_s == 0.16


def test_functions_that_were_inlined_share_a_place(tmp_path):
    content = HEAD + DETAILED.replace("0x2B70E0", "0x2B6F80")
    found = massif_reader.read_profile(written(tmp_path, content))
    assert [len(place) for place in found.stacks.places] == [0, 2, 1]
    assert "CRYPTO_malloc (mem.c:213) < operator()(int) (mem.c:233)" in stacks_of(found, "snapshot 1")


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_file_may_be_packed(tmp_path, pack):
    told = []
    found = massif_reader.read_profile(written(tmp_path, pack(WHOLE.encode())), told.append)
    assert [moment.bytes for moment in found.moments.values()] == [100, 90, 100]
    assert told[-1] == (tmp_path / "massif").stat().st_size


def test_a_packed_file_may_be_torn_between_snapshots(tmp_path):
    found = massif_reader.read_profile(
        written(tmp_path, gzip.compress(WHOLE.encode()) + gzip.compress(LATER.encode())[:15])
    )
    assert list(found.moments) == ["snapshot 1", "snapshot 3", PEAK]
    assert len(cuts(found)) == 1 and "cut off in line" in cuts(found)[0]


@pytest.mark.thorough
def test_a_packed_file_may_be_torn(tmp_path):
    long = WHOLE + "".join(LATER.replace("snapshot=3", f"snapshot={number}") for number in range(4, 9999))
    found = massif_reader.read_profile(written(tmp_path, gzip.compress(long.encode())[:-100]))
    assert 100 < len(found.moments) < 9999
    assert len(cuts(found)) == 1 and "the snapshots before are used" in cuts(found)[0]
    assert [found.torn] == cuts(found)


@pytest.mark.parametrize(
    ("was", "becomes", "sentence"),
    [
        ("desc:", "description:", "line 1 of a massif file starts with `desc:`"),
        ("time=160", "time=soon", "time is a number"),
        ("heap_tree=detailed", "heap_tree=rich", "heap_tree is one of"),
        ("mem_heap_B=100", "mem_heap_B=101", "mem_heap_B is 101, its tree holds 100"),
        (" n0: 30 ", " n0: 31 ", "mem_heap_B is 100, its tree holds 101"),
        (" n1: 60", " n2: 60", "line 17 is no node of a heap tree"),
        ("  n0: 60", "   n0: 60", "line 14 is indented by more than one more"),
        ("\nn3: 100", "\n n3: 100", "line 12 is indented by more than one more"),
        (" n0: 30 0x4846720: ???", " n: 30 ???", "is no node of a heap tree"),
        ("mem_heap_B=100", f"mem_heap_B={'1' * 5000}", "mem_heap_B is a number of at most 20 digits"),
        (" n0: 30 ", " n0: +30 ", "is no node of a heap tree"),
        ("mem_heap_B=100", "mem_heap_B=1_00", "mem_heap_B is a number of at most 20 digits"),
        (" n0: 30 ", f" n0: {'1' * 5000} ", "is no node of a heap tree"),
        ("n3: 100 ", f"n{'1' * 5000}: 100 ", "is no node of a heap tree"),
        (" n0: 30 ", " n0: \u0661 ", "is no node of a heap tree"),
    ],
)
def test_what_is_not_sound_is_a_sentence(tmp_path, was, becomes, sentence):
    file = tmp_path / "massif"
    file.write_text((HEAD + DETAILED + LATER).replace(was, becomes, 1))
    with pytest.raises(Unreadable, match=f"^{file}: .*{sentence}"):
        massif_reader.read_profile(file)


def test_without_bytes_there_is_no_profile(tmp_path, snapshot):
    with pytest.raises(Unreadable, match="no whole snapshot") as error:
        massif_reader.read_profile(written(tmp_path, HEAD + EMPTY))
    assert str(error.value) == snapshot


def test_two_snapshots_of_one_number_are_a_sentence(tmp_path, snapshot):
    with pytest.raises(Unreadable, match="snapshot 1") as error:
        massif_reader.read_profile(written(tmp_path, HEAD + DETAILED + DETAILED))
    assert str(error.value) == snapshot


def chain(levels: int) -> str:
    """A snapshot whose tree has one node on each level below its root."""
    nodes = [f"{' ' * level}n{int(level < levels)}: 100 0x{level}: f (f.c:1)\n" for level in range(levels + 1)]
    return HEAD + DETAILED.partition("n3:")[0] + "".join(nodes)


def test_a_tree_may_be_deep_and_has_an_end(tmp_path, snapshot):
    found = massif_reader.read_profile(written(tmp_path, chain(massif_reader.DEEPEST)))
    (stack,) = found.live("snapshot 1")
    assert len(found.stacks.frames(stack)) == massif_reader.DEEPEST
    with pytest.raises(Unreadable, match=r"line 513 .* 500") as error:
        massif_reader.read_profile(written(tmp_path, chain(massif_reader.DEEPEST + 1)))
    assert str(error.value) == snapshot


def test_a_line_has_an_end(tmp_path, snapshot):
    with pytest.raises(Unreadable, match=r"line 1 .* 1,048,576") as error:
        massif_reader.read_profile(written(tmp_path, "desc: " + "a" * (2 << 20)))
    assert str(error.value) == snapshot


ENDS = [len(HEAD + EMPTY), len(HEAD + EMPTY + DETAILED), len(HEAD + EMPTY + DETAILED + PEAK_OF_ALL), len(WHOLE)]
MOMENTS = (["snapshot 1"], ["snapshot 1", PEAK], ["snapshot 1", "snapshot 3", PEAK])


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_that_is_cut_off_is_read_up_to_there(tmp_path, at):
    file = written(tmp_path, WHOLE[:at])
    if at < ENDS[1]:
        with pytest.raises(Unreadable, match=f"^{file}: "):
            massif_reader.read_profile(file)
        return
    found = massif_reader.read_profile(file)
    assert list(found.moments) == MOMENTS[sum(end <= at for end in ENDS[1:]) - 1]
    assert bool(cuts(found)) == (at not in ENDS)
    assert all(re.match("cut off (in|after) line .*; the snapshots before are used", one) for one in cuts(found))
    assert all(sum_live(moment.live).bytes == moment.bytes for moment in found.moments.values())


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=4))
def test_no_damage_is_worse_than_a_sentence(tmp_path, at, damage):
    file = written(tmp_path, WHOLE.encode()[:at] + damage + WHOLE.encode()[at + len(damage) :])
    try:
        found = massif_reader.read_profile(file)
        assert all(sum_live(moment.live).bytes == moment.bytes for moment in found.moments.values())
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ")


def massif(file, *options: str, command: list[str]) -> None:
    argv = ["valgrind", "-q", "--tool=massif", f"--massif-out-file={file}", *options, *command]
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, timeout=120)


def own_totals(file) -> list[int]:
    """mem_heap_B of the snapshots with call stacks, as massif wrote them."""
    blocks = file.read_text().split("#-----------\nsnapshot=")[1:]
    return [int(re.search(r"mem_heap_B=(\d+)", block)[1]) for block in blocks if "heap_tree=empty" not in block]


OPTIONS = [
    [],
    ["--threshold=0", "--depth=3"],
    ["--detailed-freq=1", "--threshold=10"],
    ["--pages-as-heap=yes"],
    ["--stacks=yes", "--time-unit=ms"],
]


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("options", OPTIONS)
def test_totals_are_massif_s_own_of_any_program(tmp_path, options):
    file = tmp_path / "massif"
    massif(file, *options, command=["ls", "/"])
    found = massif_reader.read_profile(file)
    assert {moment.bytes for moment in found.moments.values()} == {*own_totals(file)}
    assert all(sum_live(moment.live).bytes == moment.bytes for moment in found.moments.values())
    assert found.command == "ls /" and not cuts(found)


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_null_s_sessions_are_found_by_their_owner(tmp_path):
    """4,072 bytes for each of ten sessions of a role."""
    suite = [f"{name}=none" for name in ("protocol", "cipher", "group", "certs", "auth")]
    harness = [str(ROOT / "build/harness/null@c"), "memory", "sessions=20", *suite, "aslr=on", "marks=1"]
    file = tmp_path / "massif"
    massif(file, "--threshold=0", "--peak-inaccuracy=0", "--depth=50", command=harness)
    found = massif_reader.read_profile(file)
    assert found.moments[PEAK].bytes == max(own_totals(file))
    assert {role: sum_live(found.live(PEAK, role)).bytes for role in ("client", "server")} == {
        "client": 40_720,
        "server": 40_720,
    }
