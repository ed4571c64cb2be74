"""DHAT's files without lifetimes of blocks, and those of Rust crates: by hand, in the form that each writes, and of a
program here in each mode of valgrind's DHAT, against the totals that it prints."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support import allocating_programs as programs
from tests.support import profile_printers as printers
from tests.support.commands import command_line
from tests.support.forked_command import run
from tlsmem.explore import profile_selection, profile_tables
from tlsmem.profile import dhat_reader, unresolved_stacks
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import END, PEAK, describe_unit, sum_live
from tlsmem.profile.open_profile import open_profile

BASE = {"dhatFileVersion": 2, "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs", "Mtu": "Minstr"}
BASE |= {"cmd": "./app", "pid": 1, "te": 9, "tg": 0, "tuth": 500}
# As a crate writes it that knows no lifetimes: an end of 0 bytes stands there, which nobody counted.
TOTALS = BASE | {"mode": "rust-heap", "bklt": False, "bu": "byte", "bsu": "bytes", "bksu": "blocks"}
TOTALS |= {"pps": [{"tb": 64, "tbk": 2, "eb": 0, "ebk": 0, "fs": [1, 2]}, {"tb": 36, "tbk": 1, "fs": [2]}]}
TOTALS |= {"ftbl": ["[root]", "0x1000: app::inner", "0x2000: app::main"]}


def written(folder: Path, content: dict) -> Path:
    file = folder / "dhat-heap.json"
    file.write_text(json.dumps(content))
    return file


def summary(profile) -> dict[str, str]:
    return {what.text: value.text for what, value in profile_tables.summary(profile).rows}


def test_a_file_without_lifetimes_has_no_peak_and_shows_what_was_allocated(tmp_path):
    file = written(tmp_path, TOTALS)
    found = open_profile(file)
    assert found.moments == {}
    told = summary(found)
    assert (told["allocations"], told["mode"]) == ("3, of 100 B in all", "rust-heap")
    assert told["peak"].startswith("records no block lifetimes, so it has no peak and no end, only what was allocated;")
    sites = profile_tables.overview(found)[1]
    assert [row[1].value for row in sites.rows] == [64, 36]
    sentence = f"^{re.escape(str(file))}: records no block lifetimes, so it has no peak and no end"
    with pytest.raises(ValueError, match=sentence):
        profile_selection.select_moment(found, PEAK)
    with pytest.raises(Unreadable, match=sentence):
        dhat_reader.read_end(file)


@pytest.mark.parametrize(
    "options", [["--phase", "peak"], ["--by", "bytes"], ["--folded", "x"], ["--callers"], ["--tls"]]
)
def test_a_view_of_what_was_live_is_refused_with_a_way_out(tmp_path, options):
    done = run([*command_line("heap read"), written(tmp_path, TOTALS), *options], cwd=tmp_path)
    assert done.returncode == 2
    assert "records no block lifetimes" in done.stderr and "--by allocated" in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_diff_of_what_was_live_is_refused_with_a_way_out(tmp_path):
    file = written(tmp_path, TOTALS)
    done = run([*command_line("heap read --diff"), file, file], cwd=tmp_path)
    assert done.returncode == 2
    assert f"{file}: records no block lifetimes" in done.stderr


@pytest.mark.parametrize("options", [[], ["--by", "allocations"], ["--by", "allocated"]])
def test_a_view_of_the_run_is_shown(tmp_path, options):
    done = run([*command_line("heap read"), written(tmp_path, TOTALS), *options], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "app::inner" in done.stdout


def test_events_of_a_program_s_own_are_no_bytes(tmp_path):
    events = TOTALS | {"mode": "rust-ad-hoc", "verb": "Occurred", "bu": "unit", "bsu": "units", "bksu": "events"}
    found = open_profile(written(tmp_path, events))
    assert summary(found)["events"] == "3, of 100 units in all"
    assert "no bytes of the heap" in describe_unit(found)
    about = profile_tables.overview(found)[1]
    assert (about.title, about.caption.partition(". ")[0]) == (
        "What was counted most, by call site",
        "Over the whole run: 3 events, 100 units",
    )


def crate(depth: int, names: int = 4) -> dict:
    """As the crate dhat writes it: columns, and no file where it knows none; stacks that end below main."""
    frames = ["[root]", *(f"0x{at:x}0: app::f{at} (src/main.rs:{at}:5)" for at in range(1, depth))]
    frames += [f"0xff{at}: ??? (???:0:0)" for at in range(names)]
    numbers = {"tb": 100, "tbk": 1, "gb": 100, "gbk": 1, "eb": 0, "ebk": 0, "mb": 100, "mbk": 1, "tl": 5}
    points = [numbers | {"fs": [depth + at, *range(1, depth)]} for at in range(names)]
    return BASE | {"mode": "rust-heap", "pps": points, "ftbl": frames}


def test_the_crate_dhat_is_read_and_its_own_options_are_advised(tmp_path):
    found = open_profile(written(tmp_path, crate(10)))
    assert {name: sum_live(moment.live).bytes for name, moment in found.moments.items()} == {PEAK: 400, END: 0}
    stacks = [found.stacks.frames(stack) for stack in found.live(PEAK)]
    assert {frames[0].file for frames in stacks} == {None}
    assert str(stacks[0][0]) == "? (?+0xff0)"
    unnamed, ended = found.warnings
    assert unnamed.endswith(unresolved_stacks.RUST_ADVICE) and "Cargo.toml" in unnamed and "Debian" not in unnamed
    assert ended.endswith("before main: call trim_backtraces(None) on dhat::Profiler::builder()")
    assert summary(found)["mode"] == "rust-heap"


def test_the_crate_s_own_allocator_is_no_call_site(tmp_path):
    content = crate(10)
    content["ftbl"][1] = "0x10: <dhat::Alloc as core::alloc::global::GlobalAlloc>::alloc (dhat/src/lib.rs:1247:9)"
    for point in content["pps"]:
        point["fs"] = [1, 2, 3]
    (site,) = open_profile(written(tmp_path, content)).call_sites(PEAK)
    assert str(site.callers[0]) == "app::f2 (main.rs:2)"


def test_a_rust_main_is_where_the_program_begins(tmp_path):
    content = crate(10)
    content["ftbl"][9] = "0x90: app::main (src/main.rs:9:5)"
    assert not [one for one in open_profile(written(tmp_path, content)).warnings if "before main" in one]


MODES = {"heap": "requested", "copy": "copied", "ad-hoc": "counted"}


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return programs.compile_program(tmp_path_factory.mktemp("modes"), programs.DHAT_MODES)


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize(
    "mode", ["heap", *(pytest.param(mode, marks=pytest.mark.thorough) for mode in ("copy", "ad-hoc"))]
)
def test_totals_are_those_that_dhat_prints(tmp_path, program, mode):
    file, said = programs.take_valgrind(shutil.copy(program, tmp_path / "live"), "dhat", f"--mode={mode}")
    found = open_profile(file)
    assert found.unit == MODES[mode]
    allocated = found.allocated.values()
    totals = sum(one.bytes for one in allocated), sum(one.blocks for one in allocated)
    assert printers.dhat_totals(said)["Total"] == totals
    assert totals[1] >= 2
    assert bool(found.moments) == (mode == "heap")
