"""Heap profiles as text: totals are those of google-pprof, `go tool pprof` and jeprof, and names are no guesses."""

import math
import shutil

import pytest

from tests.profile.test_pprof_reader import TYPES, own_totals
from tests.support import allocating_programs as programs
from tests.support import profile_printers as printers
from tests.support.kinds_of_files import GPERFTOOLS, JEMALLOC
from tests.support.mutations import COUNT, check_mutations
from tlsmem.profile import heap_text_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import DUMP, AllocationTotals, LiveHeap, sum_live
from tlsmem.profile.open_profile import open_profile

WHOLE = {"gperftools": GPERFTOOLS, "jemalloc": JEMALLOC}


def read(tmp_path, text: str):
    file = tmp_path / "heap"
    file.write_text(text)
    return open_profile(file)


def stacks_of(profile) -> dict[str, LiveHeap]:
    return {" < ".join(map(str, profile.stacks.frames(one))): held for one, held in profile.live(DUMP).items()}


def test_a_file_of_gperftools(tmp_path):
    found = read(tmp_path, GPERFTOOLS)
    assert stacks_of(found) == {
        "? (my app+0x1010) < ? (my app+0x1020)": LiveHeap(100, 2),
        "? (my app+0x1010) < ? (? at 0x40b020 of that run)": LiveHeap(30, 1),
    }
    assert {*found.allocated.values()} == {AllocationTotals(4, 300, None), AllocationTotals(1, 30, None)}
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("gperftools", "requested", None)
    assert found.command == "/none/my app"


def test_a_file_of_jemalloc_has_each_block_once_and_none_of_its_own_functions(tmp_path):
    found = read(tmp_path, JEMALLOC)
    assert stacks_of(found) == {
        "? (my app+0x1010) < ? (my app+0x1020)": LiveHeap(96, 2),
        "? (my app+0x1010)": LiveHeap(48, 1),
    }
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("jemalloc", "size class", None)
    assert found.allocated is None and found.torn is None


def test_what_was_sampled_is_scaled(tmp_path):
    found = read(tmp_path, JEMALLOC.replace("heap_v2/1\n", "heap_v2/64\n"))
    chance = 1 - math.exp(-48 / 64)
    assert stacks_of(found)["? (my app+0x1010)"] == LiveHeap(int(48 / chance), int(1 / chance))
    assert found.sampled_every_bytes == 64
    rare = read(tmp_path, JEMALLOC.replace("heap_v2/1\n", f"heap_v2/{10**18}\n"))
    assert sum_live(rare.live(DUMP)).blocks == pytest.approx(3 * 10**18 / 48)
    with_period = GPERFTOOLS.replace("heapprofile", "heap_v2/64")
    assert read(tmp_path, with_period).sampled_every_bytes == 64
    go = read(tmp_path, with_period.replace("heap_v2/64", "heap/128"))
    assert (go.tool, go.unit, go.sampled_every_bytes) == ("pprof", "size class", 64)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    return programs.compile_program(tmp_path_factory.mktemp("live"), programs.LIVE)


@pytest.mark.thorough
def test_gperftools_totals_are_google_pprof_s_and_its_sites_have_names(live):
    file = programs.take_gperftools(live)
    found = open_profile(file)
    assert {site.callers[0].function: (site.bytes, site.blocks) for site in found.call_sites(DUMP)} == programs.SITES
    assert "live.c" in found.call_sites(DUMP)[0].callers[0].file
    tool = programs.require_tool("google-pprof", "google-perftools")
    assert printers.perl_total(tool, "--show_bytes", live, file) == f"{found.moments[DUMP].bytes} B"
    allocated = sum(one.bytes for one in found.allocated.values())
    assert printers.perl_total(tool, "--show_bytes", "--alloc_space", live, file) == f"{allocated} B"


@pytest.mark.thorough
@pytest.mark.parametrize("sample", [0, 12])
def test_jemalloc_totals_are_jeprof_s_and_no_name_is_the_nearest_one(live, tmp_path, sample):
    tool = programs.require_tool("jeprof", "libjemalloc-dev")
    file = programs.take_jemalloc(shutil.copy(live, tmp_path / "live"), sample)
    found = open_profile(file)
    assert found.sampled_every_bytes == (1 << sample if sample else None)
    total = sum_live(found.live(DUMP)).bytes
    told = int(printers.perl_total(tool, "--show_bytes", live, file).removesuffix(" B"))
    assert 0 <= told - total <= (len(found.live(DUMP)) if sample else 0)  # jeprof adds fractions of bytes
    assert printers.perl_total(tool, live, file) == f"{total / (1 << 20):.1f} MB"
    exact = {name: blocks for name, (_, blocks) in programs.SITES.items()}
    sites = {site.callers[0].function: site for site in found.call_sites(DUMP) if site.callers}
    assert exact.keys() <= sites.keys() <= {*exact, None}  # libstdc++'s pool is allocated by a function without a name
    assert sample or all(sites[name].blocks == blocks for name, blocks in exact.items())


