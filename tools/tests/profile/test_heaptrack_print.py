"""The reader of heaptrack's files against heaptrack's own, on what heaptrack recorded."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from backports import zstd

from tests.support import built_harness
from tests.support import profile_printers as printers
from tlsmem.base.paths import ROOT
from tlsmem.profile import heaptrack_reader
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, Profile, sum_live
from tlsmem.selfcheck.reference_profilers import Subject

STACK = "openssl@3.5.5"
PROGRAMS = {
    "ls": ["ls", "-lR", "/usr/include"],
    "python": [sys.executable, "-c", "import json, decimal\nc = 1\n[str(n) for n in range(9999)]"],
    "harness": Subject(STACK, "tls13-rsa-aes256", 40).profiled_subject("heaptrack").argv(None),
}
ROOTS = ("main", "__libc_start_main", "__static_initialization_and_destruction_0")  # heaptrack leaves out their callers
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "timeout": 120}

pytestmark = pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")


@pytest.fixture(scope="module", params=PROGRAMS)
def recorded(request, tmp_path_factory) -> Path:
    argv = PROGRAMS[request.param]
    if request.param == "harness":
        built_harness.find(STACK)
    folder = tmp_path_factory.mktemp(request.param)
    variables = {**os.environ, "PYTHONMALLOC": "malloc"}
    subprocess.run(["heaptrack", "-o", folder / "recorded", *argv], cwd=ROOT, env=variables, **QUIET)
    (file,) = folder.glob("recorded.*")
    if file.suffix == ".gz":  # where heaptrack finds no zstd
        content, file = gzip.decompress(file.read_bytes()), file.with_suffix(".zst")
        file.write_bytes(zstd.compress(content))
    return file


def said(frame: Frame) -> str:
    file = f" ({frame.file.rpartition('/')[2]})" if frame.file else ""
    return f"{frame.function or hex(frame.address)}{file};"


def ours(profile: Profile, costs: dict[int, int]) -> Counter[str]:
    """As heaptrack_print writes them: place by place from the outermost, and in a place from the innermost frame."""
    found: Counter[str] = Counter()
    for stack, cost in costs.items():
        line = ""
        while stack:
            place, stack = profile.stacks.nodes[stack]
            frames = profile.stacks.places[place]
            line = "".join(map(said, frames)) + line
            if frames[0].function in ROOTS:
                break
        found[line] += cost
    return +found


@pytest.mark.thorough
def test_every_stack_has_what_heaptrack_says(recorded):
    profile = heaptrack_reader.read_profile(recorded)
    assert not [warning for warning in profile.warnings if "no names" not in warning and "before main" not in warning]
    live = {name: {stack: held.bytes for stack, held in profile.moments[name].live.items()} for name in (PEAK, END)}
    blocks = {stack: one.blocks for stack, one in profile.allocated.items()}
    assert ours(profile, live[PEAK]) == printers.heaptrack_stacks(recorded, "peak")
    assert ours(profile, live[END]) == printers.heaptrack_stacks(recorded, "leaked")
    assert ours(profile, blocks) == printers.heaptrack_stacks(recorded, "allocations")
    for moment in profile.moments.values():
        assert moment.bytes == sum_live(moment.live).bytes
    assert profile.moments[PEAK].bytes > 72_704  # of libstdc++, which heaptrack brings
    assert profile.sizes.total() == sum(blocks.values())


@pytest.mark.thorough
def test_temporary_are_those_of_heaptrack_but_for_its_first_site(recorded):
    """heaptrack takes the free of its site 0 for temporary after any other free: it has no other mark for `none`."""
    profile, content = (
        heaptrack_reader.read_profile(recorded),
        zstd.decompress(recorded.read_bytes()),
    )
    events = [line for line in content.split(b"\n") if line[:1] in (b"+", b"-")]
    wrong = sum(line == b"- 0" and before[:1] == b"-" for before, line in pairwise(events))
    told = printers.heaptrack_stacks(recorded, "temporary").total()
    assert sum(one.temporary for one in profile.allocated.values()) == told - wrong > 0


def older(content: bytes) -> bytes:
    """A file of format 3 as heaptrack 1.2 wrote it, in format 2: no length stands before a string."""
    return re.sub(rb"(?m)^s [0-9a-f]+ ", b"s ", content.replace(b" 3\n", b" 2\n", 1))


@pytest.mark.thorough
def test_format_2_has_what_heaptrack_says(recorded, tmp_path):
    file = tmp_path / "recorded.zst"
    file.write_bytes(zstd.compress(older(zstd.decompress(recorded.read_bytes()))))
    profile = heaptrack_reader.read_profile(file)
    assert ours(
        profile, {stack: held.bytes for stack, held in profile.live(PEAK).items()}
    ) == printers.heaptrack_stacks(file, "peak")
    assert ours(profile, {stack: one.blocks for stack, one in profile.allocated.items()}) == printers.heaptrack_stacks(
        file, "allocations"
    )


def test_a_file_packed_by_gzip_is_the_same(recorded, tmp_path):
    content = zstd.decompress(recorded.read_bytes())
    repacked = tmp_path / "recorded.gz"
    repacked.write_bytes(gzip.compress(content))
    one, other = heaptrack_reader.read_profile(recorded), heaptrack_reader.read_profile(repacked)
    assert (one.moments, one.allocated, one.sizes) == (other.moments, other.allocated, other.sizes)
