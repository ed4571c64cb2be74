"""pprof's files: totals are those of `go tool pprof`, units are said, and what is no heap profile is a sentence."""

import gzip
import shutil

import pytest

from tests.support import allocating_programs as programs
from tests.support import profile_printers as printers
from tests.support.mutations import COUNT, check_mutations
from tlsmem.explore import block_sizes
from tlsmem.explore.diff.profile_diff import compare
from tlsmem.explore.diff.sentences import describe_diff
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import DUMP, UNITS, AllocationTotals, LiveHeap, describe_unit, sum_live
from tlsmem.profile.open_profile import open_profile
from tlsmem.profile.pprof_message import Function, Label, Line, Location, Mapping, Message, Sample, ValueType, encode

TYPES = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")


@pytest.fixture(scope="module")
def go_program(tmp_path_factory):
    return programs.build_go(tmp_path_factory.mktemp("go"))


def own_totals(profile) -> list[int]:
    held = sum_live(profile.live(DUMP))
    assert held.bytes == profile.moments[DUMP].bytes
    allocated = profile.allocated.values()
    return [held.bytes, held.blocks, sum(one.bytes for one in allocated), sum(one.blocks for one in allocated)]


@pytest.mark.thorough
@needs_go
@pytest.mark.parametrize(("rate", "period"), [("exact", None), ("sampled", 524_288)])
def test_totals_of_a_go_heap_are_those_of_go_tool_pprof(go_program, tmp_path, rate, period):
    file = programs.take_go(go_program, tmp_path / "heap", rate)
    found = open_profile(file)
    assert own_totals(found) == [printers.go_total(file, kind) for kind in TYPES]
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("pprof", "size class", period)
    assert found.command == str(go_program)
    file.write_bytes(gzip.decompress(file.read_bytes()))
    assert own_totals(open_profile(file)) == own_totals(found)
    if rate == "exact":
        small = next(site for site in found.call_sites(DUMP) if site.callers[0].function == "main.small")
        assert 30_000 <= small.blocks < 30_010  # the runtime's own are among them
        assert small.bytes / small.blocks == pytest.approx(48, rel=1e-3)  # 33 B requested


MESSAGE = Message(
    sample_types=(ValueType("inuse_objects", "count"), ValueType("inuse_space", "kilobytes")),
    samples=(
        Sample((1, 2), (3, 3)),
        Sample((2,), (1, 9)),
        Sample((2,), (1, 1), (Label("thread", "2"),)),
        Sample((1,), (0, 0)),
    ),
    mappings=(Mapping(1, 0x400000, 0x500000, 0x1000, "/none/app"),),
    locations=(Location(1, 1, 0x400010, (Line(1, 7), Line(2, 9))), Location(2, 1, 0x400020)),
    functions=(Function(1, "inner", file="a.c"), Function(2, "", "_ZN1a1bEv", "b.c")),
)


def read(tmp_path, message: Message):
    file = tmp_path / "heap.pb"
    file.write_bytes(encode(message))
    return open_profile(file)


def test_values_are_scaled_by_their_unit_and_summed_by_stack(tmp_path):
    found = read(tmp_path, MESSAGE)
    live = {" < ".join(map(str, found.stacks.frames(one))): held for one, held in found.live(DUMP).items()}
    assert live == {
        "inner (a.c:7) < a::b() (b.c:9) < ? (app+0x1020)": LiveHeap(3072, 3),
        "? (app+0x1020)": LiveHeap(10240, 2),
    }
    assert (found.unit, found.sampled_every_bytes, found.allocated, found.sizes) == ("unspecified", None, None, None)
    assert found.command == "/none/app"


def test_blocks_are_not_known_where_the_file_has_none(tmp_path):
    found = read(
        tmp_path, MESSAGE._replace(sample_types=(ValueType("other", "count"), ValueType("inuse_space", "bytes")))
    )
    assert sum_live(found.live(DUMP)) == LiveHeap(13, None)


def test_a_profile_of_tcmalloc_says_what_its_bytes_are(tmp_path):
    types = (ValueType("objects", "count"), ValueType("space", "bytes"), ValueType("resident_space", "bytes"))
    samples = (Sample((2,), (4, 192, 100), (Label("bytes", number=48), Label("request", number=33))),)
    message = MESSAGE._replace(
        sample_types=types, samples=samples, period_type=ValueType("space", "bytes"), default_sample_type="space"
    )
    found = read(tmp_path, message)
    assert (found.tool, sum_live(found.live(DUMP))) == ("tcmalloc", LiveHeap(192, 4))
    sampled = "All figures are estimates, from samples, and the file does not tell how often one was taken."
    assert describe_unit(found) == f"{UNITS['size class']} {sampled}"
    assert read(tmp_path, message._replace(period=2 << 20)).sampled_every_bytes == 2 << 20
    with pytest.raises(Unreadable, match=r"without live memory .*: objects in count, space in bytes"):
        read(tmp_path, message._replace(default_sample_type="objects"))


def test_a_comment_may_say_what_the_bytes_are(tmp_path):
    assert read(tmp_path, MESSAGE._replace(comments=("x", f"By y: {UNITS['requested']}"))).unit == "requested"


def test_sizes_are_those_of_the_samples(tmp_path):
    types = (ValueType("alloc_objects", "count"), ValueType("alloc_space", "bytes"), ValueType("inuse_space", "bytes"))
    samples = (Sample((1,), (2, 96, 48), (Label("bytes", number=48),)), Sample((2,), (0, 0, 5)))
    found = read(tmp_path, MESSAGE._replace(sample_types=types, samples=samples))
    assert found.sizes == {48: 2}
    assert {*found.allocated.values()} == {AllocationTotals(2, 96, None), AllocationTotals(0, 0, None)}
    (allocated,) = block_sizes.size_tables(found, DUMP)  # what is live is not counted in blocks
    assert UNITS["unspecified"] in allocated.caption and "mean" not in allocated.caption
    without = (Sample((1,), (2, 96, 48)), *samples)
    assert read(tmp_path, MESSAGE._replace(sample_types=types, samples=without)).sizes is None


def test_two_files_of_one_program_are_compared(tmp_path):
    old = read(tmp_path, MESSAGE)
    told = describe_diff(compare(old, read(tmp_path, MESSAGE._replace(samples=MESSAGE.samples[:2]))))
    assert f"Bytes and blocks are those still live when the profile was written. {UNITS['unspecified']}" in told
    assert any("NEW holds 1,024 B" in one for one in told)


@pytest.mark.thorough
def test_no_mutation_is_worse_than_a_sentence(tmp_path):
    assert check_mutations(tmp_path, encode(MESSAGE)) > COUNT / 2


@pytest.mark.thorough
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    file = tmp_path / "bomb"
    file.write_bytes(
        gzip.compress(encode(MESSAGE) + (b"\x32\x7f" + b"a" * 127) * 40) + gzip.compress(bytes(1 << 20)) * 300
    )
    with pytest.raises(Unreadable, match=": more than 256 MiB, too large to be read at once"):
        open_profile(file)