@pytest.mark.thorough
def test_samples_of_tcmalloc_are_scaled_as_google_pprof_and_go_scale_them(tmp_path):
    file = programs.take_tcmalloc(tmp_path)
    found = open_profile(file)
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("tcmalloc", "requested", 65536)
    assert {site.callers[0].function for site in found.call_sites(DUMP)} == {"small()", "large(int)"}
    tool = programs.require_tool("google-pprof", "google-perftools")
    assert printers.perl_total(tool, tmp_path / "live", file) == f"{found.moments[DUMP].bytes / (1 << 20):.1f} MB"
    if shutil.which("go"):
        assert printers.go_total(file, "space") == found.moments[DUMP].bytes


@pytest.mark.thorough
@pytest.mark.parametrize(("rate", "period"), [("exact", None), ("sampled", 524_288)])
def test_go_s_text_has_names_and_the_totals_of_go_tool_pprof(tmp_path, rate, period):
    file = programs.take_go(programs.build_go(tmp_path), tmp_path / "heap", rate, text=True)
    found = open_profile(file)
    assert own_totals(found) == [printers.go_total(file, kind) for kind in TYPES]
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("pprof", "size class", period)
    assert str(found.call_sites(DUMP)[0].callers[0]) == "main.large (main.go:15)"


def test_a_program_that_was_built_again_gives_no_names(tmp_path):
    live = programs.compile_program(tmp_path, programs.LIVE)
    file = programs.take_gperftools(live)
    programs.compile_program(tmp_path, programs.LIVE.replace("int main", "int more(int a) { return a / 7; }\nint main"))
    found = open_profile(file)
    names = {frame.function for stack in found.live(DUMP) for frame in found.stacks.frames(stack)}
    assert not names & programs.SITES.keys()
    assert any(f"no names for functions in {live}: its file is another one" in one for one in found.warnings)


CUT = {
    "gperftools, a line": (
        GPERFTOOLS.replace("     1:       30", "#"),
        "cut off or damaged: it has 100 B of the 130 B",
    ),
    "jemalloc, its map": (JEMALLOC.partition("\nMAPPED")[0] + "\n", "cut off: its memory map is missing"),
    "jemalloc, the end of its map": (JEMALLOC[:-5], "cut off after line 15"),
}


@pytest.mark.parametrize("kind", CUT)
def test_what_is_before_a_cut_is_used(tmp_path, kind):
    text, why = CUT[kind]
    found = read(tmp_path, text)
    assert found.torn.startswith(why) and found.torn in found.warnings
    assert sum_live(found.live(DUMP)).bytes in (100, 144)


BROKEN = {
    "growth": (GPERFTOOLS.replace("heapprofile", "growthz"), "a heap profile of kind growthz, not of live memory"),
    "a first line": ("heap profile: none", "a heap profile that is cut off or damaged in its first line"),
    "jemalloc's first line": ("heap_v2/x\n", "a heap profile of jemalloc, cut off or damaged in its first line"),
    "text": (GPERFTOOLS.replace("\nMAPPED", "and so on\nMAPPED"), "line 4 is no call stack with its bytes and blocks"),
    "text in jemalloc's": (JEMALLOC.replace("@ 0x", "@ x", 1), "line 4 is no call stack, nor the bytes and blocks"),
    "a negative number": (
        GPERFTOOLS.replace("     2:", "    -2:"),
        "line 2 is no call stack with its bytes and blocks",
    ),
    "64 bits": (GPERFTOOLS.replace("100 [", f"{1 << 63} [", 1), "line 2 has a number of more than 63 bits"),
    "65 bits": (GPERFTOOLS.replace("0x00401011", "0x" + "f" * 17, 1), "line 2 is no call stack with its bytes and"),
    "bytes in no blocks": (GPERFTOOLS.replace("     2:", "     0:"), "line 2 has bytes in no blocks"),
    "nothing": (GPERFTOOLS.split("\n")[0] + "\n", "an empty profile: gperftools saw nothing"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_a_sentence(tmp_path, kind):
    text, why = BROKEN[kind]
    with pytest.raises(Unreadable) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path}/heap: {why}")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", WHOLE)
def test_no_mutation_is_worse_than_a_sentence(tmp_path, kind):
    assert check_mutations(tmp_path, WHOLE[kind].encode()) > COUNT / 5


@pytest.mark.thorough
def test_lines_and_files_have_a_limit(tmp_path, monkeypatch):
    with pytest.raises(Unreadable, match=r": line 2 has more than 1,048,576 bytes$"):
        read(tmp_path, GPERFTOOLS.split("\n")[0] + "\n" + "1" * (2 << 20))
    monkeypatch.setattr(heap_text_reader, "LARGEST", 1 << 20)
    with pytest.raises(Unreadable, match=": more than 1 MiB, too large"):
        read(tmp_path, GPERFTOOLS + "\n" * (2 << 20))
