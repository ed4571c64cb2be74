"""Memory that programs take past malloc: the heap meter counts it apart, and `heap run` names it with its size."""

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked_command

ROOT = Path(__file__).resolve().parents[2]
HEAP_RUN = sys.executable, ROOT / "tools/tls-memtest", "heap", "run"
MIB = 1 << 20
OBJECTS = "kept = [(i, str(i)) for i in range(100_000)]"


@pytest.fixture(scope="module")
def allocators(tmp_path_factory):
    program = tmp_path_factory.mktemp("allocators") / "allocators"
    source = ROOT / "memtest/tests/allocators.c"
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-fno-builtin", source, "-o", program, "-lpthread"], check=True)
    return program


def followed(*command, **variables):
    """Exit status, objects of programs, and sentences."""
    words = [*HEAP_RUN, "--once", "--json", "--", *command]
    done = forked_command.run(words, timeout=60, env=os.environ | variables)
    lines = done.stderr.splitlines()
    programs = [json.loads(line) for line in lines if line.startswith('{"record": "program"')]
    return done.returncode, programs, [line for line in lines if line.startswith("memtest: ")]


NAMED = [  # private MiB at the end and at most, and shared ones
    ("arena", 8, 8, 0),
    ("given-back", 0, 8, 0),
    ("holes", 8, 16, 0),
    ("sbrk", 8, 12, 0),
    ("reserved", 8, 12, 0),
    ("again", 8, 8, 0),
    ("enlarged", 8, 8, 0),
    ("threads", 8, 8, 0),
]


@pytest.mark.parametrize(("way", "private", "peak", "shared"), NAMED, ids=[way[0] for way in NAMED])
def test_what_a_program_maps_by_itself_is_counted_apart_and_named(allocators, way, private, peak, shared):
    """To the page. What it has at most is less where only a part of that was used, and somebody saw it."""
    for _ in range(3):  # who looks between a mapping and its first use sees that nothing of it is used
        status, (program,), sentences = followed(allocators, way)
        if status:
            break
    assert program["live_bytes"] == 100_000 or way == "threads"
    assert (program["mapped_private"], program["mapped_shared"]) == (private * MIB, shared * MIB)
    assert peak * MIB <= program["mapped_peak"] <= peak * MIB + (way == "threads") * 4 * 7 * 4096
    assert status == 125 and len(sentences) == 1
    assert re.match(r"memtest: allocators took \d+\.\d MiB from the OS by itself", sentences[0])


@pytest.mark.parametrize(("way", "shared"), [("shared", 8), ("stack", 0), ("malloc", 0)])
def test_what_is_no_memory_of_an_allocator_is_no_sentence(allocators, way, shared):
    status, (program,), sentences = followed(allocators, way)
    assert (program["mapped_private"], program["mapped_shared"]) == (0, shared * MIB)
    assert (status, sentences) == (0, [])


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"])
def test_what_an_allocator_maps_that_is_next_in_line_is_mallocs(allocators, library):
    """What it serves is counted."""
    try:
        ctypes.CDLL(library)
    except OSError:
        pytest.skip(f"{library} is not installed")
    status, (program,), sentences = followed(allocators, "malloc", LD_PRELOAD=library)
    assert (program["mapped_private"], program["mapped_peak"]) == (0, 0)
    assert (status, sentences) == (0, []) and program["peak_bytes"] > 64 * MIB


def test_a_child_that_maps_is_named(allocators):
    status, programs, sentences = followed(allocators, "child")
    assert [one["mapped_private"] for one in programs] == [0, 8 * MIB]
    assert status == 125 and len(sentences) == 1
    # Its size is less than 8 MiB where it was seen before all of it was used.
    assert re.match(r"memtest: allocators took \d+\.\d MiB from the OS by itself", sentences[0])


def test_what_goes_past_the_c_library_is_seen_by_what_is_resident(allocators):
    """Less what malloc may have of it at most."""
    status, (program,), sentences = followed(allocators, "raw")
    assert (program["mapped_private"], status, len(sentences)) == (0, 125, 1)
    size = float(re.match(r"memtest: allocators took ([\d.]+) MiB from the OS by itself", sentences[0])[1])
    assert 40 < size < 64


@pytest.mark.thorough
def test_arenas_of_python_are_named_and_the_advice_works():
    status, (arenas,), sentences = followed(sys.executable, "-S", "-c", OBJECTS, PYTHONMALLOC="")
    assert status == 125 and len(sentences) == 1
    assert sentences[0].endswith("with PYTHONMALLOC=malloc in its environment it takes all from malloc")
    status, (counted,), sentences = followed(sys.executable, "-S", "-c", OBJECTS, PYTHONMALLOC="malloc")
    assert (status, sentences) == (0, [])
    assert counted["peak_bytes"] - arenas["peak_bytes"] > 0.8 * arenas["mapped_peak"]
    assert counted["mapped_peak"] < MIB
