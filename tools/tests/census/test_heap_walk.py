"""What heapwalk answers of a heap with known pointers, and that it leaves the process as it is."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.census.conftest import compile_c
from tlsmem.base.errors import UserError
from tlsmem.census.core_file import read_core
from tlsmem.census.heap_walk import HeapWalk
from tlsmem.census.live_heap import read_live_heap
from tlsmem.census.target import PAGE, read_target


class Program:
    """A program that holds blocks: `blocks` by address and size, `pointers` by (block, word, block), and those
    that lead 16 bytes into a block."""

    def __init__(self, path, seed):
        self.process = subprocess.Popen([path, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        lines = list(iter(self.process.stdout.readline, "end\n"))
        rows = [tuple(map(int, line.split())) for line in lines]
        self.blocks = [row for row in rows if len(row) == 2]
        self.pointers = {row[:3] for row in rows if len(row) == 4 and row[3] == 0}
        self.pointers_into = {row[:3] for row in rows if len(row) == 4 and row[3] == 16}
        self.heap = read_live_heap(read_target(self.process.pid))
        self.chunks = self.heap.find(np.array([address for address, _ in self.blocks], np.uint64))

    def close(self):
        self.heap.heap_walk.close()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def find_pointers(self, chunks, offsets=(), before=0):
        """The pointers in these chunks, as `pointers` has them, and the words at the offsets."""
        (sources, targets, words), fields = self.heap.wrap(before, 0).read_pointers(chunks, offsets)
        number = dict(zip(self.chunks.tolist(), range(len(self.blocks)), strict=True))
        found = zip(sources.tolist(), words.tolist(), targets.tolist(), strict=True)
        return {(number[source], word, number.get(target)) for source, word, target in found}, list(fields)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return compile_c("holds_pointers.c", tmp_path_factory.mktemp("pointers") / "holds_pointers")


@pytest.fixture(params=range(3))
def program(path, request):
    started = Program(path, request.param)
    yield started
    started.close()


def test_all_pointers_are_found_and_no_others(program):
    assert (program.chunks >= 0).all() and len(program.pointers) > 3_000
    assert program.find_pointers(np.sort(program.chunks))[0] == program.pointers


def test_of_some_chunks_those_in_them_are_found(program):
    asked = np.sort(program.chunks[::7])
    numbers = {number for number, chunk in enumerate(program.chunks.tolist()) if chunk in set(asked.tolist())}
    found, _ = program.find_pointers(asked)
    assert found == {one for one in program.pointers if one[0] in numbers}
    assert program.find_pointers(asked)[0] == found, "a second answer is the same"


def test_words_at_offsets_are_those_of_the_block_and_zero_behind_its_end(program):
    order = np.argsort(program.chunks)
    by_place = {(block, word): program.blocks[target][0] for block, word, target in program.pointers}
    offsets = (0, 8, 4096, 8184)
    _, rows = program.find_pointers(program.chunks[order], offsets)
    for offset, row in zip(offsets, rows, strict=True):
        for number, word in zip(order.tolist(), row.tolist(), strict=True):
            if (number, offset // 8) in by_place:
                assert word == by_place[number, offset // 8]
            if offset >= program.heap.sizes[program.chunks[number]]:
                assert word == 0
    halves, wholes = program.heap.read_fields(program.chunks[::-1], 4, 0)
    assert halves.tolist() == [word >> 32 for word in wholes.tolist()]
    assert wholes[0] == rows[0][order.tolist().index(len(program.blocks) - 1)]


def test_blocks_with_bytes_before_them_are_led_to_by_where_they_begin(program):
    """Of blocks that begin 16 bytes further in, those are the pointers that lead 16 bytes into the others."""
    found, _ = program.find_pointers(np.sort(program.chunks), before=16)
    assert found == {(block, word - 2, to) for block, word, to in program.pointers_into if word >= 2}
    assert len(found) > 300


def test_pages_that_were_never_written_are_not_mapped_by_answering(path):
    program = Program(path, 5)
    before = count_present(program)
    program.find_pointers(np.sort(program.chunks), (8 * PAGE,))
    after = count_present(program)
    program.close()
    assert 0 < before < 10 and before == after


def count_present(program):
    """How many pages of the last block are there."""
    address, size = program.blocks[-1]
    with open(f"/proc/{program.process.pid}/pagemap", "rb", buffering=0) as pagemap:
        entries = os.pread(pagemap.fileno(), size // PAGE * 8, address // PAGE * 8)
    return int((np.frombuffer(entries, np.uint64) >> np.uint64(63)).sum())


def test_pages_that_are_shared_since_a_fork_stay_shared(path, tmp_path):
    """Half of what both have counts for each; all would, once one had a copy of its own."""
    source = tmp_path / "forks.c"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        "int main(void) { for (int i = 0; i < 4000; i++) memset(malloc(2000), 1, 2000); int child = fork();\n"
        '  if (child) { printf("%d\\n", child); fflush(stdout); } pause(); }\n'
    )
    subprocess.run(["gcc", source, "-o", tmp_path / "forks"], check=True)
    with subprocess.Popen([tmp_path / "forks"], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        try:
            before = read_share(child)
            with HeapWalk("forks", [str(child)], "") as walk:
                walk.ask(np.arange(len(walk.chunks)), 0)
            after = read_share(child)
        finally:
            os.kill(child, signal.SIGKILL)
            parent.kill()
    assert before > 2000 and abs(after - before) < before / 8


def read_share(pid):
    """The proportional share of a process in anonymous memory, in KiB."""
    return int(re.search(r"Pss_Anon:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())[1])


@pytest.mark.parametrize("numbers", [[3, 2], [2, 2], [10**6]])
def test_numbers_that_are_out_of_order_or_of_no_chunk_are_not_answered(path, numbers):
    program = Program(path, 6)
    with pytest.raises(UserError, match="heapwalk ended early"):
        program.heap.heap_walk.ask(np.array(numbers), 0)
    program.close()


def test_of_a_process_that_has_ended_nothing_is_answered(path):
    program = Program(path, 7)
    program.process.kill()
    program.process.wait()
    with pytest.raises(ProcessLookupError):
        program.heap.heap_walk.ask(np.sort(program.chunks), 0)
    program.close()


def test_no_chunks_are_no_pointers(path):
    program = Program(path, 8)
    (sources, _, _), fields = program.heap.read_pointers(np.zeros(0, np.int64), (0,))
    program.close()
    assert len(sources) == 0 and [len(row) for row in fields] == [0]


def test_heapwalk_that_ends_early_is_no_process_that_has_ended(path):
    program = Program(path, 9)
    program.heap.heap_walk.process.kill()
    with pytest.raises(UserError, match="heapwalk ended early; is there enough memory"):
        program.heap.heap_walk.ask(np.sort(program.chunks), 0)
    program.close()


def test_a_core_has_the_same_pointers(path, tmp_path):
    if not shutil.which("gcore"):
        pytest.skip("needs gcore, of gdb")
    program = Program(path, 10)
    subprocess.run(["gcore", "-o", tmp_path / "core", str(program.process.pid)], check=True, capture_output=True)
    running = program.find_pointers(np.sort(program.chunks))[0]
    with read_live_heap(read_core(tmp_path / f"core.{program.process.pid}", "")) as heap:
        assert heap.addresses.tolist() == program.heap.addresses.tolist()
        program.heap.heap_walk.close()
        program.heap = heap
        assert program.find_pointers(np.sort(program.chunks))[0] == running == program.pointers
        program.close()


def test_closing_does_not_wait_for_an_answer(path):
    program = Program(path, 11)
    walk = program.heap.heap_walk
    os.kill(walk.process.pid, signal.SIGSTOP)
    program.close()
    assert walk.process.returncode == -signal.SIGKILL
